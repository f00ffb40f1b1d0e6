import { X509Certificate } from 'node:crypto';
import { type Clock, type Instant, iso } from '@handover/material';
import { ageOf, type SourceStatus, type StatusSource } from './status.ts';

/** OpenSSL takes all three as a certificate. */
const CERTIFICATE = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]+-----END \1-----/g;

/** SHA-256 fingerprints of the certificates in PEM texts. What cannot be read is left out: it is not shown as trusted. */
export const fingerprintsIn = (pems: readonly (string | Uint8Array)[]): readonly string[] => {
  const texts = pems.map((pem) => Buffer.from(pem).toString('latin1')).join('\n');
  const found = [...texts.matchAll(CERTIFICATE)].flatMap(([block]) => {
    try {
      return [new X509Certificate(block).fingerprint256.replaceAll(':', '').toLowerCase()];
    } catch {
      return [];
    }
  });
  return [...new Set(found)];
};

/** CA certificates that a program was given once, and that it goes on using whatever its files say. */
export class FrozenTrust implements StatusSource {
  readonly #path: string;
  readonly #anchors: readonly string[];
  readonly #clock: Clock;
  readonly #loadedAt: Instant;

  /** `path`: where they came from, in words or as a path. */
  constructor(path: string, pems: readonly (string | Uint8Array)[], clock: Clock) {
    this.#path = path;
    this.#anchors = fingerprintsIn(pems);
    this.#clock = clock;
    this.#loadedAt = clock.now();
  }

  status(): SourceStatus {
    return {
      kind: 'trust',
      path: this.#path,
      anchors: this.#anchors,
      loads: 1,
      loadedAt: iso(this.#loadedAt),
      age: ageOf(this.#loadedAt, this.#clock.now()),
    };
  }

  /** It never changes. */
  on(): this {
    return this;
  }
}
