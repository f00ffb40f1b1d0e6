import { resolve } from 'node:path';
import { type Bundle, parseBundle } from '@handover/material';
import { contextOf } from './client-source.ts';
import { follow } from './follower.ts';
import { type ClientMaterial, HotClient } from './hot-client.ts';
import { inFile, mustNotBeBlank } from './in-file.ts';
import { type FollowOptions, resolveFollowOptions } from './options.ts';
import type { SourceStatus } from './status.ts';

/** A bundle of every public root is 0.25 MB; Kubernetes keeps objects under 1.5 MB. */
const MAX_BUNDLE_BYTES = 4 * 1024 * 1024;

/** How {@link openTrust} follows a CA bundle. */
export interface TrustOptions extends FollowOptions {
  /** False: servers are not verified, and no file is read. Default true. */
  readonly verify?: boolean;
}

export interface TrustMaterial extends ClientMaterial {
  readonly bundle: Bundle | undefined;
}

/** Parses the bytes of a bundle file. */
export function readBundle(bytes: Buffer, path: string): Bundle {
  mustNotBeBlank(bytes, path, 'PEM certificates');
  return inFile(path, () => parseBundle(bytes, path));
}

/** The material of a bundle file's bytes. */
export function trustMaterial(bytes: Buffer, path: string): TrustMaterial {
  const bundle = readBundle(bytes, path);
  const pems = { ca: bundle.pem };
  return { bundle, hash: bundle.hash, pems, context: contextOf(pems) };
}

/** A CA bundle that follows its file. */
export class Trust extends HotClient<'ca', TrustMaterial> {
  /** The CA bundle in use, newest certificate first. */
  get pem(): string {
    return this.follower.loaded.value.bundle?.pem ?? '';
  }

  /** Hex SHA-256 of the set of CA certificates: the same for the same CAs in any order. */
  get hash(): string {
    return this.follower.loaded.value.hash;
  }

  override status(): SourceStatus {
    const { bundle, hash } = this.follower.loaded.value;
    return {
      kind: 'trust',
      ...this.commonStatus(),
      hash,
      anchors: (bundle?.certificates ?? []).map(({ fingerprint }) => fingerprint),
    };
  }
}

/**
 * Reads a CA bundle and follows its file. Throws `HandoverError` with the path when the first load fails.
 *
 * @example
 * ```ts
 * import { openTrust } from '@handover/runtime';
 *
 * const trust = await openTrust('/etc/mesh/ca.crt');
 * const response = await trust.fetch('https://billing.mesh.svc/');
 * console.log(response.status); // 200
 * ```
 */
export async function openTrust(path: string, options: TrustOptions = {}): Promise<Trust> {
  const verify = options.verify ?? true;
  const file = resolve(path);
  const follower = await follow<'ca', TrustMaterial>({
    files: (verify ? { ca: file } : {}) as Record<'ca', string>,
    maxBytes: MAX_BUNDLE_BYTES,
    load: ({ ca }) => {
      if (!verify) return { bundle: undefined, hash: 'unverified', pems: {}, context: contextOf({}) };
      return trustMaterial(ca, file);
    },
    options: resolveFollowOptions(options),
  });
  return new Trust(follower, verify);
}
