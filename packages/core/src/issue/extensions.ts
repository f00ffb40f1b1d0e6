import { boolean, implicit, namedBits, octetString, oid, sequence } from './der-writer.ts';

export const extension = (id: string, critical: boolean, value: Uint8Array): Uint8Array =>
  critical ? sequence(oid(id), boolean(true), octetString(value)) : sequence(oid(id), octetString(value));

// Bits of KeyUsage, RFC 5280 §4.2.1.3.
const DIGITAL_SIGNATURE = 0;
const KEY_ENCIPHERMENT = 2;
const KEY_CERT_SIGN = 5;
const CRL_SIGN = 6;

// No pathLenConstraint: a zero on CA n makes leaf + cross-certificate fail in OpenSSL and GnuTLS.
export const CA_CONSTRAINTS = extension('2.5.29.19', true, sequence(boolean(true)));
export const LEAF_CONSTRAINTS = extension('2.5.29.19', true, sequence());
export const CA_KEY_USAGE = extension('2.5.29.15', true, namedBits(KEY_CERT_SIGN, CRL_SIGN));

/** RSA key exchange without forward secrecy still encrypts to the certificate's key; ECDSA keys cannot. */
export const LEAF_KEY_USAGE = {
  rsa: extension('2.5.29.15', true, namedBits(DIGITAL_SIGNATURE, KEY_ENCIPHERMENT)),
  ecdsa: extension('2.5.29.15', true, namedBits(DIGITAL_SIGNATURE)),
} as const;

export type Usage = 'server' | 'client';

const PURPOSES = {
  server: oid('1.3.6.1.5.5.7.3.1'),
  client: oid('1.3.6.1.5.5.7.3.2'),
} as const satisfies Record<Usage, Uint8Array>;

export const USAGES = ['server', 'client'] as const satisfies readonly Usage[];

/** In one order whatever was asked, so that the same request gives the same bytes. */
export const extendedKeyUsage = (usages: readonly Usage[]): Uint8Array =>
  extension(
    '2.5.29.37',
    false,
    sequence(...USAGES.filter((usage) => usages.includes(usage)).map((usage) => PURPOSES[usage])),
  );

// Both never critical: RFC 5280 §4.2.1.1 and §4.2.1.2.
export const subjectKeyIdentifier = (keyId: Uint8Array): Uint8Array =>
  extension('2.5.29.14', false, octetString(keyId));
export const authorityKeyIdentifier = (keyId: Uint8Array): Uint8Array =>
  extension('2.5.29.35', false, sequence(implicit(0, keyId)));

export const subjectAltName = (names: readonly Uint8Array[], critical: boolean): Uint8Array =>
  extension('2.5.29.17', critical, sequence(...names));
