import { spawn } from 'node:child_process';
import { aborted } from '../api-error.ts';
import { KubeError } from '../error.ts';
import { Hidden } from '../hidden.ts';
import { parseJson } from '../json.ts';
import type { ExecConfig } from './config.ts';

export interface ExecCredential {
  readonly token?: Hidden;
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Milliseconds since the epoch, by this machine's clock: the plugin uses the same. */
  readonly expires?: number;
}

const MAX_OUTPUT = 1024 * 1024;
const TIMEOUT_MS = 60_000;
/** A credential is renewed this long before it expires, so that it does not expire during a request. */
const MARGIN_MS = 10_000;
/** After a 401 the plugin runs again at the earliest after this time. */
const PAUSE_MS = 1_000;

const failure = (config: ExecConfig, why: string, retry: 'later' | 'never' = 'later', cause?: unknown) => {
  const hint = config.installHint === undefined ? '' : `; ${config.installHint.replace(/\s+/g, ' ').trim()}`;
  return new KubeError('KUBECONFIG_EXEC_FAILED', `the credential plugin ${config.command} ${why}${hint}`, {
    retry,
    path: config.command,
    ...(cause === undefined ? {} : { cause }),
  });
};

/** Runs the plugin once. Its output is a credential, so no message quotes it. */
function run(config: ExecConfig): Promise<string> {
  return new Promise((resolve, reject) => {
    const input = {
      apiVersion: config.apiVersion,
      kind: 'ExecCredential',
      spec: { interactive: false, ...(config.cluster === undefined ? {} : { cluster: config.cluster }) },
    };
    const child = spawn(config.command, [...config.args], {
      env: { ...config.env(), KUBERNETES_EXEC_INFO: JSON.stringify(input) },
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: config.timeout ?? TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_OUTPUT) child.kill('SIGKILL');
      else chunks.push(chunk);
    });
    child.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'ENOENT' ? 'is not installed' : `cannot be started (${cause.code})`;
      reject(failure(config, why, 'later', cause));
    });
    child.once('close', (code, signal) => {
      if (size > MAX_OUTPUT) reject(failure(config, `wrote more than ${MAX_OUTPUT} bytes`));
      else if (signal !== null) reject(failure(config, 'took too long and was killed'));
      else if (code !== 0) reject(failure(config, `exited with code ${code}; run it by hand to see why`));
      else resolve(Buffer.concat(chunks).toString('utf8'));
    });
  });
}

interface Output {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly status?: {
    readonly token?: unknown;
    readonly clientCertificateData?: unknown;
    readonly clientKeyData?: unknown;
    readonly expirationTimestamp?: unknown;
  };
}

function parse(config: ExecConfig, text: string): ExecCredential {
  const output = parseJson(text) as Output | null | undefined;
  const status = output?.status;
  if (output?.kind !== 'ExecCredential' || typeof status !== 'object' || status === null) {
    throw failure(config, 'did not write an ExecCredential with a status');
  }
  if (output.apiVersion !== config.apiVersion) {
    throw failure(config, `did not answer in apiVersion ${config.apiVersion}`, 'never');
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
  const hasPair = typeof cert === 'string' && typeof key === 'string' && cert !== '' && key !== '';
  if ((typeof token !== 'string' || token === '') && !hasPair) {
    throw failure(config, 'returned neither a token nor a certificate with its key');
  }
  const expires = typeof expirationTimestamp === 'string' ? Date.parse(expirationTimestamp) : Number.NaN;
  return {
    ...(typeof token === 'string' && token !== '' ? { token: new Hidden(token) } : {}),
    ...(hasPair ? { certificate: { cert, key } } : {}),
    ...(Number.isNaN(expires) ? {} : { expires }),
  };
}

/** A credential plugin: one run serves all waiting requests. It runs again when the credential expired or was refused. */
export class ExecPlugin {
  readonly #config: ExecConfig;
  readonly #now: () => number;
  #current: ExecCredential | undefined;
  #running: Promise<ExecCredential> | undefined;
  #ranAt = Number.NEGATIVE_INFINITY;

  constructor(config: ExecConfig, now: () => number) {
    this.#config = config;
    this.#now = now;
  }

  async credential(signal?: AbortSignal): Promise<ExecCredential> {
    const { expires } = this.#current ?? {};
    if (this.#current !== undefined && (expires === undefined || expires - MARGIN_MS > this.#now())) {
      return this.#current;
    }
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    const running = this.#running;
    if (signal === undefined) return running;
    return new Promise((resolve, reject) => {
      const stop = () => reject(aborted(this.#config.command, signal.reason));
      signal.addEventListener('abort', stop, { once: true });
      running.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  }

  /** The server refused the credential. True when the next request runs the plugin again. */
  forget(): boolean {
    if (this.#now() - this.#ranAt < PAUSE_MS) return false;
    this.#current = undefined;
    return true;
  }

  async #run(): Promise<ExecCredential> {
    const credential = parse(this.#config, await run(this.#config));
    this.#ranAt = this.#now();
    this.#current = credential;
    return credential;
  }
}
