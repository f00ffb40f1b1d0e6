import type { IncomingHttpHeaders } from 'node:http';
import type { Clock, Timer } from '@handover/material';
import type { Dispatcher } from 'undici';
import { aborted, timedOut, tooLarge, unreachable } from './api-error.ts';

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers that may repeat. */
  readonly repeated?: readonly (readonly [string, string])[];
  readonly body?: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ExchangeOptions {
  /** Names the request in messages. */
  readonly about: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Milliseconds until the end of the answer; for a stream, until its headers. */
  readonly timeout: number;
  readonly maxBytes: number;
  /** Called when the request is about to be written to its socket, not when it is queued. Throws to stop it. */
  readonly mayLeave?: (() => void) | undefined;
  /** Reads a 200 as a stream: `started` gets its headers, `chunk` its bytes, and the answer's body stays empty. */
  readonly stream?:
    | {
        started(headers: IncomingHttpHeaders): void;
        chunk(bytes: Buffer): void;
        /** Milliseconds without a byte after which the stream counts as dead. */
        readonly silence: number;
        readonly silent: () => Error;
      }
    | undefined;
}

interface Settle {
  resolve(answer: HttpAnswer): void;
  reject(error: Error): void;
}

/**
 * One request over a pool. undici's own `request` lacks three things: a last check before a byte leaves, a bound on the size of
 * the answer, and a stream that is read without a buffer.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #settle: Settle;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #timer: Timer | undefined;
  #size = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #streaming = false;
  #over = false;

  constructor(options: ExchangeOptions, settle: Settle) {
    this.#options = options;
    this.#settle = settle;
  }

  start(dispatcher: Dispatcher, request: HttpRequest): void {
    const { about, clock, signal, timeout } = this.#options;
    if (signal.aborted) {
      this.#aborted();
      return;
    }
    signal.addEventListener('abort', this.#aborted, { once: true });
    this.#timer = clock.after(timeout, () => this.fail(timedOut(about, timeout)));
    dispatcher.dispatch(
      {
        method: request.method,
        path: request.path,
        headers: headersOf(request),
        body: request.body ?? null,
        // undici's timeouts are coarse; the timer above is exact.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      this,
    );
  }

  readonly #aborted = () => this.fail(aborted(this.#options.about, this.#options.signal.reason));

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) {
      controller.abort(new Error('the request ended while it was queued'));
      return;
    }
    try {
      this.#options.mayLeave?.();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const { clock, stream } = this.#options;
    if (stream !== undefined && status === 200) {
      this.#streaming = true;
      this.#timer?.cancel();
      this.#timer = clock.after(stream.silence, () => this.fail(stream.silent()));
      this.#guarded(() => stream.started(headers));
    }
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    const { stream, maxBytes, about } = this.#options;
    if (this.#streaming && stream !== undefined) {
      this.#timer?.refresh();
      this.#guarded(() => stream.chunk(chunk));
      return;
    }
    this.#size += chunk.length;
    if (this.#size > maxBytes) this.fail(tooLarge(about, maxBytes));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const body = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    this.#end(() =>
      this.#settle.resolve({
        status: this.#status,
        headers: this.#headers,
        body: body ?? Buffer.concat(this.#chunks),
      }),
    );
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#end(() => this.#settle.reject(unreachable(this.#options.about, error)));
  }

  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  fail(error: Error): void {
    this.#end(() => this.#settle.reject(error));
    this.#controller?.abort(error);
  }

  #end(settle: () => void): void {
    if (this.#over) return;
    this.#over = true;
    this.#timer?.cancel();
    this.#options.signal.removeEventListener('abort', this.#aborted);
    settle();
  }
}

function headersOf({ headers, repeated }: HttpRequest): Record<string, string> | string[] {
  if (repeated === undefined || repeated.length === 0) return headers;
  return [...Object.entries(headers), ...repeated].flat();
}

export function exchange(
  dispatcher: Dispatcher,
  request: HttpRequest,
  options: ExchangeOptions,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) =>
    new Exchange(options, { resolve, reject }).start(dispatcher, request),
  );
}
