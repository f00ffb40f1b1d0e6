import type { IncomingMessage } from 'node:http';

/** How fetch controls an exchange under way. */
export interface Flow {
  abort(reason?: Error): void;
  pause(): void;
  resume(): void;
}

/** What the global fetch hands to a dispatcher: from Node 20 to 24 the first five, the rest from Node 26 on. */
export interface FetchHandler {
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

export const exchangeOf = (handler: FetchHandler): Exchange =>
  handler.onRequestStart === undefined ? overCallbacks(handler) : overController(handler);
