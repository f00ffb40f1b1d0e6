import { readableCertificates } from '@handover/engine';
import type { Identity } from '@handover/runtime';
import { type HeldPems, openHeldIdentity } from '@handover/runtime/held';
import { OperatorError } from '../error.ts';
import type { KubeHome } from '../home/home.ts';
import { SHAPES } from '../objects/parts.ts';
import { fieldPlace, type Place } from '../objects/place.ts';
import type { EmbedInjection } from './spec.ts';

export interface OwnServerOptions {
  readonly home: () => KubeHome | undefined;
  /** The leaf's Secret. */
  readonly secret: Place;
  readonly inject: readonly EmbedInjection[];
  readonly signal: AbortSignal;
}

interface Promised<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: Error): void;
}

const promised = <T>(): Promised<T> => {
  let settle: Pick<Promised<T>, 'resolve' | 'reject'> = { resolve: () => {}, reject: () => {} };
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  promise.catch(() => undefined); // a caller that awaits it still gets the error
  return { promise, ...settle };
};

/** One replica's side of it: takes the leaf out of the Secret, serves it from memory, and knows when it can be reached. */
export class OwnServer {
  readonly #options: OwnServerOptions;
  readonly #name: string;
  readonly #opened = promised<Identity>();
  readonly #ready = promised<void>();
  #pems: HeldPems | undefined;
  #identity: Identity | undefined;
  #missing: readonly string[] = ['its leaf has not been issued yet'];
  #looking: Promise<void> | undefined;
  #again = false;

  constructor(options: OwnServerOptions) {
    this.#options = options;
    this.#name = `Secret ${options.secret.namespace}/${options.secret.name}`;
  }

  /** The leaf, once there is one that can be served. */
  get identity(): Promise<Identity> {
    return this.#opened.promise;
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get missing(): readonly string[] {
    return this.#missing;
  }

  /** Looks now, or once more after the look that is under way. */
  look(): void {
    this.#again = true;
    this.#looking ??= this.#lookOn();
  }

  end(error: Error): void {
    this.#opened.reject(error);
    this.#ready.reject(error);
  }

  async #lookOn(): Promise<void> {
    while (this.#again && !this.#options.signal.aborted) {
      this.#again = false;
      try {
        await this.#look();
      } catch (error) {
        // What cannot be served stays out; what was served goes on; the next change is looked at again.
        this.#missing = [error instanceof Error ? error.message : String(error)];
      }
    }
    this.#looking = undefined;
  }

  async #look(): Promise<void> {
    const { home: homeNow, secret, inject, signal } = this.#options;
    const home = homeNow();
    if (home === undefined) return;
    const {
      'tls.crt': cert,
      'tls.key': key,
      'ca.crt': ca,
    } = (await home.ownWrites.held(secret))?.texts ?? {};
    if (cert === undefined || key === undefined || ca === undefined) return;
    this.#pems = { cert, key, ca };
    if (this.#identity === undefined) {
      this.#identity = await openHeldIdentity(this.#name, () => this.#held(), { signal });
      this.#opened.resolve(this.#identity);
    } else await this.#identity.reload();
    this.#missing = await fieldsBehind(home, inject, ca);
    if (this.#missing.length === 0) this.#ready.resolve();
  }

  #held(): HeldPems {
    if (this.#pems !== undefined) return this.#pems;
    throw new OperatorError('NOT_LOADED', `${this.#name} has not been seen yet`, { retry: 'later' });
  }
}

/** Fields that lack a CA of the bundle that came with the leaf, in words: its server cannot be reached through them yet. */
const fieldsBehind = async (
  home: KubeHome,
  inject: readonly EmbedInjection[],
  ca: string,
): Promise<readonly string[]> => {
  const wanted = readableCertificates(ca).map(({ fingerprint }) => fingerprint);
  const behind = async ({ kind, name, webhooks }: EmbedInjection): Promise<readonly string[]> => {
    const place = fieldPlace(kind, name, webhooks);
    const found = await home.ownWrites.held(place);
    if (found === undefined) return [`${kind} ${name} does not exist yet`];
    const texts = SHAPES[place.plural].read(found.texts, place.part);
    if (texts === undefined) return [`${kind} ${name} has no such webhook`];
    const held = new Set(readableCertificates(Object.values(texts)[0]).map(({ fingerprint }) => fingerprint));
    const whole = wanted.length > 0 && wanted.every((fingerprint) => held.has(fingerprint));
    return whole ? [] : [`${kind} ${name} does not hold the CA yet`];
  };
  return (await Promise.all(inject.map(behind))).flat();
};
