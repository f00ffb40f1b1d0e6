import { createCipheriv, createHmac, pbkdf2Sync } from 'node:crypto';
import { type Certificate, DER_TAG } from '@handover/material';
import {
  explicit,
  nothing,
  octetString,
  oid,
  sequence,
  set,
  tlv,
  unsignedInteger,
} from '../issue/der-writer.ts';
import type { Password } from './password.ts';
import { pkcs12Key } from './pkcs12-key.ts';
import { keyDer, type StoreContent, type StoreWriter, saltsOf } from './store.ts';

// PKCS#12 (RFC 7292) as OpenSSL 3 and Java write it today: the key under PBES2 with AES-256, the file under a MAC with SHA-256.
// Certificates are not secret and are not encrypted, so that a truststore opens without its password, too.

export const PKCS12_OID = {
  data: '1.2.840.113549.1.7.1',
  keyBag: '1.2.840.113549.1.12.10.1.2',
  certBag: '1.2.840.113549.1.12.10.1.3',
  x509: '1.2.840.113549.1.9.22.1',
  friendlyName: '1.2.840.113549.1.9.20',
  localKeyId: '1.2.840.113549.1.9.21',
  // Java takes a certificate without a key for a trust anchor only with this attribute: PKCS12KeyStore of OpenJDK.
  trustedKeyUsage: '2.16.840.1.113894.746875.1.1',
  anyExtendedKeyUsage: '2.5.29.37.0',
  pbes2: '1.2.840.113549.1.5.13',
  pbkdf2: '1.2.840.113549.1.5.12',
  hmacSha256: '1.2.840.113549.2.9',
  aes256Cbc: '2.16.840.1.101.3.4.1.42',
  sha256: '2.16.840.1.101.3.4.2.1',
} as const;

/** What Java 17 writes; OpenSSL 3 writes 2,048. */
const ITERATIONS = 10_000;

export const integer = (value: number): Uint8Array => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return unsignedInteger(bytes);
};

export const algorithm = (name: string, parameters: Uint8Array): Uint8Array =>
  sequence(oid(name), parameters);

/** DER orders the members of a SET OF by their bytes: X.690 §11.6. */
const setOf = (...members: readonly Uint8Array[]): Uint8Array => set(...[...members].sort(Buffer.compare));

const attribute = (name: string, value: Uint8Array): Uint8Array => sequence(oid(name), set(value));
const friendlyName = (alias: string): Uint8Array =>
  attribute(PKCS12_OID.friendlyName, tlv(DER_TAG.bmpString, Buffer.from(alias, 'utf16le').swap16()));

const bag = (kind: string, value: Uint8Array, attributes: readonly Uint8Array[]): Uint8Array =>
  sequence(oid(kind), explicit(0, value), ...(attributes.length === 0 ? [] : [setOf(...attributes)]));

const certBag = (der: Uint8Array, attributes: readonly Uint8Array[]): Uint8Array =>
  bag(PKCS12_OID.certBag, sequence(oid(PKCS12_OID.x509), explicit(0, octetString(der))), attributes);

/** Bytes under PBES2, and the algorithm as the file names it: RFC 8018 §6.2. */
export const underPbes2 = (
  bytes: Uint8Array,
  password: Password,
  salt: Uint8Array,
  iv: Uint8Array,
): { readonly scheme: Uint8Array; readonly encrypted: Uint8Array } => {
  const derived = pbkdf2Sync(password.bytes, salt, ITERATIONS, 32, 'sha256');
  const cipher = createCipheriv('aes-256-cbc', derived, iv);
  const kdf = algorithm(
    PKCS12_OID.pbkdf2,
    sequence(
      octetString(salt),
      integer(ITERATIONS),
      integer(32),
      algorithm(PKCS12_OID.hmacSha256, nothing()),
    ),
  );
  const scheme = algorithm(PKCS12_OID.pbes2, sequence(kdf, algorithm(PKCS12_OID.aes256Cbc, octetString(iv))));
  return { scheme, encrypted: Buffer.concat([cipher.update(bytes), cipher.final()]) };
};

/** EncryptedPrivateKeyInfo. */
const shrouded = (key: Uint8Array, password: Password, salt: Uint8Array, iv: Uint8Array): Uint8Array => {
  const { scheme, encrypted } = underPbes2(key, password, salt, iv);
  return sequence(scheme, octetString(encrypted));
};

export const contentInfo = (content: Uint8Array): Uint8Array =>
  sequence(oid(PKCS12_OID.data), explicit(0, octetString(content)));

/** CAs to trust, as one part of the file. */
export const trustedBags = (
  trusted: readonly { readonly alias: string; readonly certificate: Certificate }[],
): Uint8Array => {
  const trust = attribute(PKCS12_OID.trustedKeyUsage, oid(PKCS12_OID.anyExtendedKeyUsage));
  return sequence(
    ...trusted.map(({ alias, certificate }) => certBag(certificate.der, [friendlyName(alias), trust])),
  );
};

/** Certificates and key apart: readers such as Go's expect two parts with a key, and one without. */
const safesOf = (content: StoreContent, password: Password): readonly Uint8Array[] => {
  if ('trusted' in content) return [trustedBags(content.trusted)];
  const { alias, key, chain } = content.identity;
  const salts = saltsOf(content);
  // Java and OpenSSL find the certificate of a key by this.
  const both = [friendlyName(alias), attribute(PKCS12_OID.localKeyId, octetString(salts('localKeyId', 20)))];
  const [leaf, ...behind] = chain;
  const encrypted = shrouded(keyDer(key), password, salts('salt', 16), salts('iv', 16));
  return [
    sequence(certBag(leaf.der, both), ...behind.map(({ der }) => certBag(der, []))),
    sequence(bag(PKCS12_OID.keyBag, encrypted, both)),
  ];
};

/** The same bytes for the same content and password. */
export const writePkcs12: StoreWriter = (content, password) => {
  const safe = sequence(...safesOf(content, password).map(contentInfo));
  const salt = saltsOf(content)('mac', 16);
  const key = pkcs12Key('sha256', 'mac', { text: password.utf16, salt, iterations: ITERATIONS });
  const mac = createHmac('sha256', key).update(safe).digest();
  const digest = sequence(algorithm(PKCS12_OID.sha256, nothing()), octetString(mac));
  return sequence(integer(3), contentInfo(safe), sequence(digest, octetString(salt), integer(ITERATIONS)));
};
