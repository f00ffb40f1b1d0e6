import { getCurves, hash } from 'node:crypto';
import { resolve } from 'node:path';
import { createSecureContext, getCiphers } from 'node:tls';
import {
  HandoverError,
  nodeTlsOptions,
  parseTlsProfileJson,
  type ResolvedTlsProfile,
  TLS_PROFILE_HASH,
  type TlsProfileWarning,
  type TlsSupport,
} from '@handover/material';
import { mustBePath } from './arguments.ts';
import { writeAtomically } from './atomic-write.ts';
import type { ContextOptions } from './clients/client-source.ts';
import { Followed } from './files/followed.ts';
import { type Follower, follow } from './files/follower.ts';
import type { Material } from './files/follower-spec.ts';
import { inFile, mustNotBeBlank } from './files/in-file.ts';
import { readSmallFile } from './files/read-files.ts';
import { PathResolver } from './files/resolve-path.ts';
import { clearOpenSslErrors } from './openssl-errors.ts';
import { type FollowOptions, type ResolvedFollowOptions, resolveFollowOptions } from './options.ts';
import type { Failure } from './outcome.ts';
import type { SourceStatus } from './status/status.ts';
import { warn } from './warn.ts';

/** Groups that `getCurves` never lists, because OpenSSL does not count them as elliptic curves. */
const OTHER_GROUPS = ['X25519', 'X448', 'X25519MLKEM768', 'SecP256r1MLKEM768', 'SecP384r1MLKEM1024'];

const isGroup = (name: string): boolean => {
  try {
    createSecureContext({ ecdhCurve: name });
    return true;
  } catch {
    clearOpenSslErrors();
    return false;
  }
};

/** Ciphers and groups of this process's OpenSSL. OpenSSL lists no groups, so the groups in doubt are tried. */
const tlsSupport = (): TlsSupport => ({
  ciphers: getCiphers(),
  groups: [...getCurves(), ...OTHER_GROUPS.filter(isGroup)],
});

const MAX_PROFILE_BYTES = 64 * 1024;
/** The annotations of a pod are at most 256 KiB together; the downward API escapes them. */
const MAX_ANNOTATIONS_BYTES = 1024 * 1024;

/**
 * How {@link openTlsProfile} follows a TLS profile.
 *
 * @example
 * ```ts
 * import { openTlsProfile, type TlsProfileOptions } from '@handover/runtime';
 *
 * const options: TlsProfileOptions = { lastKnownGood: '/etc/mesh/last-good.json' };
 * const profile = await openTlsProfile('/etc/mesh/profile.json', options);
 * console.log(profile.ready); // true
 * ```
 */
export interface TlsProfileOptions extends FollowOptions {
  /** Path for a copy (mode 0600) of the last good profile, used when the file cannot be used at the next start. */
  readonly lastKnownGood?: string | undefined;
  /**
   * Path of a downward API file with the pod's `metadata.annotations`, or with the value of
   * `handover.dev/tls-profile-hash` alone. The profile is `ready` once it is the profile that the pod is stamped with.
   */
  readonly annotations?: string | undefined;
}

interface LoadedProfile extends ResolvedTlsProfile {
  /** The file's text, as hashed and as copied. */
  readonly text: string;
}

type ProfileFollower = Follower<'profile', LoadedProfile>;
type StampFollower = Follower<'annotations', Material>;

function parse(bytes: Buffer, path: string, support: TlsSupport): LoadedProfile {
  mustNotBeBlank(bytes, path, 'a TLS profile');
  const text = bytes.toString('utf8');
  const resolved = inFile(path, () => parseTlsProfileJson(text, support));
  // The hash of the file, not of the canonical JSON: a file without groups is stamped with the hash of its own bytes.
  return { ...resolved, hash: hash('sha256', bytes, 'hex'), text };
}

/**
 * A TLS profile that follows its file: versions, ciphers and groups.
 *
 * @example
 * ```ts
 * import type { TlsProfile } from '@handover/runtime';
 *
 * const isReady = (inUse: TlsProfile) => inUse.ready;
 * console.log(isReady(profile)); // true
 * ```
 */
export class TlsProfile extends Followed<'profile', LoadedProfile> {
  readonly #stamp: StampFollower | undefined;
  readonly #fromCopy: boolean;
  #ready = false;

  /** @internal use {@link openTlsProfile} */
  constructor(follower: ProfileFollower, stamp: StampFollower | undefined, fromCopy: boolean) {
    super(follower);
    this.#stamp = stamp;
    this.#fromCopy = fromCopy;
    this.#compare();
    follower.listeners.on('reloaded', () => this.#compare()); // after every server has taken or refused it
    stamp?.onSwap(() => this.#compare());
  }

  #compare(): void {
    const stamped = this.#stamp?.loaded.value.hash ?? '';
    if (stamped === '' || stamped === this.follower.inUse.value.hash) this.#ready = true;
  }

  /** Hex SHA-256 of the file's bytes. Pod templates are stamped with it. */
  get hash(): string {
    return this.follower.loaded.value.hash;
  }

  /** Ciphers and groups of the profile that this OpenSSL lacks. */
  get warnings(): readonly TlsProfileWarning[] {
    return this.follower.loaded.value.warnings;
  }

  /**
   * For a readiness probe: true once the profile in use is the profile that the pod is stamped with, or when the pod has
   * no stamp. It stays true: when the file changes, old pods must serve until new pods replace them.
   */
  get ready(): boolean {
    return this.#ready;
  }

  /**
   * Options for `node:tls`, from the newest profile.
   *
   * @example
   * ```ts
   * const { minVersion } = profile.tlsOptions();
   * console.log(minVersion); // TLSv1.2
   * ```
   */
  tlsOptions(): ContextOptions {
    return nodeTlsOptions(this.follower.loaded.value.profile);
  }

  /** @internal tells servers about a change */
  onSwap(listener: () => void): () => void {
    return this.follower.onSwap(() => listener());
  }

  /** @internal a server has refused this profile */
  complain(thrown: unknown, by?: object): void {
    this.follower.complain(thrown, by);
  }

  /** @internal that server has taken it */
  taken(by: object): void {
    this.follower.usage.taken(by, this.follower.loaded);
    this.#compare();
  }

  /** @internal that server is closed */
  gone(by: object): void {
    this.follower.usage.gone(by);
    this.#compare();
  }

  /** @internal every server has taken it */
  settled(): void {
    this.follower.usage.settled();
    this.#compare();
  }

  override close(): void {
    super.close();
    this.#stamp?.close();
  }

  override status(): SourceStatus {
    const common = this.commonStatus();
    return {
      kind: 'tls-profile',
      ...common,
      hash: this.follower.inUse.value.hash,
      ...(this.#fromCopy && common.lastFailure !== undefined ? { lastKnownGood: true } : {}),
      ...(this.#stamp === undefined ? {} : { ready: this.ready }),
    };
  }
}

/** Keeps the copy up to date, one write at a time. A failed write is only a warning: the profile itself is good. */
function keepCopy(path: string): (profile: LoadedProfile) => Promise<void> {
  let queue = Promise.resolve();
  return ({ text }) => {
    queue = queue.then(() =>
      writeAtomically(path, text, 0o600).catch((cause: NodeJS.ErrnoException) =>
        warn(
          'PROFILE_COPY_FAILED',
          `the copy of the last good TLS profile cannot be written to ${path} (${cause.code})`,
        ),
      ),
    );
    return queue;
  };
}

async function readCopy(path: string, support: TlsSupport): Promise<LoadedProfile | undefined> {
  try {
    const real = await new PathResolver().resolve(path);
    return parse(await readSmallFile(path, real, MAX_PROFILE_BYTES), path, support);
  } catch (error) {
    if (error instanceof HandoverError) return undefined; // the error of the profile itself says what to do
    throw error;
  }
}

/** Reads `key="value"` lines, or the value alone. Empty when the pod has no stamp. */
function stampIn(text: string): string {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${TLS_PROFILE_HASH}=`));
  if (line !== undefined) return line.slice(TLS_PROFILE_HASH.length + 1).replace(/^"|"$/g, '');
  return /^[0-9a-f]{64}$/.test(text.trim()) ? text.trim() : '';
}

const followStamp = (path: string, options: ResolvedFollowOptions): Promise<StampFollower> =>
  follow({
    files: { annotations: resolve(path) },
    maxBytes: MAX_ANNOTATIONS_BYTES,
    load: ({ annotations }) => ({ hash: stampIn(annotations.toString('utf8')) }),
    options,
  });

/**
 * Reads a TLS profile (versions, ciphers, groups) and follows its file. Throws `HandoverError` with the path when neither
 * the file nor its copy can be used.
 *
 * @example
 * ```ts
 * import { openTlsProfile } from '@handover/runtime';
 *
 * const profile = await openTlsProfile('/etc/mesh/profile.json', { lastKnownGood: '/etc/mesh/last-profile.json' });
 * console.log(profile.ready); // true
 * ```
 */
export async function openTlsProfile(path: string, options: TlsProfileOptions = {}): Promise<TlsProfile> {
  mustBePath(path, 'openTlsProfile');
  const followed = resolveFollowOptions(options, 'openTlsProfile', ['lastKnownGood', 'annotations']);
  const file = resolve(path);
  const copy = options.lastKnownGood === undefined ? undefined : resolve(options.lastKnownGood);
  const support = tlsSupport();
  let fromCopy = false;
  const fallBack = async ({ error }: Failure): Promise<LoadedProfile | undefined> => {
    const value = copy === undefined ? undefined : await readCopy(copy, support);
    fromCopy = value !== undefined;
    if (fromCopy)
      warn('PROFILE_FROM_COPY', `${file} cannot be used (${error.code}); started with its copy ${copy}`);
    return value;
  };
  const follower: ProfileFollower = await follow(
    {
      files: { profile: file },
      maxBytes: MAX_PROFILE_BYTES,
      load: ({ profile }) => parse(profile, file, support),
      options: followed,
    },
    fallBack,
  );
  const loaded = (value: LoadedProfile) => {
    // Only for profiles written by hand, and not for groups: OpenSSL 3.0 is known to lack the newest groups.
    if (value.profile.type !== 'Custom') return;
    for (const { code, message } of value.warnings) {
      if (code !== 'TLS_PROFILE_GROUPS_UNSUPPORTED') warn(code, `${file}: ${message}`);
    }
  };
  const keep = copy === undefined ? undefined : keepCopy(copy);
  loaded(follower.loaded.value);
  if (!fromCopy) await keep?.(follower.loaded.value);
  follower.onSwap(({ value }) => {
    loaded(value);
    void keep?.(value);
  });
  try {
    const stamp =
      options.annotations === undefined ? undefined : await followStamp(options.annotations, followed);
    return new TlsProfile(follower, stamp, fromCopy);
  } catch (error) {
    follower.close();
    throw error;
  }
}
