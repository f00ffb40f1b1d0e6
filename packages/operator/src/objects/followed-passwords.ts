import { Password } from '@handover/core';
import type { PasswordReader } from '@handover/engine';
import { type Kube, type Secret, secrets } from '@handover/kube';
import type { Budget } from '../cache/budget.ts';
import { Projection } from '../cache/projection.ts';
import { Watched } from '../cache/watched.ts';
import { OperatorError } from '../error.ts';
import { idOfPlace, keyOf, type Place, whichOf } from './place.ts';

/** Passwords in Secrets of the namespace that is written to. The operator opens no file that a resource names. */
export const secretPasswords = (
  read: (place: Place) => Promise<FoundPassword | undefined>,
): PasswordReader => ({
  password: async ({ secret }, namespace) => {
    if (secret === undefined)
      throw new OperatorError(
        'PASSWORD_MISSING',
        'passwordFrom.file works in a directory; give passwordFrom.secret in Kubernetes',
      );
    const { name, key } = secret;
    const path = `${namespace}/secrets/${name}/${key}`;
    const found = await read({ plural: 'secrets', namespace, name, part: key });
    if (found?.value !== undefined) return Password.parse(found.value, path);
    throw new OperatorError(
      'PASSWORD_MISSING',
      `Secret ${namespace}/${name} ${found === undefined ? 'does not exist' : `has no key ${key}`}; write the password there`,
      { path, retry: 'later' },
    );
  },
});

/** Watches for the passwords of one namespace; what is beyond is asked for when it is used, at most this often. */
const WATCHED = 16;
const ASK_AGAIN_MS = 30_000;
/** How long the reading of one password may hold up the next of its namespace, and all of them a start. */
const PATIENCE_MS = 2_000;
/** Base64 of 258 bytes. A password has at most 128: what is longer is refused by what is kept of it. */
const MOST_TEXT = 344;

/** All that is kept of a Secret with a password. `value` undefined: it does not have the key. */
interface FoundPassword {
  readonly value: Buffer | undefined;
}

const foundIn = ({ data = {} }: Secret, key: string): FoundPassword => ({
  value: Object.hasOwn(data, key) ? Buffer.from(data[key]?.slice(0, MOST_TEXT) ?? '', 'base64') : undefined,
});

/** One that there is no room for counts as missing: the keystore that it is for is not written. */
export const PASSWORDS = new Projection<Secret, FoundPassword>('Secret with a password', { keep: foundIn });

/** Asks the API server for one password. */
export const readPassword = async (
  kube: Kube,
  place: Place,
  signal: AbortSignal,
): Promise<FoundPassword | undefined> => {
  const secret = await kube.get(secrets, whichOf(place), { signal });
  return secret === undefined ? undefined : PASSWORDS.keep(secret, place.part);
};

interface Kept {
  readonly place: Place;
  readonly stop: AbortController;
  watched: boolean;
  due: boolean;
  /** Whether it was wanted before it was read. */
  awaited: boolean;
  readAt: number | undefined;
  found: FoundPassword | undefined;
}

interface FollowedPasswordsOptions {
  readonly kube: Kube;
  readonly budget?: Budget | undefined;
  /** Another password than before, or the first one that was waited for: `namespace/name` of its Secret. */
  readonly onChange?: ((secret: string) => void) | undefined;
  readonly onTrouble?: ((what: string, error: Error) => void) | undefined;
}

/**
 * Passwords that resources name, read one after the other in each namespace: only the object that needs
 * one waits for it, and a namespace that names many delays its own.
 */
export class FollowedPasswords {
  readonly #options: FollowedPasswordsOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #readers = new Map<string, Promise<void>>();
  #signal = AbortSignal.abort();

  constructor(options: FollowedPasswordsOptions) {
    this.#options = options;
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** Follows exactly these from now on. */
  follow(places: readonly Place[]): void {
    const wanted = new Map(places.map((place) => [idOfPlace(place), place]));
    for (const [id, { stop }] of this.#kept) {
      if (wanted.has(id)) continue;
      stop.abort();
      this.#kept.delete(id);
    }
    for (const [id, place] of wanted) {
      if (this.#kept.has(id)) continue;
      const stop = new AbortController();
      const empty = { watched: false, due: true, awaited: false, readAt: undefined, found: undefined };
      this.#kept.set(id, { place, stop, ...empty });
      this.#work(place.namespace);
    }
  }

  /** What is known of a password. Undefined: its Secret does not exist. */
  async read(place: Place): Promise<FoundPassword | undefined> {
    const kept = this.#kept.get(idOfPlace(place));
    const readAt = kept?.readAt ?? Number.NEGATIVE_INFINITY;
    if (kept !== undefined && !kept.watched && this.#options.kube.clock.monotonic() - readAt > ASK_AGAIN_MS) {
      kept.due = true;
      this.#work(place.namespace);
    }
    if (kept?.readAt !== undefined) return kept.found;
    if (kept !== undefined) kept.awaited = true;
    const path = idOfPlace(place);
    throw new OperatorError('PASSWORD_MISSING', `the password ${path} has not been read yet; wait a moment`, {
      path,
      retry: 'later',
    });
  }

  /** What can be read in a moment is read. */
  async settled(): Promise<void> {
    await Promise.race([
      Promise.all(this.#readers.values()),
      this.#options.kube.clock.sleep(PATIENCE_MS, this.#signal),
    ]);
  }

  #of(namespace: string | undefined): readonly Kept[] {
    return [...this.#kept.values()].filter(({ place }) => place.namespace === namespace);
  }

  #work(namespace = ''): void {
    if (this.#readers.has(namespace)) return;
    this.#readers.set(namespace, this.#readAll(namespace));
  }

  async #readAll(namespace: string): Promise<void> {
    // The caller may not have named all of them yet.
    await Promise.resolve();
    while (!this.#signal.aborted) {
      const all = this.#of(namespace);
      const next = all.find(({ due }) => due);
      if (next === undefined) break;
      next.due = false;
      if (all.filter(({ watched }) => watched).length < WATCHED) await this.#watch(next);
      else await this.#ask(next);
    }
    this.#readers.delete(namespace);
  }

  async #watch(kept: Kept): Promise<void> {
    const { place, stop } = kept;
    const { kube, budget, onTrouble } = this.#options;
    const signal = AbortSignal.any([this.#signal, stop.signal]);
    kept.watched = true;
    const informer = new Watched<Secret, FoundPassword>(kube, secrets, {
      namespace: place.namespace,
      fieldSelector: `metadata.name=${place.name}`,
      projection: PASSWORDS,
      part: place.part,
      budget,
    });
    const learn = (): void => {
      if (informer.synced) this.#learn(kept, informer.get(keyOf(place)));
    };
    informer.on('changed', learn).on('synced', learn);
    informer.on('trouble', (error) => onTrouble?.(`watch of secrets ${keyOf(place)}`, error));
    informer.start(signal);
    await Promise.race([informer.ready.catch(() => {}), this.#options.kube.clock.sleep(PATIENCE_MS, signal)]);
  }

  async #ask(kept: Kept): Promise<void> {
    const { place, stop } = kept;
    try {
      const signal = AbortSignal.any([this.#signal, stop.signal]);
      this.#learn(kept, await readPassword(this.#options.kube, place, signal));
    } catch (error) {
      if (!stop.signal.aborted && !this.#signal.aborted)
        this.#options.onTrouble?.(`secrets ${keyOf(place)}`, error as Error);
    }
  }

  #learn(kept: Kept, found: FoundPassword | undefined): void {
    const { found: before, readAt, awaited, place } = kept;
    kept.readAt = this.#options.kube.clock.monotonic();
    kept.found = found;
    const same = before?.value?.toString('latin1') === found?.value?.toString('latin1');
    const known = readAt !== undefined && same && (before === undefined) === (found === undefined);
    if (!known && (readAt !== undefined || awaited)) this.#options.onChange?.(keyOf(place));
  }
}
