import { CoreError } from '../error.ts';
import { boolean, implicit, namedBits, octetString, oid, sequence, set, utf8String } from './der-writer.ts';

const COMMON_NAME = oid('2.5.4.3');
const ORGANIZATION = oid('2.5.4.10');
const LONGEST = 64; // ub-common-name and ub-organization-name, RFC 5280 appendix A.1, in characters

const attribute = (type: Uint8Array, what: string, value: string): Uint8Array => {
  const length = [...value].length;
  // \p{Cc}: a NUL or a line break in a name has fooled verifiers and logs; \p{Cs}: half a surrogate pair has no UTF-8.
  if (length === 0 || length > LONGEST || /[\p{Cc}\p{Cs}]/u.test(value)) {
    throw new CoreError(
      'ISSUE_SUBJECT',
      `subject ${what} ${JSON.stringify(value.slice(0, 80))} must be 1 to ${LONGEST} characters without control characters`,
    );
  }
  return set(sequence(type, utf8String(value)));
};

export interface Subject {
  readonly commonName?: string | undefined;
  readonly organizations?: readonly string[] | undefined;
}

/** A distinguished name, DER: organisations, then the common name. */
export const distinguishedName = ({ commonName, organizations = [] }: Subject): Uint8Array =>
  sequence(
    ...organizations.map((value) => attribute(ORGANIZATION, 'organization', value)),
    ...(commonName === undefined ? [] : [attribute(COMMON_NAME, 'commonName', commonName)]),
  );

/**
 * `<name> <n> <8 hex of its SKI>`. A name too long for the field is cut: the key identifier, not the name, is what
 * keeps two generations apart.
 */
export const caCommonName = (name: string, generation: number, keyId: Uint8Array): string => {
  if (!Number.isSafeInteger(generation) || generation < 1) {
    throw new CoreError('ISSUE_GENERATION', `a generation is a whole number from 1 on, got ${generation}`);
  }
  if (name === '') throw new CoreError('ISSUE_SUBJECT', 'a CA needs a name; use the one of its Authority');
  const suffix = ` ${generation} ${Buffer.from(keyId.subarray(0, 4)).toString('hex')}`;
  return [...name].slice(0, LONGEST - suffix.length).join('') + suffix;
};

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
