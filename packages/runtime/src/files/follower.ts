import { HandoverError, type Instant, iso, Listeners, type Timer } from '@handover/material';
import { publishKept, publishReloaded } from '../diagnostics.ts';
import { RuntimeError } from '../error.ts';
import type { ResolvedFollowOptions } from '../options.ts';
import {
  type CutEvent,
  type Failure,
  failureOf,
  type KeptEvent,
  type Outcome,
  type ReloadedEvent,
} from '../outcome.ts';
import { warn } from '../warn.ts';
import { Expiry, type Stage } from './expiry.ts';
import type { FollowerEvents, FollowerSpec, Loaded, Material } from './follower-spec.ts';
import { contentsDigest, type FileContents, readAll, resolveAll } from './read-files.ts';
import { type KnownDirectories, PathResolver, type Watched } from './resolve-path.ts';
import { DirectoryWatches } from './watch-directories.ts';

/** Which material is in use everywhere. A server or a context may refuse the newest: what it took last then stays in use. */
class InUse<Value> {
  #refusal: KeptEvent | undefined;
  /** Those that refuse the newest, and what each of them uses instead. */
  readonly #refusers = new Map<object, Loaded<Value> | undefined>();
  /** What each server took last; a server that was closed may listen again with it. */
  readonly #took = new WeakMap<object, Loaded<Value>>();
  /** Both are set while a swap is under way. */
  #replaced: Loaded<Value> | undefined;
  #refusedBefore: ReadonlyMap<object, Loaded<Value> | undefined> = new Map();

  /** Why the newest is not in use. */
  get refusal(): KeptEvent | undefined {
    return this.#refusal;
  }

  /** The oldest material that is still in use, when the newest was refused. */
  get last(): Loaded<Value> | undefined {
    const used = [...this.#refusers.values()].filter((one) => one !== undefined);
    return used.sort((a, b) => a.loads - b.loads)[0];
  }

  /** Swaps; what refuses meanwhile goes on with what it took last, or else with `before`. */
  during(before: Loaded<Value> | undefined, swap: () => void): void {
    const refused = new Map(this.#refusers);
    this.settled();
    this.#replaced = before;
    this.#refusedBefore = refused;
    swap();
    this.#replaced = undefined;
    this.#refusedBefore = new Map();
  }

  refuse(event: KeptEvent | undefined, by: object = this): void {
    this.#refusal = event;
    const known = this.#refusers.get(by) ?? this.#took.get(by) ?? this.#refusedBefore.get(by);
    this.#refusers.set(by, known ?? this.#replaced);
  }

  /** It uses this material now. */
  taken(by: object, loaded: Loaded<Value>): void {
    this.#took.set(by, loaded);
    this.gone(by);
  }

  /** One that may have refused the newest is closed. */
  gone(by: object): void {
    if (this.#refusers.delete(by) && this.#refusers.size === 0) this.settled();
  }

  /** Takes refusals back: the newest is in use everywhere. */
  settled(): void {
    this.#refusers.clear();
    this.#refusal = undefined;
  }
}

/** Errors of watches that this process has warned of: each concerns the whole system. */
const WARNED = new Set<string | undefined>();

/** Files are not watched, but read at each poll. */
function warnOfPoll(path: string, pollMs: number, { code }: NodeJS.ErrnoException): void {
  if (WARNED.has(code)) return;
  WARNED.add(code);
  warn(
    'WATCH_UNAVAILABLE',
    `${path} cannot be watched (${code}) and is read every ${pollMs / 1000} s; raise fs.inotify.max_user_watches and fs.inotify.max_user_instances`,
  );
}

function warnOfExpiry(path: string, stage: Stage, notAfter: Instant): void {
  const when = iso(notAfter);
  if (stage === 'expiring') {
    warn('LEAF_EXPIRING', `${path} expires at ${when}; find out why it is not renewed`);
  } else {
    warn('LEAF_EXPIRED', `${path} expired at ${when} and is still in use; write a new one`);
  }
}

function warnOfCut(path: string, { connections }: CutEvent): void {
  const which = connections === 1 ? '1 connection was' : `${connections} connections were`;
  warn(
    'CONNECTIONS_CUT',
    `${which} ended, drainMs after the CA that had accepted the peer was removed from ${path}`,
  );
}

const warnOfFailure = ({ reason, error }: Failure): void =>
  warn(error.code, `${error.message}; the last good material stays in use (${reason})`);

/** How often files that are awaited are looked for. */
const AWAIT_MS = 200;

/** Loads, and tries again for as long as the caller waits. */
async function firstLoad(
  load: () => Promise<Outcome>,
  { clock, waitMs, signal }: ResolvedFollowOptions,
): Promise<Outcome> {
  const until = clock.monotonic() + waitMs;
  for (;;) {
    const outcome = await load();
    const left = until - clock.monotonic();
    if (!('error' in outcome) || left <= 0 || signal?.aborted) return outcome;
    await clock.sleep(Math.min(AWAIT_MS, left), signal);
  }
}

/** A file written in place causes several events; a swapped link is complete at once. */
const SETTLE_MS = 40;
const SETTLE_AT_MOST_MS = 400;
/** After an unknown authority: at most one reload per second. */
const REFRESH_MS = 1_000;
/** Tries of one load, as swaps may happen while it follows links. */
const ATTEMPTS = 4;

/** Follows files: reads and checks all new material, then swaps it in. After a failure the last good material stays. */
export class Follower<Label extends string, Value extends Material> {
  readonly listeners = new Listeners<FollowerEvents>((error, name) =>
    warn('LISTENER_THREW', `a listener for "${name}" of ${this.path} threw: ${String(error)}`),
  );
  readonly options: ResolvedFollowOptions;
  readonly path: string;
  readonly usage = new InUse<Value>();
  readonly #spec: FollowerSpec<Label, Value>;
  readonly #swapped = new Listeners<{ swap: Loaded<Value> }>((error) => this.complain(error));
  readonly #expiry: Expiry;
  readonly #ended = new Listeners<{ end: undefined }>();
  readonly #watches = new DirectoryWatches((kind) => this.#noticed(kind));
  #loaded: Loaded<Value> | undefined;
  #digest = '';
  #failure: KeptEvent | undefined;
  #warned = new Map<string, number>();
  #running: Promise<Outcome> | undefined;
  #next: Promise<Outcome> | undefined;
  #refreshing: Promise<Outcome> | undefined;
  #refreshedAt = Number.NEGATIVE_INFINITY;
  /** Directories that need no new look after an event; a poll or a `reload()` looks at the whole path again. */
  readonly #known: KnownDirectories = new Set();
  #settle: Timer | undefined;
  #settleBy = 0;
  #poll: Timer | undefined;
  readonly #abort = () => this.close();
  #closed = false;

  constructor(spec: FollowerSpec<Label, Value>) {
    this.#spec = spec;
    this.options = spec.options;
    this.#expiry = new Expiry(this.options.clock, (stage, notAfter) => this.#reached(stage, notAfter));
    this.path = Object.values<string>(spec.files)[0] ?? '';
  }

  /** The first load. On failure it closes everything and throws. */
  async start(fallback?: (failure: Failure) => Promise<Value | undefined>): Promise<void> {
    const { signal } = this.options;
    signal?.throwIfAborted();
    const outcome = await firstLoad(() => this.reload(), this.options);
    if ('error' in outcome) {
      const value = await fallback?.(outcome);
      if (value === undefined) {
        this.close();
        signal?.throwIfAborted();
        throw outcome.error;
      }
      this.#loaded = { value, loads: 1, loadedAt: this.#now() };
      this.#kept(outcome);
    }
    if (signal?.aborted) {
      this.close();
      throw signal.reason;
    }
    signal?.addEventListener('abort', this.#abort, { once: true });
    this.#watchExpiry();
    this.#schedulePoll();
  }

  /** How changes are noticed; undefined when the caller tells of them, or there is no file. */
  get watching(): 'events' | 'poll' | undefined {
    if (this.#spec.read !== undefined || this.path === '') return undefined;
    return this.#watches.failure === undefined ? 'events' : 'poll';
  }

  get loaded(): Loaded<Value> {
    if (this.#loaded === undefined) throw new RuntimeError('NOT_LOADED', `${this.path} is not loaded yet`);
    return this.#loaded;
  }

  /** The material that is in use everywhere: the one before, when a server or a context has refused the newest. */
  get inUse(): Loaded<Value> {
    return this.usage.last ?? this.loaded;
  }

  /** Why the newest files are not in use; undefined when they are. */
  get failure(): KeptEvent | undefined {
    return this.#failure ?? this.usage.refusal;
  }

  /** Called with the new material before any `reloaded` listener. */
  onSwap(listener: (loaded: Loaded<Value>) => void): () => void {
    return this.#swapped.on('swap', listener);
  }

  onEnd(listener: () => void): () => void {
    return this.#ended.on('end', listener);
  }

  /** Never throws. Calls made before a read begins share that read; later calls share the next one. */
  reload(): Promise<Outcome> {
    this.#known.clear();
    return this.#queue();
  }

  #queue(): Promise<Outcome> {
    if (this.#closed) return Promise.resolve({ reason: 'unchanged' });
    this.#next ??= (this.#running ?? Promise.resolve()).then(() => {
      this.#next = undefined;
      const run = this.#load().finally(() => {
        this.#running = undefined;
      });
      this.#running = run;
      return run;
    });
    return this.#next;
  }

  /** Reloads for a handshake that failed with the material of load number `failed`. True if there is newer material to try. */
  async refresh(failed: number): Promise<boolean> {
    if (this.loaded.loads > failed) return true;
    if (this.#refreshing === undefined && this.options.clock.monotonic() - this.#refreshedAt >= REFRESH_MS) {
      this.#refreshedAt = this.options.clock.monotonic();
      this.#refreshing = this.reload().finally(() => {
        this.#refreshing = undefined;
      });
    }
    await this.#refreshing;
    return this.loaded.loads > failed;
  }

  /** Reports that good files could not be put to use, like any other failure. Holds until the next material is in use. */
  complain(thrown: unknown, by?: object): void {
    this.#kept(failureOf(thrown, this.path));
    this.usage.refuse(this.#failure, by);
  }

  /** Reports connections in use that were ended at the deadline. */
  cut(connections: number): void {
    const event = { connections, reason: 'ca_removed' as const, at: this.#now() };
    if (this.listeners.count('cut') === 0) warnOfCut(this.path, event);
    this.listeners.emit('cut', event);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.options.signal?.removeEventListener('abort', this.#abort);
    this.#watches.close();
    this.#expiry.close();
    this.#poll?.cancel();
    this.#settle?.cancel();
    this.#ended.emit('end', undefined);
  }

  #now(): Instant {
    return this.options.clock.now();
  }

  #noticed(kind: Watched): void {
    if (this.#closed) return;
    this.#settle?.cancel();
    if (kind === 'link') {
      this.#settle = undefined;
      void this.#queue();
      return;
    }
    const at = this.options.clock.monotonic();
    if (this.#settle === undefined) this.#settleBy = at + SETTLE_AT_MOST_MS;
    this.#settle = this.options.clock
      .after(Math.min(SETTLE_MS, this.#settleBy - at), () => {
        this.#settle = undefined;
        void this.#queue();
      })
      .unref();
  }

  #schedulePoll(): void {
    if (this.#closed) return;
    this.#poll?.cancel();
    const { clock, pollMs, warnMs } = this.options;
    // A failure is reported again after each warnMs, so it is looked at that often.
    const every = this.#failure === undefined ? pollMs : Math.min(pollMs, warnMs);
    const jittered = every * (0.8 + 0.4 * Math.random());
    this.#poll = clock.after(jittered, () => void this.reload().then(() => this.#schedulePoll())).unref();
  }

  async #read(): Promise<FileContents<Label>> {
    const { files, maxBytes, read } = this.#spec;
    if (read !== undefined) return read();
    for (let attempt = 1; ; attempt++) {
      const resolver = new PathResolver(this.#known);
      const resolved = await resolveAll(files, resolver);
      // A swap before the new watch was set would go unseen: follow the links again.
      if (!this.#closed && this.#watches.arm(resolver.watch) && attempt < ATTEMPTS) continue;
      const unwatched = this.#watches.failure;
      if (unwatched !== undefined) warnOfPoll(this.path, this.options.pollMs, unwatched);
      try {
        if ('failure' in resolved) throw resolved.failure;
        return await readAll(files, resolved.real, maxBytes);
      } catch (error) {
        this.#known.clear();
        // The kubelet removes the old directory after a swap: the file is now behind the new link.
        const gone = error instanceof HandoverError && error.code === 'FILE_MISSING';
        if (!gone || attempt >= ATTEMPTS) throw error;
      }
    }
  }

  async #load(): Promise<Outcome> {
    try {
      const contents = await this.#read();
      const digest = contentsDigest(contents);
      const before = this.#loaded;
      if (before !== undefined && digest === this.#digest) return this.#good('unchanged');
      const at = this.#now();
      const value = this.#spec.load(contents, at);
      if (this.#closed) return { reason: 'unchanged' };
      this.#digest = digest;
      if (before !== undefined && value.hash === before.value.hash) return this.#good('unchanged');
      const loaded = { value, loads: (before?.loads ?? 0) + 1, loadedAt: at };
      this.#loaded = loaded;
      this.usage.during(before, () => this.#swapped.emit('swap', loaded));
      if (before !== undefined) {
        this.#watchExpiry();
        const hashes = { hash: value.hash, previousHash: before.value.hash };
        const event = { ...(this.#spec.isSecret ? {} : hashes), loads: loaded.loads, at } as ReloadedEvent;
        this.listeners.emit('reloaded', event);
        publishReloaded(this.path, event);
      }
      return this.#good('updated');
    } catch (thrown) {
      const failure = failureOf(thrown, this.path);
      if (this.#loaded !== undefined) this.#kept(failure);
      return this.#closed && this.#loaded !== undefined ? { reason: 'unchanged' } : failure;
    }
  }

  #good(reason: 'updated' | 'unchanged'): Outcome {
    this.#failure = undefined;
    return { reason };
  }

  #watchExpiry(): void {
    const { validity } = this.#spec;
    if (validity !== undefined && !this.#closed) this.#expiry.watch(validity(this.loaded.value));
  }

  #reached(stage: Stage, notAfter: Instant): void {
    if (this.listeners.count(stage) === 0) warnOfExpiry(this.path, stage, notAfter);
    this.listeners.emit(stage, { path: this.path, notAfter, at: this.#now() });
  }

  #kept({ reason, error }: Failure): void {
    if (this.#closed) return;
    const at = this.#now();
    const isNews = this.#failure === undefined;
    this.#failure = { reason, error, path: error.path ?? this.path, at };
    if (isNews) this.#schedulePoll();
    const key = `${reason} ${error.code}`;
    const last = this.#warned.get(key);
    if (last !== undefined && this.options.clock.monotonic() - last < this.options.warnMs) return;
    this.#warned.set(key, this.options.clock.monotonic());
    if (this.listeners.count('kept') === 0) warnOfFailure({ reason, error });
    this.listeners.emit('kept', this.#failure);
    publishKept(this.#failure);
  }
}

/** Opens files and follows them. A fallback may supply the first material when the files cannot be used. */
export async function follow<Label extends string, Value extends Material>(
  spec: FollowerSpec<Label, Value>,
  fallback?: (failure: Failure) => Promise<Value | undefined>,
): Promise<Follower<Label, Value>> {
  const follower = new Follower(spec);
  await follower.start(fallback);
  return follower;
}
