import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline, Readable } from 'node:stream';
import type { ClientSource } from './client-source.ts';
import { type Exchange, exchangeOf, type FetchHandler } from './fetch-handler.ts';
import { HotAgent } from './https-agent.ts';
import { refuseOn } from './only-node.ts';

/** Time for a handshake, and for an idle connection: a server that names no time often closes after 5 seconds or later. */
const CONNECT_MS = 10_000;
/** A server may close a kept connection while a request is on its way (RFC 9112 §9.5): another connection is tried. */
const RETRIES = 2;
const REPEATABLE = ['GET', 'HEAD', 'OPTIONS'];

/** What the global fetch asks of its dispatcher. */
interface FetchRequest {
  readonly origin: string | URL;
  /** Path and query. Not to be resolved against the origin: `//host` would name another server. */
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array> | null;
}

interface Agents {
  readonly http: HttpAgent;
  readonly https: HotAgent;
}

function open({ origin, path, method, headers, body }: FetchRequest, agents: Agents): ClientRequest {
  const { protocol, hostname, port } = new URL(origin);
  const secure = protocol === 'https:';
  // Node frames the body of a DELETE or GET only when told how.
  const unframed = body !== null && !Object.keys(headers).some((name) => /^content-length$/i.test(name));
  const options = {
    protocol,
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(port === '' ? {} : { port }),
    path,
    method,
    headers: { ...headers, ...(unframed ? { 'transfer-encoding': 'chunked' } : {}) },
  };
  return secure
    ? httpsRequest({ ...options, agent: agents.https })
    : httpRequest({ ...options, agent: agents.http });
}

function carry(asked: FetchRequest, agents: Agents, exchange: Exchange): void {
  let request: ClientRequest | undefined;
  let response: IncomingMessage | undefined;
  let over = false;
  const fail = (error: Error) => {
    if (over) return;
    over = true;
    exchange.error(error);
    request?.destroy();
  };
  const receive = (incoming: IncomingMessage) => {
    response = incoming;
    exchange.head(incoming);
    incoming
      .on('data', (chunk: Buffer) => {
        if (!over) exchange.data(chunk);
      })
      .on('end', () => {
        if (over) return;
        over = true;
        exchange.end();
      })
      .on('error', fail);
  };
  const attempt = (left: number) => {
    const sent = open(asked, agents);
    request = sent;
    sent.on('response', receive).on('error', (error: NodeJS.ErrnoException) => {
      const isStale = sent.reusedSocket && response === undefined && error.code === 'ECONNRESET';
      if (!over && isStale && left > 0 && asked.body === null && REPEATABLE.includes(asked.method)) {
        attempt(left - 1);
      } else fail(error);
    });
    if (asked.body === null) sent.end();
    else {
      pipeline(Readable.from(asked.body), sent, (error) => {
        if (error) fail(error);
      });
    }
  };
  exchange.start({
    abort: (reason) => fail(reason ?? new DOMException('This operation was aborted', 'AbortError')),
    pause: () => response?.pause(),
    resume: () => response?.resume(),
  });
  if (!over) attempt(RETRIES);
}

/**
 * The dispatcher behind `fetch`: carries requests over `node:https`. Not an agent of undici, because the agent of one major
 * version refuses the fetch of another, and a program may have several.
 */
class FetchDispatcher {
  readonly #agents: Agents;

  constructor(source: ClientSource) {
    this.#agents = {
      http: new HttpAgent({ keepAlive: true, timeout: CONNECT_MS }),
      https: new HotAgent(source, { timeout: CONNECT_MS }),
    };
  }

  dispatch(asked: FetchRequest, handler: FetchHandler): boolean {
    const exchange = exchangeOf(handler);
    try {
      carry(asked, this.#agents, exchange);
    } catch (error) {
      exchange.error(error as Error);
    }
    return true;
  }
}

/** Kept from the start: a polyfill would ignore the dispatcher, and trust the public roots instead of the bundle. */
const nodeFetch = globalThis.fetch;

/** The global fetch with the followed material. Bound: it can be handed to a library. */
export function hotFetch(source: ClientSource): typeof globalThis.fetch {
  let dispatcher: FetchDispatcher | undefined;
  return async (input, init) => {
    // Their fetch ignores the dispatcher, too.
    refuseOn(
      ['bun', 'deno'],
      'fetch()',
      'use node:https with httpsAgent(), or on deno fetch of undici with dispatcher()',
    );
    dispatcher ??= new FetchDispatcher(source);
    return nodeFetch(input, { ...init, dispatcher } as unknown as RequestInit);
  };
}
