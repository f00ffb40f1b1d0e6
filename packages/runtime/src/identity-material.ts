import type { SecureContext } from 'node:tls';
import {
  type Bundle,
  type Certificate,
  encodePem,
  type Instant,
  isExpired,
  iso,
  PrivateKey,
  parseCertificates,
  parsePem,
} from '@handover/material';
import { contextOf, type Pems } from './clients/client-source.ts';
import { RuntimeError } from './error.ts';
import { inFile, mustNotBeBlank } from './files/in-file.ts';
import type { FileContents } from './files/read-files.ts';
import type { ClientMaterial } from './hot-client.ts';
import { readBundle } from './trust.ts';

export interface IdentityMaterial extends ClientMaterial {
  readonly leaf: Certificate;
  /** Sent behind the leaf. */
  readonly behind: readonly Certificate[];
  readonly bundle: Bundle | undefined;
}

export type IdentityLabel = 'cert' | 'key' | 'ca';

type Paths = { readonly cert: string; readonly key: string; readonly ca?: string | undefined };

function readLeafFirst(bytes: Buffer, path: string): readonly [Certificate, ...Certificate[]] {
  mustNotBeBlank(bytes, path, 'a PEM certificate');
  const [leaf, ...rest] = inFile(path, () => parseCertificates(bytes)).certificates;
  if (leaf === undefined)
    throw new RuntimeError('PEM_NO_CERTIFICATE', `${path} holds no certificate`, { path });
  return [leaf, ...rest];
}

function readKey(bytes: Buffer, path: string): PrivateKey {
  mustNotBeBlank(bytes, path, 'a PEM private key');
  return inFile(path, () => PrivateKey.parse(bytes.toString('utf8'), path));
}

/** Key and chain in one file, as Kubernetes projects pod certificates: each part alone, to be read as if it were a file of its own. */
function splitBundle(bytes: Buffer, path: string): { readonly certBytes: Buffer; readonly keyBytes: Buffer } {
  mustNotBeBlank(bytes, path, 'a PEM private key and its certificates');
  const { blocks } = inFile(path, () => parsePem(bytes));
  const those = (isCertificate: boolean): Buffer =>
    Buffer.from(
      blocks
        .filter(({ label }) => (label === 'CERTIFICATE') === isCertificate)
        .map(({ label, der }) => encodePem(label, der))
        .join(''),
    );
  const [certBytes, keyBytes] = [those(true), those(false)];
  if (certBytes.length === 0)
    throw new RuntimeError('PEM_NO_CERTIFICATE', `${path} holds no certificate`, { path });
  if (keyBytes.length === 0)
    throw new RuntimeError('KEY_MISSING', `${path} holds no private key; give PEM text`, { path });
  return { certBytes, keyBytes };
}

function mustBeValid(leaf: Certificate, path: string, now: Instant): void {
  if (isExpired(leaf, now)) {
    throw new RuntimeError(
      'CERTIFICATE_EXPIRED',
      `${path} expired at ${iso(leaf.notAfter)}; write a new one`,
      { path, retry: 'later' },
    );
  }
  if (leaf.notBefore > now) {
    throw new RuntimeError(
      'CERTIFICATE_NOT_YET_VALID',
      `${path} is not valid before ${iso(leaf.notBefore)}; check this machine's clock`,
      { path, retry: 'later' },
    );
  }
}

function contextFor(pems: Pems, path: string): SecureContext {
  try {
    return contextOf(pems);
  } catch (cause) {
    if (cause instanceof TypeError) throw cause; // ours: OpenSSL's refusals are plain errors
    throw new RuntimeError('IDENTITY_REFUSED', `${path} is refused by OpenSSL; is the key too weak?`, {
      path,
      cause,
    });
  }
}

/** Checks certificate, key and bundle against each other and the clock. */
export function readIdentity(
  paths: Paths,
  contents: FileContents<IdentityLabel>,
  now: Instant,
): IdentityMaterial {
  const { certBytes, keyBytes } =
    paths.cert === paths.key
      ? splitBundle(contents.cert, paths.cert)
      : { certBytes: contents.cert, keyBytes: contents.key };
  const chain = readLeafFirst(certBytes, paths.cert);
  const key = readKey(keyBytes, paths.key);
  const bundle = paths.ca === undefined ? undefined : readBundle(contents.ca, paths.ca);
  const [leaf, ...behind] = chain;
  if (!key.matches(leaf)) {
    throw new RuntimeError(
      'KEY_MISMATCH',
      `the key in ${paths.key} does not match the certificate in ${paths.cert}; write both together`,
      { path: paths.key, retry: 'later' },
    );
  }
  mustBeValid(leaf, paths.cert, now);
  const pems = { cert: chain.map(({ pem }) => pem).join(''), key: key.exportPem(), ca: bundle?.pem };
  return {
    leaf,
    behind,
    bundle,
    pems,
    hash: [...chain.map(({ fingerprint }) => fingerprint), bundle?.hash ?? ''].join(' '),
    context: contextFor(pems, paths.cert),
  };
}
