import { createHash, createHmac } from 'node:crypto';
import { bytesOf, type Certificate, type PrivateKey } from '@handover/material';
import type { Password } from './password.ts';

/** A key with its certificate and what rides behind that. */
export interface KeyEntry {
  readonly alias: string;
  readonly key: PrivateKey;
  readonly chain: readonly [Certificate, ...Certificate[]];
}

/** What a keystore holds: one key with its chain, or CAs to trust. */
export type StoreContent =
  | { readonly identity: KeyEntry }
  | { readonly trusted: readonly { readonly alias: string; readonly certificate: Certificate }[] };

export type StoreWriter = (content: StoreContent, password: Password) => Uint8Array;

const lengthed = (bytes: Uint8Array): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

export const keyDer = (key: PrivateKey): Buffer => key.key.export({ type: 'pkcs8', format: 'der' });

/**
 * Salts that follow from the content, so that the same content gives the same file, and another content another salt. The private key
 * keys the hash: a salt tells nothing of it. The password is left out: a fast hash of it beside public certificates would make it easy to
 * guess (docs/decisions/0208).
 */
export const saltsOf = (content: StoreContent): ((purpose: string, bytes: number) => Buffer) => {
  const entries =
    'identity' in content
      ? content.identity.chain.map((certificate) => ({ alias: content.identity.alias, certificate }))
      : content.trusted;
  const sum = createHash('sha256');
  for (const { alias, certificate } of entries)
    sum.update(lengthed(Buffer.from(alias))).update(lengthed(certificate.der));
  const digest = sum.digest();
  const key = 'identity' in content ? keyDer(content.identity.key) : bytesOf('trusted certificates');
  return (purpose, bytes) =>
    createHmac('sha256', key)
      .update(lengthed(Buffer.from(purpose)))
      .update(digest)
      .digest()
      .subarray(0, bytes);
};
