import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline, Readable } from 'node:stream';
import { setImmediate } from 'node:timers';
import type { Clock, Timer } from '@handover/material';
import { refuseOn } from '../only-node.ts';
import type { ClientSource } from './client-source.ts';
import { framed, undiciError } from './fetch-framing.ts';
import { HotAgent } from './https-agent.ts';

/** How fetch controls an exchange under way. */
interface Flow {
  abort(reason?: Error): void;
  pause(): void;
  resume(): void;
}

/** What the global fetch hands to a dispatcher: from Node 20 to 24 the first five, the rest from Node 26 on. */
interface FetchHandler {
  onConnect?(abort: (reason?: Error) => void): void;
  onHeaders?(status: number, rawHeaders: Buffer[], resume: () => void, statusText: string): boolean;
  onData?(chunk: Buffer): boolean | undefined;
  onComplete?(trailers: Buffer[]): void;
  onError?(error: Error): void;
  onRequestStart?(controller: Controller, context: object): void;
  onResponseStart?(controller: Controller, status: number, headers: object, statusText: string): void;
  onResponseData?(controller: Controller, chunk: Buffer): void;
  onResponseEnd?(controller: Controller, trailers: object): void;
  onResponseError?(controller: Controller, error: Error): void;
}

interface Controller extends Flow {
  readonly paused: boolean;
  readonly aborted: boolean;
  readonly reason: Error | null;
  readonly rawHeaders: Buffer[];
}

/** The events of one exchange, in order: `start`, `head`, any number of `data`, `end`; or `error` at any time. */
export interface Exchange {
  start(flow: Flow): void;
  head(response: IncomingMessage): void;
  data(chunk: Buffer): void;
  end(): void;
  error(error: Error): void;
}

const rawHeadersOf = ({ rawHeaders }: IncomingMessage): Buffer[] =>
  rawHeaders.map((text) => Buffer.from(text, 'latin1'));

/** fetch reads the status text as UTF-8, and `node:http` as Latin-1. */
const statusTextOf = ({ statusMessage = '' }: IncomingMessage): string =>
  Buffer.from(statusMessage, 'latin1').toString('utf8');

/** Calls the handler that Node 20 to 24 pass, which undici 6 and 7 define. */
function overCallbacks(handler: FetchHandler): Exchange {
  let flow: Flow | undefined;
  return {
    start: (given) => {
      flow = given;
      handler.onConnect?.((reason) => given.abort(reason));
    },
    head: (response) => {
      const { statusCode = 0 } = response;
      handler.onHeaders?.(statusCode, rawHeadersOf(response), () => flow?.resume(), statusTextOf(response));
    },
    data: (chunk) => {
      if (handler.onData?.(chunk) === false) flow?.pause();
    },
    end: () => handler.onComplete?.([]),
    error: (error) => handler.onError?.(error),
  };
}

/** Calls the handler that Node 26 passes, which undici 8 defines. */
function overController(handler: FetchHandler): Exchange {
  const state = { paused: false, aborted: false, reason: null as Error | null, rawHeaders: [] as Buffer[] };
  let flow: Flow | undefined;
  const controller: Controller = Object.assign(state, {
    abort: (reason?: Error) => {
      state.aborted = true;
      state.reason = reason ?? null;
      flow?.abort(reason);
    },
    pause: () => {
      state.paused = true;
      flow?.pause();
    },
    resume: () => {
      state.paused = false;
      flow?.resume();
    },
  });
  return {
    start: (given) => {
      flow = given;
      handler.onRequestStart?.(controller, {});
    },
    head: (response) => {
      const { statusCode = 0, headers } = response;
      state.rawHeaders = rawHeadersOf(response);
      handler.onResponseStart?.(controller, statusCode, headers, statusTextOf(response));
    },
    data: (chunk) => handler.onResponseData?.(controller, chunk),
    end: () => handler.onResponseEnd?.(controller, {}),
    error: (error) => handler.onResponseError?.(controller, error),
  };
}

const exchangeOf = (handler: FetchHandler): Exchange =>
  handler.onRequestStart === undefined ? overCallbacks(handler) : overController(handler);

/** Time for a handshake, and for an idle connection: a server that names no time often closes after 5 seconds or later. */
const CONNECT_MS = 10_000;
/** A server may close a kept connection while a request is on its way (RFC 9112 §9.5): another connection is tried. */
const RETRIES = 2;
/** How long a server may send nothing: undici's default, before the headers and between two parts of the body. */
const SILENCE_MS = 300_000;
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

function open({ origin, path, method, headers }: FetchRequest, agents: Agents): ClientRequest {
  const { protocol, hostname, port } = new URL(origin);
  const secure = protocol === 'https:';
  const options = {
    protocol,
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(port === '' ? {} : { port }),
    path,
    method,
    headers,
  };
  return secure
    ? httpsRequest({ ...options, agent: agents.https })
    : httpRequest({ ...options, agent: agents.http });
}

const silence = (part: 'Headers' | 'Body'): Error =>
  undiciError(`${part}TimeoutError`, `UND_ERR_${part.toUpperCase()}_TIMEOUT`, `${part} Timeout Error`);

function carry(asked: FetchRequest, agents: Agents, exchange: Exchange, clock: Clock): void {
  let request: ClientRequest | undefined;
  let response: IncomingMessage | undefined;
  let over = false;
  const finish = () => {
    over = true;
    timer.cancel();
  };
  const fail = (error: Error) => {
    if (over) return;
    finish();
    // fetch listens for the end of a body only some microtasks after the headers: it would miss an earlier error.
    if (response === undefined) exchange.error(error);
    else setImmediate(() => exchange.error(error));
    request?.destroy();
  };
  const waited = (): void => {
    const isSending = request?.writableFinished === false && !request.writableNeedDrain;
    // It is the program that is silent.
    if (response?.isPaused() === true || (response === undefined && isSending)) timer.refresh();
    else fail(silence(response === undefined ? 'Headers' : 'Body'));
  };
  const timer: Timer = clock.after(SILENCE_MS, waited).unref();
  const receive = (incoming: IncomingMessage) => {
    response = incoming;
    timer.refresh();
    exchange.head(incoming);
    incoming
      .on('data', (chunk: Buffer) => {
        if (over) return;
        timer.refresh();
        exchange.data(chunk);
      })
      .on('end', () => {
        if (over) return;
        finish();
        exchange.end();
      })
      .on('error', fail);
  };
  const attempt = (left: number) => {
    const sent = open(asked, agents);
    request = sent;
    sent
      .on('response', receive)
      .on('upgrade', (_response, socket) => {
        socket.destroy();
        fail(undiciError('SocketError', 'UND_ERR_SOCKET', 'bad upgrade'));
      })
      .on('drain', () => timer.refresh())
      .on('finish', () => timer.refresh())
      .on('error', (error: NodeJS.ErrnoException) => {
        const isStale = sent.reusedSocket && response === undefined && error.code === 'ECONNRESET';
        if (!over && isStale && left > 0 && asked.body === null && REPEATABLE.includes(asked.method)) {
          attempt(left - 1);
        } else if (response?.complete !== true) fail(error); // else its end is on the way
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
    resume: () => {
      timer.refresh();
      response?.resume();
    },
  });
  if (!over) attempt(RETRIES);
}

/**
 * The dispatcher behind `fetch`: carries requests over `node:https`. Not an agent of undici, because the agent of one major
 * version refuses the fetch of another, and a program may have several.
 */
class FetchDispatcher {
  readonly #agents: Agents;
  readonly #clock: Clock;

  constructor(source: ClientSource) {
    this.#clock = source.clock;
    this.#agents = {
      http: new HttpAgent({ keepAlive: true, timeout: CONNECT_MS }),
      https: new HotAgent(source, { timeout: CONNECT_MS }),
    };
  }

  dispatch(asked: FetchRequest, handler: FetchHandler): boolean {
    const exchange = exchangeOf(handler);
    try {
      carry({ ...asked, ...framed(asked) }, this.#agents, exchange, this.#clock);
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
