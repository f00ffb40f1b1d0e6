import { createDecipheriv, pbkdf2Sync } from 'node:crypto';
import { DER_TAG, type DerReader, readOid, readSmallInteger } from '@handover/material';
import { CoreError } from '../error.ts';
import type { Password } from './password.ts';
import { pkcs12Key } from './pkcs12-key.ts';

/** Ten times what careful programs write; more would only keep the processor busy. */
const MOST_ITERATIONS = 2_000_000;

const PBES2 = '1.2.840.113549.1.5.13';
const PBKDF2 = '1.2.840.113549.1.5.12';
/** Of PKCS#12 itself, with SHA-1: what Java wrote before 8u301, and OpenSSL before 3. */
const SHA1_3DES = '1.2.840.113549.1.12.1.3';

const HMACS: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
};
const CIPHERS: Readonly<Record<string, { readonly name: string; readonly bytes: number }>> = {
  '2.16.840.1.101.3.4.1.2': { name: 'aes-128-cbc', bytes: 16 },
  '2.16.840.1.101.3.4.1.22': { name: 'aes-192-cbc', bytes: 24 },
  '2.16.840.1.101.3.4.1.42': { name: 'aes-256-cbc', bytes: 32 },
  '1.2.840.113549.3.7': { name: 'des-ede3-cbc', bytes: 24 },
};

export const unsupported = (what: string): never => {
  throw new CoreError(
    'KEYSTORE_UNSUPPORTED',
    `the keystore uses ${what}; write it anew with OpenSSL 3 or \`keytool -importkeystore\``,
  );
};

export const readIterations = (from: DerReader): number => {
  const iterations = readSmallInteger(from);
  return iterations > 0 && iterations <= MOST_ITERATIONS
    ? iterations
    : unsupported(`${iterations} iterations`);
};

/** PBES2 with PBKDF2: RFC 8018 §6.2. */
const pbes2 = (parameters: DerReader, password: Password) => {
  const kdf = parameters.enter(DER_TAG.sequence, 'key derivation');
  if (readOid(kdf) !== PBKDF2) unsupported('another key derivation than PBKDF2');
  const given = kdf.enter(DER_TAG.sequence, 'PBKDF2 parameters');
  const salt = given.enter(DER_TAG.octetString, 'salt').rest();
  const iterations = readIterations(given);
  if (given.peek() === DER_TAG.integer) readSmallInteger(given); // the length, which the cipher has
  const hmac = given.done ? 'sha1' : HMACS[readOid(given.enter(DER_TAG.sequence, 'hash'))];
  const scheme = parameters.enter(DER_TAG.sequence, 'cipher');
  const cipher = CIPHERS[readOid(scheme)];
  if (hmac === undefined || cipher === undefined) return unsupported('an unknown cipher or hash');
  const iv = scheme.enter(DER_TAG.octetString, 'initial value').rest();
  return { name: cipher.name, key: pbkdf2Sync(password.bytes, salt, iterations, cipher.bytes, hmac), iv };
};

const sha1With3Des = (parameters: DerReader, password: Password) => {
  const salt = parameters.enter(DER_TAG.octetString, 'salt').rest();
  const given = { text: password.utf16, salt, iterations: readIterations(parameters) };
  return {
    name: 'des-ede3-cbc',
    key: pkcs12Key('sha1', 'key', given, 24),
    iv: pkcs12Key('sha1', 'iv', given, 8),
  };
};

/** `from`: the AlgorithmIdentifier in front of the encrypted bytes. */
export const decrypt = (from: DerReader, bytes: Uint8Array, password: Password): Uint8Array => {
  const algorithm = readOid(from);
  const parameters = from.enter(DER_TAG.sequence, 'parameters');
  const { name, key, iv } =
    algorithm === PBES2
      ? pbes2(parameters, password)
      : algorithm === SHA1_3DES
        ? sha1With3Des(parameters, password)
        : unsupported('an old cipher such as RC2');
  try {
    const decipher = createDecipheriv(name, key, iv);
    return Buffer.concat([decipher.update(bytes), decipher.final()]);
  } catch (cause) {
    // ERR_CRYPTO_INVALID_IV is about the keystore; any other TypeError is our own fault.
    if (cause instanceof TypeError && (cause as NodeJS.ErrnoException).code !== 'ERR_CRYPTO_INVALID_IV')
      throw cause;
    throw new CoreError('KEYSTORE_PASSWORD', 'the password does not open the keystore; give the right file', {
      cause,
    });
  }
};
