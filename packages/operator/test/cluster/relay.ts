import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { connect, type Kube, type RequestReport } from '@handover/kube';
import type { Cluster } from '@handover/test-cluster';

/**
 * What happens to a request on its way. `hold` passes it on once released, if its sender is still there; `hang` never answers;
 * `mute` passes on only headers.
 */
export type Fate = 'pass' | 'hang' | 'mute' | { readonly status: number } | { readonly hold: Promise<void> };

export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** The sender's token: it only tells several senders apart. */
  readonly by: string;
  /** performance.now() when it came. */
  readonly at: number;
  /** 0 until it is answered. */
  status: number;
}

/** A proxy to a real API server that injects faults on request. */
export class Relay {
  readonly log: Passed[] = [];
  fate: (request: { method: string; path: string; query: string; watch: boolean; by: string }) => Fate = () =>
    'pass';
  /** Called once the API server has answered; the answer is passed on unless this returns something else. */
  done: (passed: Passed) => 'pass' | 'drop' = () => 'pass';
  /** Requests hanging now, and the most at once, by path. */
  readonly hanging = new Map<string, { now: number; most: number }>();
  /** Requests that hung until their sender gave them up, and after how long. */
  readonly givenUp: { readonly path: string; readonly ms: number }[] = [];
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
      users: [{ name: 'anonymous', user: {} }],
      contexts: [{ name: 'relay', context: { cluster: 'relay', user: 'anonymous', namespace: 'packaging' } }],
      'current-context': 'relay',
    });
  }

  connect(signal: AbortSignal, onRequest?: (report: RequestReport) => void): Kube {
    return connect(
      { server: this.url, namespace: 'packaging', tls: {}, auth: {} },
      { signal, rate: false, ...(onRequest === undefined ? {} : { onRequest }) },
    );
  }

  /** Every write, except those of the Lease. */
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
      // Reads the request to its end: it reaches the API server even if its sender is stopped by now.
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
        // A watch without any event yet has started all the same.
        outgoing.flushHeaders();
        if (fate === 'mute') answer.resume();
        // The watches of an API server end with it.
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
    const began = performance.now();
    outgoing.on('close', () => {
      known.now--;
      this.givenUp.push({ path, ms: performance.now() - began });
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
