import { hash, type KeyObject, X509Certificate } from 'node:crypto';
import { DerReader, readBitString, readIntegerHex, readSmallInteger, TAG } from './der.ts';
import { HandoverError, MaterialError } from './error.ts';
import { type Extensions, NO_EXTENSIONS, readExtensions } from './extensions.ts';
import { type Name, readName } from './name.ts';
import { encodePem, type Junk, scanPem } from './pem.ts';
import { readKeyAlgorithm, readSignatureAlgorithm } from './public-key.ts';
import { type Instant, instant } from './time.ts';

interface Parsed {
  readonly x509: X509Certificate;
  readonly publicKey: KeyObject;
}

/** One certificate as OpenSSL reads it. Certificates never change, so each answer is computed once and kept. */
class OpenSslCertificate {
  readonly #der: Uint8Array;
  /** `null` when OpenSSL cannot read the certificate or its key. */
  #parsed: Parsed | null | undefined;
  #verdicts: WeakMap<OpenSslCertificate, boolean> | undefined;

  constructor(der: Uint8Array) {
    this.#der = der;
  }

  /** Undefined when OpenSSL cannot use the key. */
  get publicKey(): KeyObject | undefined {
    return this.#parse()?.publicKey;
  }

  /** Whether the issuer's key made this certificate's signature. */
  isSignedBy(issuer: OpenSslCertificate): boolean {
    this.#verdicts ??= new WeakMap();
    const verdict = this.#verdicts.get(issuer) ?? this.#verify(issuer.publicKey);
    this.#verdicts.set(issuer, verdict);
    return verdict;
  }

  #parse(): Parsed | null {
    if (this.#parsed !== undefined) return this.#parsed;
    try {
      const x509 = new X509Certificate(this.#der);
      this.#parsed = { x509, publicKey: x509.publicKey };
    } catch {
      this.#parsed = null; // an unknown algorithm, or a point that is not on its curve
    }
    return this.#parsed;
  }

  #verify(key: KeyObject | undefined): boolean {
    try {
      return key !== undefined && this.#parse()?.x509.verify(key) === true;
    } catch {
      return false; // the key is of another type than the signature
    }
  }
}

const DIGITS = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/;

/** Reads a Time in one of the two forms that RFC 5280 §4.1.2.5 allows: UTC, to the second. */
export function readTime(from: DerReader): Instant {
  const tag = from.peek();
  if (tag !== TAG.utcTime && tag !== TAG.generalizedTime) from.fail('time expected');
  const content = from.element();
  const length = content.end - content.at;
  const match = length === (tag === TAG.utcTime ? 13 : 15) ? DIGITS.exec(content.latin1()) : null;
  if (match === null) return content.fail('time that is not YYMMDDHHMMSSZ or YYYYMMDDHHMMSSZ');
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  // 00–49 is 20xx, 50–99 is 19xx: RFC 5280 §4.1.2.5.1
  const fullYear = tag === TAG.generalizedTime ? year : year + (year < 50 ? 2000 : 1900);
  const date = new Date(0);
  date.setUTCFullYear(fullYear, month - 1, day); // Date.UTC would move the years 0–99 into the twentieth century
  date.setUTCHours(hour, minute, second);
  const real =
    date.getUTCFullYear() === fullYear &&
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    hour < 24 &&
    minute < 60 &&
    second < 60;
  if (!real) content.fail('time that does not exist');
  return instant(date.getTime());
}

/** A certificate, read strictly. It never changes. */
export interface Certificate extends Extensions {
  readonly der: Uint8Array;
  readonly pem: string;
  /** SHA-256 of the DER, lower-case hex without colons. */
  readonly fingerprint: string;
  /** RFC 4514 text, e.g. `CN=mesh 1 ab12cd34`. */
  readonly subject: string;
  readonly issuer: string;
  /** Equal for names that a verifier calls equal. */
  readonly subjectKey: string;
  readonly issuerKey: string;
  /** Hex, with `-` for a negative number. */
  readonly serial: string;
  readonly version: 1 | 2 | 3;
  readonly notBefore: Instant;
  /** Expired from this instant on, as OpenSSL counts. */
  readonly notAfter: Instant;
  /** `ECDSA-P256`, `RSA-2048`, `Ed25519`, or an OID. */
  readonly keyAlgorithm: string;
  /** `ECDSA-SHA256`, `RSA-SHA256`, `RSA-PSS-SHA256`, `Ed25519`, or an OID. */
  readonly signatureAlgorithm: string;
  /** Subject and issuer are the same name. Says nothing about the signature. */
  readonly selfIssued: boolean;
  readonly subjectName: Name;
  readonly openssl: OpenSslCertificate;
}

const expectEqual = (tbs: DerReader, a: Uint8Array, b: Uint8Array): void => {
  if (Buffer.compare(a, b) !== 0) tbs.fail('two different signature algorithms');
};

/** Reads exactly one DER certificate. Throws `CERTIFICATE_MALFORMED`. */
export function parseCertificate(der: Uint8Array): Certificate {
  const outer = new DerReader(der);
  const certificate = outer.enter(TAG.sequence, 'certificate');
  outer.finish('certificate');
  const tbs = certificate.enter(TAG.sequence, 'tbsCertificate');
  const algorithmFrom = certificate.at;
  const algorithm = certificate.enter(TAG.sequence, 'signature algorithm');
  const algorithmBytes = der.subarray(algorithmFrom, certificate.at);
  readBitString(certificate);
  certificate.finish('signature');

  let version: 1 | 2 | 3 = 1;
  if (tbs.peek() === 0xa0) {
    const explicit = tbs.element();
    const number = readSmallInteger(explicit);
    explicit.finish('version');
    if (number > 2) tbs.fail('unknown version');
    version = number === 2 ? 3 : number === 1 ? 2 : 1;
  }
  const serial = readIntegerHex(tbs);
  const innerFrom = tbs.at;
  tbs.enter(TAG.sequence, 'signature algorithm');
  expectEqual(tbs, der.subarray(innerFrom, tbs.at), algorithmBytes);
  const issuer = readName(tbs);
  const validity = tbs.enter(TAG.sequence, 'validity');
  const notBefore = readTime(validity);
  const notAfter = readTime(validity);
  validity.finish('validity');
  const subject = readName(tbs);
  const keyAlgorithm = readKeyAlgorithm(tbs);
  if (tbs.peek() === 0x81) readBitString(tbs, 0x81);
  if (tbs.peek() === 0x82) readBitString(tbs, 0x82);
  let extensions = NO_EXTENSIONS;
  if (tbs.peek() === 0xa3) {
    if (version !== 3) tbs.fail('extensions in a certificate that is not version 3');
    const explicit = tbs.element();
    extensions = readExtensions(explicit);
    explicit.finish('extensions');
  }
  tbs.finish('tbsCertificate');
  const signatureAlgorithm = readSignatureAlgorithm(algorithm);

  let pem: string | undefined;
  return {
    der,
    get pem() {
      pem ??= encodePem('CERTIFICATE', der);
      return pem;
    },
    fingerprint: hash('sha256', der, 'hex'),
    subject: subject.text,
    issuer: issuer.text,
    subjectKey: subject.key,
    issuerKey: issuer.key,
    serial,
    version,
    notBefore,
    notAfter,
    keyAlgorithm,
    signatureAlgorithm,
    selfIssued: subject.key === issuer.key,
    subjectName: subject,
    openssl: new OpenSslCertificate(der),
    ...extensions,
  };
}

/** True at the end instant itself too, as in OpenSSL. */
export const isExpired = (certificate: Certificate, at: Instant): boolean => at >= certificate.notAfter;

/** Refuses every label but CERTIFICATE, a private key with a code of its own. */
const onlyCertificates =
  (where: string) =>
  (label: string, line: number): void => {
    if (label === 'CERTIFICATE') return;
    if (label.endsWith('PRIVATE KEY')) {
      throw new MaterialError(
        'PEM_PRIVATE_KEY_IN_BUNDLE',
        `${where} holds a ${label} at line ${line}; take it out, and replace the key if others could read the file`,
        { path: where },
      );
    }
    throw new MaterialError(
      'PEM_LABEL_REFUSED',
      `${where} holds a ${label} at line ${line}; only CERTIFICATE belongs there`,
      { path: where },
    );
  };

/** Reads CERTIFICATE blocks in the order given. An error says which block is bad. */
export function readCertificates(
  pem: string | Uint8Array,
  where: string,
): { certificates: readonly Certificate[]; junk: readonly Junk[] } {
  const { blocks, junk } = scanPem(pem, onlyCertificates(where));
  const certificates = blocks.map(({ der, line }) => {
    try {
      return parseCertificate(der);
    } catch (cause) {
      if (!(cause instanceof HandoverError)) throw cause;
      throw new MaterialError(cause.code, `${where}, block at line ${line}: ${cause.message}`, {
        path: where,
        cause,
      });
    }
  });
  return { certificates, junk };
}

/** Reads a chain or list of at least one certificate and keeps its order. Refuses other labels. */
export function parseCertificates(pem: string | Uint8Array): {
  certificates: readonly Certificate[];
  junk: readonly Junk[];
} {
  const result = readCertificates(pem, 'certificate list');
  if (result.certificates.length === 0) {
    throw new MaterialError('PEM_NO_CERTIFICATE', 'no CERTIFICATE block found; give PEM text');
  }
  return result;
}
