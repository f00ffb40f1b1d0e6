import type { Socket } from 'node:net';
import type { Clock } from '@handover/material';
import { type Dispatcher, Pool } from 'undici';
import { connectorOf } from './connector.ts';
import type { KubeConfig } from './kubeconfig/config.ts';
import { LiveTls } from './live-tls.ts';
import type { OnReload } from './reload-report.ts';

/** All requests except watches share this many connections. */
const CONNECTIONS = 32;
/** Connections made with older certificates close when idle, and at the latest after this time. */
const DRAIN_MS = 600_000;

interface Generation {
  readonly requests: Dispatcher;
  /** Without a bound: a watch keeps its connection for minutes. */
  readonly watches: Dispatcher;
  readonly sockets: ReadonlySet<Socket>;
}

/** The connections to one server. Each generation of certificates has its own. */
export class Pools {
  readonly tls: LiveTls;
  readonly #make: () => Generation;
  readonly #clock: Clock;
  readonly #older = new Set<Generation>();
  #current: Generation;
  #ended = false;

  private constructor(tls: LiveTls, clock: Clock, make: () => Generation) {
    this.#clock = clock;
    this.tls = tls;
    this.#make = make;
    this.#current = make();
  }

  static async open(
    config: KubeConfig,
    clock: Clock,
    signal: AbortSignal,
    onReload?: OnReload,
  ): Promise<Pools> {
    const server = new URL(config.server);
    let pools: Pools | undefined;
    const swapped = (): void => {
      if (pools !== undefined) pools.#swap();
    };
    const tls = await LiveTls.open(config.tls, signal, swapped, onReload);
    const make = (): Generation => {
      const sockets = new Set<Socket>();
      const connect = connectorOf({
        server,
        tls,
        clock,
        verify: config.tls.verify !== false,
        serverName: config.tls.serverName,
        proxy: config.proxyUrl === undefined ? undefined : new URL(config.proxyUrl.reveal()),
        connected: (socket) => {
          sockets.add(socket);
          socket.once('close', () => sockets.delete(socket));
        },
      });
      const shared = { connect, pipelining: 1, keepAliveTimeout: 30_000, keepAliveMaxTimeout: 90_000 };
      return {
        requests: new Pool(server.origin, { ...shared, connections: CONNECTIONS }),
        watches: new Pool(server.origin, { ...shared, connections: null }),
        sockets,
      };
    };
    pools = new Pools(tls, clock, make);
    return pools;
  }

  get requests(): Dispatcher {
    return this.#current.requests;
  }

  get watches(): Dispatcher {
    return this.#current.watches;
  }

  /** Open connections, of every generation. */
  get open(): number {
    return [this.#current, ...this.#older].reduce((sum, { sockets }) => sum + sockets.size, 0);
  }

  /** Ends all connections and the requests on them. */
  destroy(): void {
    this.#ended = true;
    for (const { requests, watches, sockets } of [this.#current, ...this.#older]) {
      for (const dispatcher of [requests, watches]) dispatcher.destroy().catch(() => undefined);
      for (const socket of sockets) socket.destroy();
    }
  }

  #swap(): void {
    if (this.#ended) return;
    const old = this.#current;
    this.#older.add(old);
    this.#current = this.#make();
    // Not Pool.destroy(): after close() an undici pool has forgotten its clients and destroys none.
    const deadline = this.#clock
      .after(DRAIN_MS, () => {
        for (const socket of old.sockets) socket.destroy();
      })
      .unref();
    Promise.allSettled([old.requests.close(), old.watches.close()]).finally(() => {
      deadline.cancel();
      this.#older.delete(old);
    });
  }
}
