import type { ClientRequest } from 'node:http';
import { Agent, type AgentOptions, type RequestOptions } from 'node:https';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers';
import type { SecureContext, TLSSocket } from 'node:tls';
import { mustNotOverride, mustNotTurnOff } from '../arguments.ts';
import { RuntimeError } from '../error.ts';
import { Sessions } from './client-sessions.ts';
import {
  type ClientSource,
  type ContextOptions,
  contextOptionsIn,
  subscribe,
  type TlsMaterial,
} from './client-source.ts';
import { finished } from './connect-tls.ts';
import { Drain } from './drain.ts';
import { withFreshTrust } from './fresh-trust.ts';

/**
 * Options of the agent of `node:https`. Certificates, keys and verification come from the files; `NODE_TLS_REJECT_UNAUTHORIZED`
 * changes nothing. TLS sessions are the agent's own and end with the material they were made with; a request's `session` is
 * not used.
 *
 * @example
 * ```ts
 * import { get } from 'node:https';
 * import type { HotAgentOptions } from '@handover/runtime';
 *
 * const options: HotAgentOptions = { maxSockets: 10 };
 * const agent = trust.httpsAgent(options);
 * get('https://billing.mesh.svc/', { agent }, (response) => console.log(response.statusCode)); // 200
 * ```
 */
export type HotAgentOptions = Omit<
  AgentOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'rejectUnauthorized' | 'secureContext' | 'session'
>;

type Created = (error: Error | null, socket: Socket) => void;

/** `loads` of the material a request began with; part of the pool's name, so that old and new trust never share a socket. */
const LOADS = Symbol('loads');

/** Members of an agent that `node:https` calls but does not declare; the same from Node 20 to 24. */
interface AgentInternals {
  addRequest(this: AgentInternals, request: ClientRequest, options: RequestOptions): void;
  keepSocketAlive(this: AgentInternals, socket: Socket): boolean;
  totalSocketCount: number;
  readonly sockets: Record<string, Socket[] | undefined>;
  readonly freeSockets: Record<string, Socket[] | undefined>;
  readonly requests: Record<string, ClientRequest[] | undefined>;
}

interface OwnOptions extends RequestOptions {
  secureContext?: SecureContext;
  [LOADS]?: number;
  _agentKey?: string | undefined;
  session?: Buffer | undefined;
}

const plain = Agent.prototype as unknown as AgentInternals;

/** One `https.Agent` whose new connections use the newest material. Requests under way finish where they began. */
export class HotAgent extends Agent {
  readonly #inner = this as unknown as AgentInternals;
  readonly #source: ClientSource;
  readonly #contextOptions: ContextOptions | undefined;
  readonly #loadsOf = new WeakMap<Socket, number>();
  readonly #waiting = new WeakMap<ClientRequest, RequestOptions>();
  readonly #sessions = new WeakMap<TlsMaterial, Sessions>();
  readonly #drain: Drain;
  readonly #unsubscribe: () => void;

  constructor(source: ClientSource, options: HotAgentOptions = {}) {
    mustNotOverride(options, 'httpsAgent', source.verify);
    if ('proxyEnv' in options) {
      throw new RuntimeError(
        'OPTION_INVALID',
        'httpsAgent connects directly and takes no proxyEnv; leave it out',
      );
    }
    super({ keepAlive: true, ...options, ...(source.verify ? {} : { rejectUnauthorized: false }) });
    this.#source = source;
    this.#contextOptions = contextOptionsIn(options);
    this.#drain = new Drain(source);
    this.#unsubscribe = subscribe<HotAgent>(source, this, {
      swap: (agent) => agent.#swap(),
      end: (agent) => agent.#dropIdle(),
    });
  }

  override getName(options: OwnOptions = {}): string {
    const loads = options[LOADS] ?? this.#source.current().loads;
    return `${super.getName(options)}:handover-${loads}`;
  }

  addRequest(request: ClientRequest, options: RequestOptions): void {
    if (this.#isLimited()) this.#waiting.set(request, options);
    const stamped: OwnOptions = { ...options, [LOADS]: this.#source.current().loads };
    plain.addRequest.call(this.#inner, request, stamped);
  }

  /** A socket that was busy at the swap ends here and does not return to a pool. */
  override keepSocketAlive(socket: Socket): boolean {
    return (
      this.#loadsOf.get(socket) === this.#source.current().loads &&
      plain.keepSocketAlive.call(this.#inner, socket)
    );
  }

  override createConnection(options: OwnOptions, created: Created = () => undefined): undefined {
    const release = this.#isLimited() ? this.#reserve(this.getName(options)) : undefined;
    const deliver = (socket: Socket) => {
      release?.();
      this.#loadsOf.set(socket, options[LOADS] ?? 0);
      created(null, socket);
    };
    withFreshTrust(
      this.#source,
      (material) => this.#handshake(options, material),
      (socket) => socket.destroy(),
    ).then(
      (socket) => {
        // An upgraded socket (WebSocket) belongs to its new owner.
        socket.once('agentRemove', () => this.#drain.forget(socket));
        deliver(socket);
      },
      (error: Error) => {
        // Only after a socket that fails does Node serve the requests that wait for a place; after an error it does not.
        const failed = new Socket();
        Object.assign(failed, { connecting: true }); // holds back the request's bytes
        deliver(failed);
        setImmediate(() => failed.destroy(error));
      },
    );
    return undefined;
  }

  override destroy(): void {
    this.#unsubscribe();
    super.destroy();
  }

  async #handshake(options: OwnOptions, material: TlsMaterial): Promise<TLSSocket> {
    mustNotTurnOff(options, 'a request', this.#source.verify);
    const target = this.getName({ ...options, [LOADS]: material.loads });
    const sessions = this.#sessions.get(material) ?? new Sessions(this.options.maxCachedSessions);
    this.#sessions.set(material, sessions);
    const own: OwnOptions = {
      ...options,
      secureContext: material.context(this.#contextOptions),
      rejectUnauthorized: this.#source.verify,
      session: sessions.of(target),
      _agentKey: undefined, // Node's own store of sessions outlives the material
    };
    const socket = super.createConnection(own) as TLSSocket;
    sessions.follow(socket, target);
    const late = () =>
      socket.destroy(Object.assign(new Error('connection timed out'), { code: 'ETIMEDOUT' }));
    await finished(socket.on('timeout', late)).finally(() => socket.off('timeout', late));
    this.#drain.add(socket, material.loads);
    return socket;
  }

  #isLimited(): boolean {
    return this.maxSockets !== Number.POSITIVE_INFINITY || this.maxTotalSockets !== Number.POSITIVE_INFINITY;
  }

  /** Holds a place during a handshake, so that `maxSockets` counts connections that are not finished yet. */
  #reserve(name: string): () => void {
    const place = new Socket();
    const sockets = this.#inner.sockets[name] ?? [];
    this.#inner.sockets[name] = sockets;
    sockets.push(place);
    this.#inner.totalSocketCount++;
    return () => {
      this.#inner.totalSocketCount--;
      const list = this.#inner.sockets[name];
      const index = list?.indexOf(place) ?? -1;
      if (index >= 0) list?.splice(index, 1);
    };
  }

  #dropIdle(): void {
    for (const sockets of Object.values(this.#inner.freeSockets)) {
      for (const socket of [...(sockets ?? [])]) socket.destroy();
    }
  }

  #swap(): void {
    this.#dropIdle();
    this.#drain.swapped();
    // Requests that still wait for a place have sent nothing: they wait again, for a connection with the new trust.
    const suffix = `:handover-${this.#source.current().loads}`;
    for (const [name, requests] of Object.entries(this.#inner.requests)) {
      if (name.endsWith(suffix)) continue;
      delete this.#inner.requests[name];
      for (const request of requests ?? []) {
        const options = this.#waiting.get(request);
        if (options !== undefined && !request.destroyed) this.addRequest(request, options);
      }
    }
  }
}
