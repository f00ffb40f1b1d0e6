import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { connect, type Kube, type RequestReport } from '@handover/kube';
import type { Cluster } from '@handover/test-cluster';

/**
 * What happens to a request on its way. `hold` passes it on once told to, if its sender is still there; `hang` never answers; `mute`
 * passes on headers only.
 */
export type Fate = 'pass' | 'hang' | 'mute' | { readonly status: number } | { readonly hold: Promise<void> };

export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** The sender's token, by which several can be told apart; nobody checks it. */
  readonly by: string;
  /** performance.now() when it came. */
  readonly at: number;
  /** 0 until it is answered. */
  status: number;
}

/** A way to a real API server on which things go wrong when they are asked to. */
export class Relay {
  readonly log: Passed[] = [];
  fate: (request: { method: string; path: string; query: string; watch: boolean; by: string }) => Fate = () =>
    'pass';
  /** Told once the API server has done it; what it answered is passed on unless this says otherwise. */
  done: (passed: Passed) => 'pass' | 'drop' = () => 'pass';
  /** Requests hanging now, and the most at once, by path. */
  readonly hanging = new Map<string, { now: number; most: number }>();
  readonly #cluster: Cluster;
  readonly #agent: Agent;
  readonly #server: Server;

  private constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#agent = new Agent({
      keepAlive: true,
      ca: readFileSync(cluster.caFile),
      cert: readFileSync(cluster.clientCert),
      key: readFileSync(cluster.clientKey),
    });
    this.#server = createServer((incoming, outgoing) => void this.#handle(incoming, outgoing));
  }

  static async start(cluster: Cluster, port = 0): Promise<Relay> {
    const relay = new Relay(cluster);
    await new Promise<void>((resolve) => relay.#server.listen(port, '127.0.0.1', resolve));
    return relay;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A kubeconfig for it. */
  get kubeconfig(): string {
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'relay', cluster: { server: this.url } }],
      users: [{ name: 'nobody', user: {} }],
      contexts: [{ name: 'relay', context: { cluster: 'relay', user: 'nobody', namespace: 'packaging' } }],
      'current-context': 'relay',
    });
  }

  connect(signal: AbortSignal, onRequest?: (report: RequestReport) => void): Kube {
    return connect(
      { server: this.url, namespace: 'packaging', tls: {}, auth: {} },
      { signal, rate: false, timeout: 10_000, ...(onRequest === undefined ? {} : { onRequest }) },
    );
  }

  /** Everything that changes something, but for the Lease. */
  writes(since = 0): readonly Passed[] {
    return this.log.slice(since).filter(isWrite);
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const [path = '', query = ''] = (incoming.url ?? '').split('?', 2);
    const method = incoming.method ?? '';
    const [, by = ''] = /^Bearer (.*)$/.exec(incoming.headers.authorization ?? '') ?? [];
    const passed: Passed = { method, path, query, by, at: performance.now(), status: 0 };
    this.log.push(passed);
    const fate = this.fate({ method, path, query, watch: /(^|&)watch=(1|true)/.test(query), by });
    if (fate === 'hang') return this.#hang(path, outgoing);
    if (typeof fate === 'object' && 'status' in fate) {
      passed.status = fate.status;
      const status = {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        code: fate.status,
        reason: REASONS[fate.status],
      };
      incoming.resume();
      outgoing.writeHead(fate.status, { 'content-type': 'application/json' }).end(JSON.stringify(status));
      return;
    }
    let body: Buffer | undefined;
    if (typeof fate === 'object') {
      // Read to its end: what has left its sender lands, even if that one stands still by now.
      body = await buffer(incoming).catch(() => undefined);
      await fate.hold;
      if (body === undefined || outgoing.destroyed) return;
    }
    const { authorization: _, host: _host, ...headers } = incoming.headers;
    const upstream = httpsRequest(
      new URL(incoming.url ?? '/', this.#cluster.url),
      { method, agent: this.#agent, headers },
      (answer) => {
        passed.status = answer.statusCode ?? 0;
        if (this.done(passed) === 'drop') {
          answer.resume();
          outgoing.destroy();
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        // A watch in which nothing happens yet has begun all the same.
        outgoing.flushHeaders();
        if (fate === 'mute') answer.resume();
        // An API server that goes takes its watches along.
        else pipeline(answer, outgoing, () => {});
      },
    );
    upstream.on('error', () => outgoing.destroy());
    outgoing.on('close', () => upstream.destroy());
    if (body === undefined) incoming.pipe(upstream);
    else upstream.end(body);
  }

  #hang(path: string, outgoing: ServerResponse): void {
    const known = this.hanging.get(path) ?? { now: 0, most: 0 };
    this.hanging.set(path, known);
    known.now++;
    known.most = Math.max(known.most, known.now);
    outgoing.on('close', () => {
      known.now--;
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#agent.destroy();
  }
}

const REASONS: Readonly<Record<number, string>> = { 409: 'Conflict', 503: 'ServiceUnavailable' };

export const isWrite = ({ method, path }: Pick<Passed, 'method' | 'path'>): boolean =>
  method !== 'GET' && !path.includes('/leases');
