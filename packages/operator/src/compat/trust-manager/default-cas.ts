import { readFile, stat } from 'node:fs/promises';
import {
  type Certificate,
  type Clock,
  HandoverError,
  isMap,
  MAX_PEM_BYTES,
  textOf,
} from '@handover/material';
import { OperatorError } from '../../error.ts';
import { certificatesIn, sha256 } from './pool.ts';

/** The CAs that `useDefaultCAs` of a Bundle, and `defaultCas` of a TrustBundle, stand for. */
export interface DefaultCas {
  readonly certificates: readonly Certificate[];
  /** As `status.defaultCAVersion` names them: equal for equal contents. */
  readonly version: string;
}

export type DefaultCasState = DefaultCas | { readonly why: string };

const idOf = (name: string, version: string, pem: string): string =>
  `${name}-${version}-${sha256(pem).slice(0, 16)}`.slice(0, 253);

/** PEM, or trust-manager's package: JSON with `name`, `version` and the PEM as `bundle`. */
export const parseDefaultCas = (text: string, path: string): DefaultCas => {
  const refuse = (what: string): never => {
    throw new OperatorError('SOURCE_MISSING', `${path} ${what}`, { path });
  };
  let [name, version, pem] = ['default-cas', 'pem', text];
  if (text.trimStart().startsWith('{')) {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      return refuse('is no JSON; give a PEM file, or a package of trust-manager');
    }
    if (!isMap(parsed)) return refuse('is no package of trust-manager');
    const { name: given, version: its, bundle } = parsed;
    if (typeof given !== 'string' || typeof its !== 'string' || typeof bundle !== 'string')
      return refuse('is no package of trust-manager: it needs name, version and bundle');
    [name, version, pem] = [given, its, bundle];
  }
  const certificates = certificatesIn(pem, path);
  if (certificates.length === 0) return refuse('holds no certificate');
  return { certificates, version: idOf(name, version, pem) };
};

/** How often the file is looked at: a ConfigMap in a volume changes under the operator. */
const LOOK_MS = 10_000;

/** The file of `--default-cas`, followed. What was read last stays while the file cannot be read. */
export class DefaultCasFile {
  readonly #path: string | undefined;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #state: DefaultCasState = { why: 'the operator was started without --default-cas' };
  #seen = '';

  constructor(path: string | undefined, clock: Clock, onChange: () => void) {
    this.#path = path;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get state(): DefaultCasState {
    return this.#state;
  }

  async start(signal: AbortSignal): Promise<void> {
    if (this.#path === undefined) return;
    const path = this.#path;
    await this.#look(path);
    const timer = this.#clock.every(LOOK_MS, () => void this.#look(path)).unref();
    signal.addEventListener('abort', () => timer.cancel(), { once: true });
  }

  async #look(path: string): Promise<void> {
    let why: string;
    try {
      const { mtimeMs, size, ino } = await stat(path);
      const seen = `${mtimeMs} ${size} ${ino}`;
      if (seen === this.#seen) return;
      if (size > MAX_PEM_BYTES)
        throw new OperatorError('SOURCE_MISSING', `${path} has ${size} bytes; the limit is ${MAX_PEM_BYTES}`);
      this.#state = parseDefaultCas(textOf(await readFile(path)), path);
      this.#seen = seen;
      this.#onChange();
      return;
    } catch (error) {
      if (!(error instanceof HandoverError) && (error as NodeJS.ErrnoException).syscall === undefined)
        throw error;
      why =
        error instanceof HandoverError
          ? error.message
          : `${path} cannot be read: ${(error as Error).message}`;
    }
    if ('why' in this.#state && this.#state.why !== why) {
      this.#state = { why };
      this.#onChange();
    }
  }
}
