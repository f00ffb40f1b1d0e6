import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import {
  nodeTlsOptions,
  parseTlsProfileJson,
  type ResolvedTlsProfile,
  type TlsProfileWarning,
} from '@handover/material';
import { writeAtomically } from './atomic-write.ts';
import type { ContextOptions } from './client-source.ts';
import { Followed } from './followed.ts';
import { Follower, type Material } from './follower.ts';
import { inFile, mustNotBeBlank } from './in-file.ts';
import { type FollowOptions, resolveFollowOptions } from './options.ts';
import { readSmallFile } from './read-files.ts';
import { PathResolver } from './resolve-path.ts';
import type { SourceStatus } from './status.ts';
import { tlsSupport } from './tls-support.ts';

const MAX_PROFILE_BYTES = 64 * 1024;
/** What the downward API may write: all annotations of a pod come to 256 KiB at most. */
const MAX_ANNOTATIONS_BYTES = 1024 * 1024;

export interface TlsProfileOptions extends FollowOptions {
  /** A copy of the last good profile is kept here (0600) and used when the file cannot be at the next start. */
  readonly lastKnownGood?: string;
  /**
   * The pod's own annotations, a file of a downward API volume (`metadata.annotations`, or only the one of
   * `handover.dev/tls-profile-hash`). The profile is not `ready` before it is the one that the pod was stamped with.
   */
  readonly annotations?: string;
}

interface LoadedProfile extends ResolvedTlsProfile {
  /** The file as it is: what is hashed, and what the copy holds. */
  readonly text: string;
}

type ProfileFollower = Follower<'profile', LoadedProfile>;
type StampFollower = Follower<'annotations', Material>;

function parse(bytes: Buffer, path: string): LoadedProfile {
  mustNotBeBlank(bytes, path, 'a TLS profile');
  const text = bytes.toString('utf8');
  const resolved = inFile(path, () => parseTlsProfileJson(text, tlsSupport()));
  // Not the canonical JSON's: a file in upstream's shape, without groups, is stamped with the hash of its own bytes.
  return { ...resolved, hash: createHash('sha256').update(bytes).digest('hex'), text };
}

/** A TLS profile that follows its file: versions, ciphers and groups. */
export class TlsProfile extends Followed<'profile', LoadedProfile> {
  readonly #follower: ProfileFollower;
  readonly #stamp: StampFollower | undefined;
  readonly #fromCopy: boolean;
  #ready = false;

  /** @internal use {@link openTlsProfile} */
  constructor(follower: ProfileFollower, stamp: StampFollower | undefined, fromCopy: boolean) {
    super(follower);
    this.#follower = follower;
    this.#stamp = stamp;
    this.#fromCopy = fromCopy;
    const compare = (): void => {
      const stamped = stamp?.loaded.value.hash ?? '';
      if (stamped === '' || stamped === this.hash) this.#ready = true;
    };
    compare();
    follower.onSwap(compare);
    stamp?.onSwap(compare);
  }

  /** Hex SHA-256 of the file's bytes: what pod templates are stamped with. */
  get hash(): string {
    return this.#follower.loaded.value.hash;
  }

  /** What this OpenSSL cannot honour, by name. */
  get warnings(): readonly TlsProfileWarning[] {
    return this.#follower.loaded.value.warnings;
  }

  /**
   * For a readiness probe: false until the loaded profile is the one that the pod was stamped with, or the pod has no stamp.
   * Once true it stays so: when the file moves on, the pods that are to be replaced must serve until they are.
   */
  get ready(): boolean {
    return this.#ready;
  }

  /** Options for `node:tls`: the newest at each call. */
  tlsOptions(): ContextOptions {
    return nodeTlsOptions(this.#follower.loaded.value.profile);
  }

  /** @internal how a server hears of a change */
  onSwap(listener: () => void): () => void {
    return this.#follower.onSwap(() => listener());
  }

  override status(): SourceStatus {
    const common = this.commonStatus();
    return {
      kind: 'tls-profile',
      ...common,
      hash: this.hash,
      ...(this.#fromCopy && common.lastFailure !== undefined ? { lastKnownGood: true } : {}),
      ...(this.#stamp === undefined ? {} : { ready: this.ready }),
    };
  }
}

const warn = (code: string, message: string): void =>
  process.emitWarning(message, { type: 'HandoverWarning', code });

/** Keeps the copy up to date, one write at a time. That it cannot be written is no reason not to serve. */
function keepCopy(path: string): (profile: LoadedProfile) => Promise<void> {
  let queue = Promise.resolve();
  return ({ text }) => {
    queue = queue.then(() =>
      writeAtomically(path, text, 0o600).catch((cause: NodeJS.ErrnoException) =>
        warn(
          'PROFILE_COPY_FAILED',
          `the last known good TLS profile cannot be kept at ${path} (${cause.code})`,
        ),
      ),
    );
    return queue;
  };
}

async function readCopy(path: string): Promise<LoadedProfile | undefined> {
  try {
    const real = await new PathResolver().resolve(path);
    return parse(await readSmallFile(path, real, MAX_PROFILE_BYTES), path);
  } catch {
    return undefined; // the file's own error says what to do
  }
}

const STAMP = 'handover.dev/tls-profile-hash';

/** `key="value"` lines, or the one value alone; empty when the pod has no stamp. */
function stampIn(text: string): string {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${STAMP}=`));
  if (line !== undefined) return line.slice(STAMP.length + 1).replace(/^"|"$/g, '');
  return /^[0-9a-f]{64}$/.test(text.trim()) ? text.trim() : '';
}

async function followStamp(path: string, options: FollowOptions): Promise<StampFollower> {
  const follower: StampFollower = new Follower({
    files: { annotations: resolve(path) },
    maxBytes: MAX_ANNOTATIONS_BYTES,
    load: ({ annotations }) => ({ hash: stampIn(annotations.toString('utf8')) }),
    options: resolveFollowOptions(options),
  });
  await follower.start();
  return follower;
}

/** Reads a TLS profile and follows it. Throws HandoverError, with the path, when neither it nor its copy can be used. */
export async function openTlsProfile(path: string, options: TlsProfileOptions = {}): Promise<TlsProfile> {
  const file = resolve(path);
  const copy = options.lastKnownGood === undefined ? undefined : resolve(options.lastKnownGood);
  const follower: ProfileFollower = new Follower({
    files: { profile: file },
    maxBytes: MAX_PROFILE_BYTES,
    load: ({ profile }) => parse(profile, file),
    options: resolveFollowOptions(options),
  });
  let fromCopy = false;
  await follower.start(async ({ error }) => {
    const value = copy === undefined ? undefined : await readCopy(copy);
    fromCopy = value !== undefined;
    if (fromCopy)
      warn('PROFILE_FROM_COPY', `${file} cannot be used (${error.code}); started with its copy ${copy}`);
    return value;
  });
  const loaded = (value: LoadedProfile) => {
    // Only of what somebody wrote by hand, and not of groups: that OpenSSL 3.0 lacks the newest is no news.
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
      options.annotations === undefined ? undefined : await followStamp(options.annotations, options);
    return new TlsProfile(follower, stamp, fromCopy);
  } catch (error) {
    follower.close();
    throw error;
  }
}
