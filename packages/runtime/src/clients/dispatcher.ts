import { createRequire } from 'node:module';
import { connect as connectPlain } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Agent, Dispatcher } from 'undici';
import { mustBeObject, mustNotOverride } from '../arguments.ts';
import { RuntimeError } from '../error.ts';
import { refuseOn } from '../only-node.ts';
import {
  type ClientSource,
  type ContextOptions,
  contextOptionsIn,
  subscribe,
  type TlsMaterial,
} from './client-source.ts';
import { connectTls } from './connect-tls.ts';
import { Drain } from './drain.ts';
import { withFreshTrust } from './fresh-trust.ts';

/**
 * Options of undici's agent. `connect` takes TLS options, but no function and no certificates.
 *
 * @example
 * ```ts
 * import type { HotDispatcherOptions } from '@handover/runtime';
 *
 * const options: HotDispatcherOptions = { connections: 10, connect: { timeout: 5_000 } };
 * const dispatcher = trust.dispatcher(options);
 * ```
 */
export type HotDispatcherOptions = Omit<Agent.Options, 'connect' | 'factory'> & {
  readonly connect?: ContextOptions & {
    /** Milliseconds. Default 10,000. */
    readonly timeout?: number;
    readonly servername?: string;
  };
};

export interface Undici {
  readonly Agent: typeof Agent;
  readonly Dispatcher: typeof Dispatcher;
}

const NOT_FOUND = ['MODULE_NOT_FOUND', 'ERR_INVALID_ARG_VALUE'];

/** undici is an optional peer dependency: it is loaded at first use. */
export function loadUndici(): Undici {
  try {
    // Some bundlers leave import.meta.url undefined, which createRequire refuses.
    return createRequire(import.meta.url)('undici') as Undici;
  } catch (cause) {
    const path = 'undici';
    if (NOT_FOUND.includes((cause as NodeJS.ErrnoException).code ?? '')) {
      throw new RuntimeError(
        'PEER_MISSING',
        'dispatcher() does not find undici; run `npm install undici@7`, or in a bundle use dispatcher(trust) of @handover/runtime/undici',
        { path, cause },
      );
    }
    throw new RuntimeError(
      'PEER_UNUSABLE',
      `undici does not load on Node ${process.versions.node}; undici 8 needs Node 22.19: run \`npm install undici@7\``,
      { path, cause },
    );
  }
}

type ConnectFunction = Extract<Agent.Options['connect'], (...args: never[]) => void>;

/** Connects with the newest material at each call. */
function hotConnect(
  source: ClientSource,
  options: HotDispatcherOptions['connect'] & { readonly allowH2?: boolean | undefined } = {},
  connected: (socket: TLSSocket, loads: number) => void = () => undefined,
): ConnectFunction {
  const contextOptions = contextOptionsIn(options);
  const ALPNProtocols = options.allowH2 === true ? ['http/1.1', 'h2'] : ['http/1.1'];
  return (target, done) => {
    const host = target.hostname;
    const local = target.localAddress ?? undefined;
    if (target.protocol !== 'https:') {
      const socket = connectPlain({ host, port: Number(target.port || 80), noDelay: true });
      const failed = (error: Error) => done(error, null);
      socket.once('error', failed).once('connect', () => {
        socket.off('error', failed);
        done(null, socket);
      });
      return;
    }
    // A proxy's socket carries one handshake.
    const discard =
      target.httpSocket === undefined ? (socket: TLSSocket) => void socket.destroy() : undefined;
    const connecting = async (material: TlsMaterial): Promise<TLSSocket> => {
      const socket = await connectTls(
        material,
        {
          host,
          port: Number(target.port || 443),
          servername: options.servername ?? (target.servername || undefined),
        },
        {
          clock: source.clock,
          contextOptions,
          rejectUnauthorized: source.verify,
          timeoutMs: options.timeout,
          tls: {
            ALPNProtocols,
            ...(local === undefined ? {} : { localAddress: local }),
            ...(target.httpSocket === undefined ? {} : { socket: target.httpSocket }),
          },
        },
      );
      connected(socket, material.loads);
      return socket;
    };
    withFreshTrust(source, connecting, discard).then(
      (socket) => {
        socket.setNoDelay(true).setKeepAlive(true, 30_000);
        done(null, socket);
      },
      (error: Error) => done(error, null),
    );
  };
}

/** One dispatcher for as long as its owner wants; inside it one undici agent for each set of material. */
export function hotDispatcher(
  undici: Pick<Undici, 'Agent' | 'Dispatcher'>,
  source: ClientSource,
  options: HotDispatcherOptions = {},
): Dispatcher {
  refuseOn(['bun'], 'dispatcher()', 'use node:https with httpsAgent()'); // it has an undici of its own
  mustBeObject(options, 'dispatcher');
  const { connect, ...agentOptions } = options;
  mustNotOverride(connect ?? {}, 'dispatcher', source.verify);
  const drain = new Drain(source);
  const connectNow = hotConnect(source, { ...connect, allowH2: agentOptions.allowH2 }, (socket, loads) =>
    drain.add(socket, loads),
  );
  const make = () => new undici.Agent({ ...agentOptions, connect: connectNow });

  /** Requests under way finish. */
  const retire = (agent: Agent) => void agent.close().catch(() => undefined);

  class HotDispatcher extends undici.Dispatcher {
    #agent = make();
    #ended = false;
    readonly #unsubscribe = subscribe<HotDispatcher>(source, this, {
      swap: (self) => self.#swap(),
      end: (self) => retire(self.#agent),
    });

    override dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      return this.#agent.dispatch(request, handler);
    }

    override close(): Promise<void>;
    override close(done: () => void): void;
    override close(done?: () => void): Promise<void> | undefined {
      return this.#end(this.#agent.close(), done);
    }

    override destroy(error?: Error | null): Promise<void>;
    override destroy(done: () => void): void;
    override destroy(error: Error | null, done: () => void): void;
    override destroy(first?: Error | null | (() => void), second?: () => void): Promise<void> | undefined {
      const [error, done] = typeof first === 'function' ? [null, first] : [first ?? null, second];
      return this.#end(this.#agent.destroy(error), done);
    }

    #end(ending: Promise<void>, done: (() => void) | undefined): Promise<void> | undefined {
      this.#ended = true;
      this.#unsubscribe();
      if (done === undefined) return ending;
      void ending.then(done, done);
      return undefined;
    }

    #swap(): void {
      if (this.#ended) return;
      const old = this.#agent;
      this.#agent = make();
      retire(old);
      drain.swapped();
    }
  }
  return new HotDispatcher();
}
