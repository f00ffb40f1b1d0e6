import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Hidden, type KubeConfig, type ResourceKind } from '@handover/kube';
import { type Clock, HandoverError } from '@handover/material';
import { systemClock } from '@handover/runtime/clock';
import { answer } from './answer.ts';
import { ApiFailure } from './api-failure.ts';
import { ApiStore } from './api-store.ts';
import type { Context } from './context.ts';
import { Faults, type SeenRequest } from './faults.ts';
import { builtIn } from './known-kinds.ts';
import type { Watching } from './watching.ts';

export interface FakeApiServerOptions {
  /** Default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string };
  /** The bearer token that every request must carry. Default: none. */
  readonly token?: string;
  /** Milliseconds between bookmarks. Default 5,000. */
  readonly bookmarks?: number;
  /** False: the server has no streaming lists. Default true. */
  readonly streamingLists?: boolean;
  /** Dates objects and answers. Default: this machine's. */
  readonly clock?: Clock;
}

const MAX_BODY = 3 * 1024 * 1024;
const REMEMBERED = 10_000;

function bodyOf(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_BODY) {
        reject(new ApiFailure(413, 'RequestEntityTooLarge', 'limit is 3145728'));
        request.destroy();
      } else chunks.push(chunk);
    });
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.once('error', reject);
  });
}

/** A small API server for tests, on a loopback socket: store, conflicts, watches, 410, faults on demand. */
export class FakeApiServer {
  readonly faults = new Faults();
  readonly #clock: Clock;
  #store: ApiStore;
  /** The last requests, oldest first. */
  readonly requests: SeenRequest[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #watches = new Set<Watching>();
  #options: FakeApiServerOptions;
  #server: Server | undefined;
  #port = 0;
  #connectionsSeen = 0;

  constructor(options: FakeApiServerOptions = {}) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#store = new ApiStore(this.#clock);
  }

  static async start(options: FakeApiServerOptions = {}): Promise<FakeApiServer> {
    const server = new FakeApiServer(options);
    await server.start();
    return server;
  }

  get url(): string {
    return `${this.#options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`;
  }

  get store(): ApiStore {
    return this.#store;
  }

  /** For `connect`. With TLS, add the CA. */
  get config(): KubeConfig {
    const { token } = this.#options;
    return {
      server: this.url,
      namespace: 'default',
      tls: {},
      auth: token === undefined ? {} : { token: new Hidden(token) },
    };
  }

  /** Connections that are open now, and all that were ever made. */
  get connections(): { readonly open: number; readonly made: number } {
    return { open: this.#sockets.size, made: this.#connectionsSeen };
  }

  get watches(): number {
    return this.#watches.size;
  }

  /** The requests that are not reads. */
  get writes(): readonly SeenRequest[] {
    return this.requests.filter(({ method }) => method !== 'GET');
  }

  /** Adds a kind without a CustomResourceDefinition. */
  serve(kind: ResourceKind, { status = true }: { readonly status?: boolean } = {}): void {
    this.store.serve({ ...builtIn(kind), hasStatus: status, generations: true, strict: true, custom: true });
  }

  /** Starts, or starts again after `stop`: same port, same objects, perhaps other certificates. */
  async start(change: Partial<FakeApiServerOptions> = {}): Promise<void> {
    if (this.#server !== undefined)
      throw new HandoverError('OPTION_INVALID', 'this API server is already running');
    this.#options = { ...this.#options, ...change };
    const { tls } = this.#options;
    const handle = (request: IncomingMessage, response: ServerResponse) =>
      void this.#handle(request, response);
    const server =
      tls === undefined
        ? createServer(handle)
        : createTlsServer(
            {
              cert: tls.cert,
              key: tls.key,
              ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa, requestCert: true }),
            },
            handle,
          );
    server.keepAliveTimeout = 60_000;
    server.on('connection', (socket: Socket) => {
      this.#connectionsSeen++;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Cuts every connection, like a killed process. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    this.cut();
    await closed;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Open watches send nothing more and stay open. */
  silence(): void {
    for (const watch of this.#watches) watch.silent = true;
  }

  /** Forgets every version until now. With `tell`, open watches end with 410. */
  compact({ tell = false }: { readonly tell?: boolean } = {}): void {
    this.store.history.compact();
    if (!tell) return;
    for (const watch of this.#watches) watch.fail(new ApiFailure(410, 'Expired', 'too old resource version'));
  }

  /** Loses all objects and starts at low versions, like an etcd restored from an early backup. Cuts every connection. */
  restore(): void {
    this.#store = new ApiStore(this.#clock);
    this.cut();
  }

  bookmark(): void {
    for (const watch of this.#watches) watch.bookmark();
  }

  /** Ends every watch, as a server does at the end of its lifetime. */
  endWatches(): void {
    for (const watch of this.#watches) watch.end();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://server');
    const seen: SeenRequest = {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      watch: /^(1|true)$/.test(url.searchParams.get('watch') ?? ''),
    };
    // As Node would do it, by its own clock.
    response.setHeader('date', new Date(this.#clock.now()).toUTCString());
    this.requests.push(seen);
    if (this.requests.length > REMEMBERED) this.requests.shift();
    try {
      const body = await bodyOf(request);
      const fault = this.faults.take(seen);
      if (fault !== undefined && 'status' in fault) {
        const { status, reason = '', message = 'a fault on demand', headers = {} } = fault;
        return this.#send(response, status, new ApiFailure(status, reason, message).toStatus(), headers);
      }
      if (fault?.does === 'hang') return;
      if (fault?.does === 'reset') return void request.socket.destroy();
      this.#authorize(seen);
      const reply = answer(this.#context(seen, body, response));
      if (fault?.does === 'lose') return void request.socket.destroy();
      if (reply !== undefined) this.#send(response, reply.status, reply.body);
    } catch (error) {
      const failure =
        error instanceof ApiFailure ? error : new ApiFailure(500, 'InternalError', (error as Error).message);
      this.#send(response, failure.status, failure.toStatus());
    }
  }

  #context(request: SeenRequest, body: string, response: ServerResponse): Context {
    return {
      request,
      body,
      response,
      store: this.store,
      clock: this.#clock,
      bookmarkMs: this.#options.bookmarks ?? 5_000,
      streamingLists: this.#options.streamingLists ?? true,
      watching: (watch) => {
        this.#watches.add(watch);
        response.once('close', () => this.#watches.delete(watch));
      },
    };
  }

  #authorize({ headers }: SeenRequest): void {
    const { token } = this.#options;
    if (token !== undefined && headers.authorization !== `Bearer ${token}`) {
      throw new ApiFailure(401, 'Unauthorized', 'Unauthorized');
    }
  }

  #send(
    response: ServerResponse,
    status: number,
    body: object | string,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    if (response.headersSent || response.destroyed) return;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, {
      'content-type': typeof body === 'string' ? 'text/plain' : 'application/json',
      'content-length': Buffer.byteLength(text),
      ...headers,
    });
    response.end(text);
  }
}
