import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import * as tls from 'node:tls';
import { type Bundle, type Certificate, parseBundle } from '@handover/material';
import { mustBeBoolean, mustBePath } from './arguments.ts';
import { contextOf } from './clients/client-source.ts';
import { RuntimeError } from './error.ts';
import { follow } from './files/follower.ts';
import { inFile, mustNotBeBlank } from './files/in-file.ts';
import type { FileContents } from './files/read-files.ts';
import { type ClientMaterial, HotClient } from './hot-client.ts';
import { type FollowOptions, resolveFollowOptions } from './options.ts';
import type { SourceStatus } from './status/status.ts';

/**
 * Roots that a program can trust beside its own files: Node's own, or those of the operating system.
 *
 * @example
 * ```ts
 * import { openTrust, type Roots } from '@handover/runtime';
 *
 * const roots: Roots = 'bundled';
 * const trust = await openTrust(['/etc/mesh/ca.crt', roots]);
 * console.log((trust.status().anchors?.length ?? 0) > 100); // true
 * ```
 */
export type Roots = 'bundled' | 'system';

/** Where Debian, Fedora, Alpine and macOS keep the roots in one file. */
const SYSTEM_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
] as const;

/** The system's file of roots, which is followed like any other; `SSL_CERT_FILE` names it as for OpenSSL. */
function systemRootsFile(): string {
  const { SSL_CERT_FILE: named } = process.env;
  const found = named || SYSTEM_FILES.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new RuntimeError(
    'OPTION_INVALID',
    "openTrust: 'system' found no file of roots; install ca-certificates, set SSL_CERT_FILE, or use 'bundled'",
  );
}

const bundledRoots = (): string => tls.rootCertificates.join('\n');

/** A bundle of every public root is 0.25 MB; Kubernetes keeps objects under 1.5 MB. */
const MAX_BUNDLE_BYTES = 4 * 1024 * 1024;

/**
 * How {@link openTrust} follows a CA bundle.
 *
 * @example
 * ```ts
 * import { openTrust, type TrustOptions } from '@handover/runtime';
 *
 * const options: TrustOptions = { waitFor: '30s', drainMs: 60_000 };
 * const trust = await openTrust('/etc/mesh/ca.crt', options);
 * ```
 */
export interface TrustOptions extends FollowOptions {
  /** False: servers are not verified, and no file is read. Default true. */
  readonly verify?: boolean | undefined;
}

export interface TrustMaterial extends ClientMaterial {
  readonly bundle: Bundle | undefined;
}

/** OpenSSL ends a chain at a CA or at a self-signed certificate, which need not be a CA: a pinned server, a root of version 1. */
const isAnchor = ({ isCa, selfIssued }: Certificate): boolean => isCa || selfIssued;

/** Fingerprints of the certificates that a chain can end at. A leaf beside them is trusted for nothing, so it is no evidence of a CA. */
export const anchorsOf = (bundle: Bundle | undefined): readonly string[] =>
  (bundle?.certificates ?? []).filter(isAnchor).map(({ fingerprint }) => fingerprint);

/** Parses the bytes of a bundle file. */
export function readBundle(bytes: Buffer, path: string): Bundle {
  mustNotBeBlank(bytes, path, 'PEM certificates');
  const bundle = inFile(path, () => parseBundle(bytes, path));
  if (!bundle.certificates.some(isAnchor)) {
    throw new RuntimeError(
      'BUNDLE_NO_CA',
      `${path} holds no CA certificate, only certificates that a CA issued; write the certificate of their CA`,
      { path },
    );
  }
  return bundle;
}

/** The material of a bundle file's bytes. */
export function trustMaterial(bytes: Buffer, path: string): TrustMaterial {
  const bundle = readBundle(bytes, path);
  const pems = { ca: bundle.pem };
  return { bundle, hash: bundle.hash, pems, context: contextOf(pems) };
}

/**
 * A CA bundle that follows its file.
 *
 * @example
 * ```ts
 * import type { Trust } from '@handover/runtime';
 *
 * const billing = async (mesh: Trust) => (await mesh.fetch('https://billing.mesh.svc/')).status;
 * console.log(await billing(trust)); // 200
 * ```
 */
export class Trust extends HotClient<string, TrustMaterial> {
  /** The CA bundle in use, newest certificate first. */
  get pem(): string {
    return this.follower.loaded.value.bundle?.pem ?? '';
  }

  /** Hex SHA-256 of the set of CA certificates: the same for the same CAs in any order. */
  get hash(): string {
    return this.follower.loaded.value.hash;
  }

  override status(): SourceStatus {
    const { bundle, hash } = this.follower.inUse.value;
    return {
      kind: 'trust',
      ...this.commonStatus(),
      hash,
      anchors: anchorsOf(bundle),
    };
  }
}

/** Files to follow, by label, and the roots that come from no file. */
function placesOf(paths: readonly string[]): {
  readonly files: Record<string, string>;
  readonly roots: string;
} {
  const files: Record<string, string> = {};
  let roots = '';
  for (const [index, path] of paths.entries()) {
    mustBePath(path, 'openTrust');
    if (path === 'bundled') roots = bundledRoots();
    else files[`ca${index}`] = resolve(path === 'system' ? systemRootsFile() : path);
  }
  return { files, roots };
}

function readBundles(
  files: Readonly<Record<string, string>>,
  contents: FileContents<string>,
  roots: string,
): Bundle {
  const read = Object.entries(files).map(([label, path]) =>
    readBundle(contents[label] ?? Buffer.alloc(0), path),
  );
  const [only] = read;
  if (only !== undefined && read.length === 1 && roots === '') return only;
  return parseBundle(Buffer.from([...read.map(({ pem }) => pem), roots].join('\n')));
}

/**
 * Reads a CA bundle and follows its file. Throws `HandoverError` with the path when the first load fails. A list of paths is
 * trusted together; in it `'system'` stands for the roots of the operating system, and `'bundled'` for those of Node.
 *
 * @example
 * ```ts
 * import { openTrust } from '@handover/runtime';
 *
 * const trust = await openTrust('/etc/mesh/ca.crt');
 * const response = await trust.fetch('https://billing.mesh.svc/');
 * console.log(response.status); // 200
 *
 * const beside = await openTrust(['/etc/mesh/ca.crt', 'bundled'], { waitFor: '30s' });
 * console.log(beside.status().loads); // 1
 * ```
 */
export async function openTrust(
  path: string | readonly (string | Roots)[],
  options: TrustOptions = {},
): Promise<Trust> {
  const followed = resolveFollowOptions(options, 'openTrust', ['verify']);
  mustBeBoolean(options.verify, 'openTrust', 'verify');
  const verify = options.verify ?? true;
  const { files, roots } = placesOf(typeof path === 'object' && path !== null ? path : [path]);
  if (Object.keys(files).length === 0 && roots === '') {
    throw new RuntimeError('OPTION_INVALID', 'openTrust: the list of paths must hold at least one');
  }
  const follower = await follow<string, TrustMaterial>({
    files: verify ? files : {},
    maxBytes: MAX_BUNDLE_BYTES,
    load: (contents) => {
      if (!verify) return { bundle: undefined, hash: 'unverified', pems: {}, context: contextOf({}) };
      const bundle = readBundles(files, contents, roots);
      const pems = { ca: bundle.pem };
      return { bundle, hash: bundle.hash, pems, context: contextOf(pems) };
    },
    options: followed,
  });
  return new Trust(follower, verify);
}
