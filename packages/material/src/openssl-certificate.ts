import { type KeyObject, X509Certificate } from 'node:crypto';

interface Parsed {
  readonly x509: X509Certificate;
  readonly publicKey: KeyObject;
}

/** One certificate as OpenSSL reads it. Certificates never change, so each answer is computed once and kept. */
export class OpenSslCertificate {
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
