import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import {
  type Bundle,
  type Certificate,
  HandoverError,
  type Instant,
  isExpired,
  parseCertificates,
} from '@handover/material';
import { contextOf, type Pems } from './client-source.ts';
import type { ClientMaterial } from './hot-client.ts';
import type { Contents } from './read-files.ts';
import { isoTime } from './status.ts';
import { readBundle } from './trust.ts';

export interface IdentityMaterial extends ClientMaterial {
  readonly leaf: Certificate;
  readonly bundle: Bundle | undefined;
}

export type IdentityLabel = 'cert' | 'key' | 'ca';

type Paths = { readonly cert: string; readonly key: string; readonly ca?: string | undefined };

function readChain(bytes: Buffer, path: string): readonly Certificate[] {
  if (bytes.toString().trim() === '') throw empty(path, 'a PEM certificate');
  try {
    return parseCertificates(bytes).certificates;
  } catch (cause) {
    if (!(cause instanceof HandoverError)) throw cause;
    throw new HandoverError(cause.code, `${path}: ${cause.message}`, { path, cause });
  }
}

const empty = (path: string, what: string): HandoverError =>
  new HandoverError('FILE_EMPTY', `${path} is empty; it should hold ${what}`, { path, retry: 'later' });

/** The cause is left out on purpose: OpenSSL's words about a key have no place in a log. */
function readKey(bytes: Buffer, path: string): { pem: string; belongsTo(leaf: Certificate): boolean } {
  const pem = bytes.toString('utf8');
  if (pem.trim() === '') throw empty(path, 'a PEM private key');
  try {
    const key = createPrivateKey(pem);
    return { pem, belongsTo: (leaf) => new X509Certificate(leaf.der).checkPrivateKey(key) };
  } catch {
    throw new HandoverError(
      'KEY_MALFORMED',
      `${path} holds no private key that can be used; write an unencrypted PEM key there`,
      { path },
    );
  }
}

function mustBeValid(leaf: Certificate, path: string, now: Instant): void {
  if (isExpired(leaf, now)) {
    throw new HandoverError(
      'CERTIFICATE_EXPIRED',
      `${path} expired at ${isoTime(leaf.notAfter)}; write a new one`,
      { path, retry: 'later' },
    );
  }
  if (leaf.notBefore > now) {
    throw new HandoverError(
      'CERTIFICATE_NOT_YET_VALID',
      `${path} is not valid before ${isoTime(leaf.notBefore)}; check this machine's clock`,
      { path, retry: 'later' },
    );
  }
}

function contextFor(pems: Pems, path: string): SecureContext {
  try {
    return contextOf(pems);
  } catch (cause) {
    throw new HandoverError('IDENTITY_REFUSED', `${path} is refused by OpenSSL; is the key too weak?`, {
      path,
      cause,
    });
  }
}

/** Certificate, key and bundle of one generation, checked against each other and the clock. */
export function readIdentity(
  paths: Paths,
  contents: Contents<IdentityLabel>,
  now: Instant,
): IdentityMaterial {
  const chain = readChain(contents.cert, paths.cert);
  const key = readKey(contents.key, paths.key);
  const bundle = paths.ca === undefined ? undefined : readBundle(contents.ca, paths.ca);
  const [leaf] = chain;
  if (leaf === undefined) throw empty(paths.cert, 'a PEM certificate');
  if (!key.belongsTo(leaf)) {
    throw new HandoverError(
      'KEY_MISMATCH',
      `the key in ${paths.key} does not belong to the certificate in ${paths.cert}; write both together`,
      { path: paths.key, retry: 'later' },
    );
  }
  mustBeValid(leaf, paths.cert, now);
  const pems = { cert: chain.map(({ pem }) => pem).join(''), key: key.pem, ca: bundle?.pem };
  return {
    leaf,
    bundle,
    pems,
    hash: [...chain.map(({ fingerprint }) => fingerprint), bundle?.hash ?? ''].join(' '),
    context: contextFor(pems, paths.cert),
  };
}
