import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { inspect } from 'node:util';
import type { Certificate } from './certificate.ts';
import { MaterialError, type MaterialErrorCode } from './error.ts';
import { type PemBlock, parsePem } from './pem.ts';

/** A secret that cannot be printed, logged or serialised by accident: a fixed word stands for it. */
export abstract class Unprintable<Word extends string = string> {
  readonly #word: Word;

  constructor(word: Word) {
    this.#word = word;
  }

  toString(): Word {
    return this.#word;
  }

  toJSON(): Word {
    return this.#word;
  }

  [inspect.custom](): Word {
    return this.#word;
  }
}

const ENCODINGS: Readonly<Record<string, 'pkcs8' | 'pkcs1' | 'sec1'>> = {
  'PRIVATE KEY': 'pkcs8',
  'RSA PRIVATE KEY': 'pkcs1',
  'EC PRIVATE KEY': 'sec1',
};

const CURVE_NAMES: Readonly<Record<string, string>> = {
  prime256v1: 'P256',
  secp384r1: 'P384',
  secp521r1: 'P521',
};

/** Named as in `Certificate.keyAlgorithm`. */
const algorithmOf = (key: KeyObject): string => {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === 'ec')
    return `ECDSA-${CURVE_NAMES[details?.namedCurve ?? ''] ?? details?.namedCurve ?? 'explicit'}`;
  if (type === 'rsa') return `RSA-${details?.modulusLength ?? 0}`;
  if (type === 'rsa-pss') return `RSA-PSS-${details?.modulusLength ?? 0}`;
  if (type === 'ed25519') return 'Ed25519';
  if (type === 'ed448') return 'Ed448';
  return type ?? 'unknown';
};

/** A private key that cannot be printed, logged or serialised by accident. */
export class PrivateKey extends Unprintable<'[private key]'> {
  readonly #key: KeyObject;
  /** `ECDSA-P256`, `RSA-2048`, … */
  readonly algorithm: string;

  private constructor(key: KeyObject) {
    super('[private key]');
    this.#key = key;
    this.algorithm = algorithmOf(key);
  }

  static of(key: KeyObject): PrivateKey {
    if (key.type !== 'private')
      throw new MaterialError('KEY_NOT_PRIVATE', `a private key is needed, not a ${key.type} one`);
    return new PrivateKey(key);
  }

  /** Reads exactly one unencrypted private key: PKCS#8, PKCS#1 or SEC 1. `path` is only for the messages. */
  static parse(pem: string | Uint8Array, path = 'key'): PrivateKey {
    const fail = (code: MaterialErrorCode, message: string): never => {
      throw new MaterialError(code, `${path}: ${message}`, { path });
    };
    const found: PemBlock[] = [];
    // RFC 1421 §4.6.1.1, as old versions of OpenSSL and ssh-keygen write it: its header lines are no base64.
    if (
      /^Proc-Type: 4,ENCRYPTED\r?$/m.test(typeof pem === 'string' ? pem : Buffer.from(pem).toString('latin1'))
    )
      fail('KEY_ENCRYPTED', 'the key is encrypted; store it without a passphrase');
    // `openssl ecparam -genkey` writes the curve before the key
    for (const block of parsePem(pem).blocks) {
      if (block.label === 'EC PARAMETERS') continue;
      if (block.label === 'ENCRYPTED PRIVATE KEY')
        fail('KEY_ENCRYPTED', 'the key is encrypted; store it without a passphrase');
      if (ENCODINGS[block.label] === undefined)
        fail('KEY_LABEL_REFUSED', `holds a ${block.label}; only a private key belongs there`);
      found.push(block);
    }
    const [block, second] = found;
    if (block === undefined) return fail('KEY_MISSING', 'holds no private key; give PEM text');
    if (second !== undefined) fail('KEY_AMBIGUOUS', 'holds more than one private key; keep one');
    const input = {
      key: Buffer.from(block.der),
      format: 'der',
      type: ENCODINGS[block.label] ?? 'pkcs8',
    } as const;
    // On Node 20 a failed TLS context leaves its error in OpenSSL's queue, and the next key is refused for it once. Only a
    // key that is refused twice is bad.
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        return new PrivateKey(createPrivateKey(input));
      } catch {
        // The cause is left out: an error must not hold anything derived from the key.
      }
    }
    return fail('KEY_MALFORMED', `the ${block.label} cannot be read; write it again`);
  }

  /** For node:crypto and node:tls. */
  get key(): KeyObject {
    return this.#key;
  }

  /** PKCS#8. Only for a Secret, or a file with mode 0600. */
  exportPem(): string {
    return this.#key.export({ type: 'pkcs8', format: 'pem' }).toString();
  }

  /** Whether the certificate is for this key. */
  matches(certificate: Certificate): boolean {
    // On Node 20 `equals` on keys of two types leaves an error in OpenSSL's queue, and reading the next key fails.
    if (certificate.keyAlgorithm !== this.algorithm) return false;
    return certificate.openssl.publicKey?.equals(createPublicKey(this.#key)) ?? false;
  }
}
