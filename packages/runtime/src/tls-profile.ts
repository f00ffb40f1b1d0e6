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

export interface TlsProfileOptions extends FollowOptions {
  /** A copy of the last good profile is kept here (0600) and used when the file cannot be at the next start. */
  readonly lastKnownGood?: string;
  /** A file with the hash the pod was stamped with (downward API). Until it equals ours, the profile is not ready. */
  readonly expectedHash?: string;
}

type ProfileFollower = Follower<'profile', ResolvedTlsProfile>;

function parse(bytes: Buffer, path: string): ResolvedTlsProfile {
  mustNotBeBlank(bytes, path, 'a TLS profile');
  return inFile(path, () => parseTlsProfileJson(bytes.toString('utf8'), tlsSupport()));
}

/** A TLS profile that follows its file: versions, ciphers and groups. */
export class TlsProfile extends Followed<'profile', ResolvedTlsProfile> {
  readonly #follower: ProfileFollower;
  readonly #expected: Follower<'expected', Material> | undefined;
  readonly #fromCopy: boolean;

  /** @internal use {@link openTlsProfile} */
  constructor(
    follower: ProfileFollower,
    expected: Follower<'expected', Material> | undefined,
    fromCopy: boolean,
  ) {
    super(follower);
    this.#follower = follower;
    this.#expected = expected;
    this.#fromCopy = fromCopy;
  }

  /** Hex SHA-256 of the profile's canonical JSON: what pod templates are stamped with. */
  get hash(): string {
    return this.#follower.loaded.value.hash;
  }

  /** What this OpenSSL cannot honour, by name. */
  get warnings(): readonly TlsProfileWarning[] {
    return this.#follower.loaded.value.warnings;
  }

  /** False while the loaded profile is another one than the pod was stamped with. For a readiness probe. */
  get ready(): boolean {
    const expected = this.#expected?.loaded.value.hash ?? '';
    return expected === '' || expected === this.hash;
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
      ...(this.#expected === undefined ? {} : { ready: this.ready }),
    };
  }
}

const warn = (code: string, message: string): void =>
  process.emitWarning(message, { type: 'HandoverWarning', code });

/** Keeps the copy up to date, one write at a time. That it cannot be written is no reason not to serve. */
function keepCopy(path: string): (profile: ResolvedTlsProfile) => Promise<void> {
  let queue = Promise.resolve();
  return ({ json }) => {
    queue = queue.then(() =>
      writeAtomically(path, `${json}\n`, 0o600).catch((cause: NodeJS.ErrnoException) =>
        warn(
          'PROFILE_COPY_FAILED',
          `the last known good TLS profile cannot be kept at ${path} (${cause.code})`,
        ),
      ),
    );
    return queue;
  };
}

async function readCopy(path: string): Promise<ResolvedTlsProfile | undefined> {
  try {
    const real = await new PathResolver().resolve(path);
    return parse(await readSmallFile(path, real, MAX_PROFILE_BYTES), path);
  } catch {
    return undefined; // the file's own error says what to do
  }
}

async function followExpected(path: string, options: FollowOptions): Promise<Follower<'expected', Material>> {
  const follower = new Follower<'expected', Material>({
    files: { expected: resolve(path) },
    maxBytes: MAX_PROFILE_BYTES,
    load: ({ expected }) => ({ hash: expected.toString('utf8').trim().replace(/^"|"$/g, '') }),
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
  await follower.start(async () => {
    const value = copy === undefined ? undefined : await readCopy(copy);
    fromCopy = value !== undefined;
    return value;
  });
  const loaded = (value: ResolvedTlsProfile) => {
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
    const expected =
      options.expectedHash === undefined ? undefined : await followExpected(options.expectedHash, options);
    return new TlsProfile(follower, expected, fromCopy);
  } catch (error) {
    follower.close();
    throw error;
  }
}
