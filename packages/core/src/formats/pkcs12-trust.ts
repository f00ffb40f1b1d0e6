import { createCipheriv, createHmac } from 'node:crypto';
import { nothing, octetString, oid, sequence, tlv } from '../issue/der-writer.ts';
import type { Password } from './password.ts';
import { algorithm, contentInfo, integer, PKCS12_OID, trustedBags, underPbes2 } from './pkcs12.ts';
import { type Pkcs12Hash, pkcs12Key } from './pkcs12-key.ts';
import { encryptRc2 } from './rc2.ts';
import { type StoreContent, saltsOf } from './store.ts';

// Truststores as trust-manager's Bundles ask for them: under one of three profiles, or open to everyone without a password.

export const PKCS12_PROFILES = ['LegacyRC2', 'LegacyDES', 'Modern2023'] as const;
export type Pkcs12Profile = (typeof PKCS12_PROFILES)[number];

type Trusted = Extract<StoreContent, { readonly trusted: unknown }>['trusted'];

const ITERATIONS = 2_048;
const ENCRYPTED_DATA = '1.2.840.113549.1.7.6';
const SHA1 = '1.3.14.3.2.26';

interface Scheme {
  readonly hash: Extract<Pkcs12Hash, 'sha1' | 'sha256'>;
  readonly hashOid: string;
  /** PKCS#12's own encryption: RFC 7292 appendix C. Without one: PBES2. */
  readonly own?: {
    readonly oid: string;
    readonly keyBytes: number;
    readonly encrypt: (key: Uint8Array, iv: Uint8Array, bytes: Uint8Array) => Uint8Array;
  };
}

const tripleDes = (key: Uint8Array, iv: Uint8Array, bytes: Uint8Array): Uint8Array => {
  const cipher = createCipheriv('des-ede3-cbc', key, iv);
  return Buffer.concat([cipher.update(bytes), cipher.final()]);
};

const SCHEMES: Readonly<Record<Pkcs12Profile, Scheme>> = {
  LegacyRC2: {
    hash: 'sha1',
    hashOid: SHA1,
    own: { oid: '1.2.840.113549.1.12.1.6', keyBytes: 5, encrypt: encryptRc2 },
  },
  LegacyDES: {
    hash: 'sha1',
    hashOid: SHA1,
    own: { oid: '1.2.840.113549.1.12.1.3', keyBytes: 24, encrypt: tripleDes },
  },
  Modern2023: { hash: 'sha256', hashOid: PKCS12_OID.sha256 },
};

const encrypted = (
  bags: Uint8Array,
  password: Password,
  { own, hash }: Scheme,
  salts: (purpose: string, bytes: number) => Uint8Array,
): { readonly scheme: Uint8Array; readonly encrypted: Uint8Array } => {
  if (own === undefined) return underPbes2(bags, password, salts('salt', 16), salts('iv', 16));
  const salt = salts('salt', 8);
  const given = { text: password.utf16, salt, iterations: ITERATIONS };
  const key = pkcs12Key(hash, 'key', given, own.keyBytes);
  const iv = pkcs12Key(hash, 'iv', given, 8);
  return {
    scheme: algorithm(own.oid, sequence(octetString(salt), integer(ITERATIONS))),
    encrypted: own.encrypt(key, iv, bags),
  };
};

/** EncryptedData of RFC 2315 §13; its content has the context tag 0 in place of its own. */
const encryptedInfo = (scheme: Uint8Array, content: Uint8Array): Uint8Array =>
  sequence(
    oid(ENCRYPTED_DATA),
    tlv(0xa0, sequence(integer(0), sequence(oid(PKCS12_OID.data), scheme, tlv(0x80, content)))),
  );

/** The same bytes for the same certificates, password and profile. Without a password there is neither encryption nor MAC. */
export const writeTrustStore = (
  trusted: Trusted,
  protection: { readonly password: Password; readonly profile: Pkcs12Profile } | undefined,
): Uint8Array => {
  const bags = trustedBags(trusted);
  if (protection === undefined) return sequence(integer(3), contentInfo(sequence(contentInfo(bags))));
  const { password, profile } = protection;
  const scheme = SCHEMES[profile];
  const salts = saltsOf({ trusted });
  const hidden = encrypted(bags, password, scheme, salts);
  const safe = sequence(encryptedInfo(hidden.scheme, hidden.encrypted));
  const salt = salts('mac', 8);
  const key = pkcs12Key(scheme.hash, 'mac', { text: password.utf16, salt, iterations: ITERATIONS });
  const mac = createHmac(scheme.hash, key).update(safe).digest();
  const digest = sequence(algorithm(scheme.hashOid, nothing()), octetString(mac));
  return sequence(integer(3), contentInfo(safe), sequence(digest, octetString(salt), integer(ITERATIONS)));
};
