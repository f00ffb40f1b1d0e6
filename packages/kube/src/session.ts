import type { Clock } from '@handover/material';
import { systemClock } from '@handover/runtime/clock';
import { type ApiStatus, apiError, unreachable } from './api-error.ts';
import { ServerClock } from './clock.ts';
import { Credentials, repeatedHeaders } from './credentials.ts';
import { isCode } from './error.ts';
import { type ExchangeOptions, exchange, type HttpAnswer } from './exchange.ts';
import { parseJson } from './json.ts';
import type { KubeConfig } from './kubeconfig/config.ts';
import { Pools } from './pools.ts';
import { type Rate, RateLimit } from './rate-limit.ts';
import type { OnReload } from './reload-report.ts';
import type { RequestReport, RequestSubject } from './request-report.ts';
import { anyOf, wait } from './wait.ts';

export interface Call {
  readonly subject: RequestSubject;
  readonly method: string;
  readonly path: string;
  readonly accept?: string | undefined;
  readonly contentType?: string | undefined;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number | undefined;
  readonly maxBytes?: number | undefined;
  /** Called before each try and again just before the request leaves. Throws to stop it. */
  readonly mayLeave?: (() => void) | undefined;
  readonly stream?: ExchangeOptions['stream'];
}

export interface ConnectOptions {
  /** Ends everything: requests, watches, followed files and connections. */
  readonly signal?: AbortSignal;
  readonly userAgent?: string;
  /** Default 50 a second, 100 at once. `false`: no limit. */
  readonly rate?: Rate | false;
  /** Milliseconds for one try of one request. Default 30,000. */
  readonly timeout?: number;
  readonly onRequest?: (report: RequestReport) => void;
  /** Called when the CA, the client certificate or the token was read again from its file, and when that failed. */
  readonly onReload?: OnReload;
  /** Default: this machine's. */
  readonly clock?: Clock;
}

const DEFAULT_RATE: Rate = { perSecond: 50, burst: 100 };
const DEFAULT_TIMEOUT_MS = 30_000;
/** etcd takes 1.5 MiB an object. A page of 500 objects may exceed this bound; it is then read again in smaller pages. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Retries when the server says when to retry. */
const RETRIES = 5;
/** When the server asks for a longer wait than this, the caller gets the error. */
const MAX_RETRY_AFTER_MS = 30_000;

interface Opened {
  readonly pools: Pools;
  readonly credentials: Credentials;
}

/** Milliseconds to wait, when the answer asks for a retry (429 and 503; RFC 9110 §10.2.3: seconds or a date). */
export function retryAfterOf(
  { status, headers }: Pick<HttpAnswer, 'status' | 'headers'>,
  now: number,
): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const text = headers['retry-after'];
  if (text === undefined) return status === 429 ? 1000 : undefined;
  const seconds = Number(text);
  const ms = Number.isNaN(seconds) ? Date.parse(text) - now : seconds * 1000;
  return Number.isNaN(ms) ? 1000 : Math.max(0, ms);
}

export function statusIn(body: Buffer): ApiStatus {
  const parsed = parseJson(body);
  return typeof parsed === 'object' && parsed !== null ? parsed : {};
}

/** One server, one user. Opens files and connections at the first request. Fenced and unfenced clients share a session. */
export class Session {
  readonly config: KubeConfig;
  readonly clock: Clock;
  readonly serverClock: ServerClock;
  readonly signal: AbortSignal;
  readonly #options: ConnectOptions;
  readonly #limit: RateLimit | undefined;
  readonly #prefix: string;
  readonly #repeated: readonly (readonly [string, string])[];
  #opening: Promise<Opened> | undefined;
  #opened: Opened | undefined;

  constructor(config: KubeConfig, options: ConnectOptions) {
    this.config = config;
    this.#options = options;
    const clock = options.clock ?? systemClock;
    this.clock = clock;
    this.serverClock = new ServerClock(() => clock.monotonic());
    this.signal = anyOf(options.signal).signal;
    this.#limit = options.rate === false ? undefined : new RateLimit(options.rate ?? DEFAULT_RATE, clock);
    this.#prefix = new URL(config.server).pathname.replace(/\/+$/, '');
    this.#repeated = repeatedHeaders(config.impersonate);
    this.signal.addEventListener('abort', () => this.#opened?.pools.destroy(), { once: true });
  }

  /** Connections open now. */
  get connections(): number {
    return this.#opened?.pools.open ?? 0;
  }

  /** Sends a request, and retries where that is safe. Returns a success; throws anything else. */
  async send(call: Call): Promise<HttpAnswer> {
    const about = `${call.method} ${call.path.split('?', 1)[0]}`;
    const any = call.signal === undefined ? undefined : anyOf(this.signal, call.signal);
    const signal = any?.signal ?? this.signal;
    try {
      return await this.#persist(call, about, signal);
    } finally {
      any?.done();
    }
  }

  async #persist(call: Call, about: string, signal: AbortSignal): Promise<HttpAnswer> {
    let mayReconnect = call.method === 'GET' && call.stream === undefined;
    let mayLogIn = true;
    for (let tries = 0; ; tries++) {
      call.mayLeave?.();
      // The leader must not lose the Lease behind requests of its own.
      if (call.subject.resource !== 'leases') await this.#limit?.take(signal, about);
      let answer: HttpAnswer;
      const began = this.clock.monotonic();
      try {
        answer = await this.#once(call, about, signal);
      } catch (error) {
        // The server may close an idle connection at the moment of its use: a read can be repeated.
        if (!mayReconnect || signal.aborted || !isClosed(error)) throw error;
        mayReconnect = false;
        continue;
      }
      this.serverClock.see(answer.headers.date, this.clock.monotonic() - began);
      if (answer.status < 300) return answer;
      if (answer.status === 401 && mayLogIn && (await this.#opened?.credentials.refresh())) {
        mayLogIn = false;
        continue;
      }
      const pause = retryAfterOf(answer, this.clock.now());
      if (pause === undefined || pause > MAX_RETRY_AFTER_MS || tries >= RETRIES) {
        throw apiError(answer.status, statusIn(answer.body), about);
      }
      // Up to a tenth more, so that clients refused together do not return together.
      await wait(this.clock, pause * (1 + Math.random() / 10), signal, about);
    }
  }

  async #once(call: Call, about: string, signal: AbortSignal): Promise<HttpAnswer> {
    const began = this.clock.monotonic();
    let status = 0;
    const report = () =>
      this.#options.onRequest?.({ ...call.subject, status, ms: this.clock.monotonic() - began });
    let reported = false;
    const { stream } = call;
    try {
      const { pools, credentials } = await this.#open(about);
      const own = await credentials.headers(signal);
      const headers: Record<string, string> = {
        ...own,
        accept: call.accept ?? 'application/json',
        'user-agent': this.#options.userAgent ?? 'handover',
      };
      if (call.contentType !== undefined) headers['content-type'] = call.contentType;
      const answer = await exchange(
        stream === undefined ? pools.requests : pools.watches,
        {
          method: call.method,
          path: this.#prefix + call.path,
          headers,
          repeated: this.#repeated,
          ...(call.body === undefined ? {} : { body: call.body }),
        },
        {
          about,
          signal,
          clock: this.clock,
          timeout: call.timeout ?? this.#options.timeout ?? DEFAULT_TIMEOUT_MS,
          maxBytes: call.maxBytes ?? MAX_BYTES,
          mayLeave: call.mayLeave,
          stream:
            stream === undefined
              ? undefined
              : {
                  ...stream,
                  started: (given) => {
                    status = 200;
                    reported = true;
                    report();
                    this.serverClock.see(given.date, this.clock.monotonic() - began);
                    stream.started(given);
                  },
                },
        },
      );
      status = answer.status;
      return answer;
    } finally {
      if (!reported) report();
    }
  }

  #open(about: string): Promise<Opened> | Opened {
    if (this.#opened !== undefined) return this.#opened;
    this.#opening ??= this.#make().catch((error: unknown) => {
      this.#opening = undefined; // the next request reads the files again
      throw unreachable(about, error);
    });
    return this.#opening;
  }

  async #make(): Promise<Opened> {
    const pools = await Pools.open(this.config, this.clock, this.signal, this.#options.onReload);
    const { auth, impersonate } = this.config;
    const credentials = await Credentials.open(
      auth,
      pools.tls,
      impersonate,
      this.clock,
      this.signal,
      this.#options.onReload,
    );
    this.#opened = { pools, credentials };
    if (this.signal.aborted) pools.destroy();
    return this.#opened;
  }
}

/** Codes of a connection that ended during a request. */
const CLOSED = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

const isClosed = (error: unknown): boolean =>
  isCode(error, 'KUBE_UNAVAILABLE') &&
  CLOSED.has(String((error as { cause?: { code?: unknown } }).cause?.code));
