import { createHash } from 'node:crypto';
import {
  generateKey,
  type Signer,
  type Unsigned,
  unsignedCa,
  unsignedCross,
  unsignedLeaf,
} from '@handover/core';
import {
  type Certificate,
  day,
  type Instant,
  instant,
  parseCertificate,
  verifyChain,
} from '@handover/material';
import { newSigner, signNow } from '../keys.ts';
import { BASE } from './model.ts';

/**
 * Real certificates behind the model's short names, and the real chain check of `material` over them:
 * `g2` a CA, `x2.1` generation 2 signed by 1, `l2r0` a leaf of generation 2; in worlds with expiry each carries its dates
 * in seconds from the start, as in `g2@40~240`.
 */
export class Oracle {
  readonly #signers = new Map<number, Signer>();
  readonly #leafKey = generateKey('ECDSA-P256').publicKey;
  readonly #made = new Map<string, Certificate>();
  readonly #verdicts = new Map<string, boolean>();

  /** Whether every TLS library accepts it, including GnuTLS, which needs an anchor at the far end (docs/verdicts.md). */
  acceptedByAll(chain: readonly string[], bundle: readonly string[], at: Instant): boolean {
    return this.accepts(chain, bundle, at) && this.#isAnchoredAtTheEnd(chain, bundle);
  }

  #isAnchoredAtTheEnd(chain: readonly string[], bundle: readonly string[]): boolean {
    const end = this.certificate(chain.at(-1) ?? '');
    const anchors = bundle.map((name) => this.certificate(name));
    return anchors.some(({ subject }) => subject === end.issuer || subject === end.subject);
  }

  accepts(chain: readonly string[], bundle: readonly string[], at: Instant): boolean {
    const dated = chain.some((name) => name.includes('@')) || bundle.some((name) => name.includes('@'));
    const key = `${chain.join(' ')}|${bundle.join(' ')}|${dated ? at : ''}`;
    const known = this.#verdicts.get(key);
    if (known !== undefined) return known;
    const verdict = verifyChain({
      chain: chain.map((name) => this.certificate(name)),
      anchors: bundle.map((name) => this.certificate(name)),
      at,
      purpose: 'server',
    });
    this.#verdicts.set(key, verdict.ok);
    return verdict.ok;
  }

  certificate(name: string): Certificate {
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    const made = parseCertificate(signNow(this.#unsigned(name)));
    this.#made.set(name, made);
    return made;
  }

  #signer(generation: number): Signer {
    const signer = this.#signers.get(generation) ?? newSigner();
    this.#signers.set(generation, signer);
    return signer;
  }

  #unsigned(name: string): Unsigned {
    const { kind, of, by, notBefore, notAfter } = read(name);
    const serial = createHash('sha256').update(name).digest().subarray(0, 12);
    const dates = { serial, notBefore, notAfter };
    const signer = this.#signer(kind === 'g' ? of : read(by).of);
    if (kind === 'g') return unsignedCa({ name: 'model', generation: of === 0 ? 999 : of, signer, ...dates });
    const issuer = this.certificate(by);
    if (kind === 'x') {
      const subject = this.certificate(name.includes('@') ? `g${of}@${subjectDates(name)}` : `g${of}`);
      return unsignedCross({ subject, issuer, signer, ...dates });
    }
    return unsignedLeaf({
      issuer,
      signer,
      publicKey: this.#leafKey,
      subject: { commonName: 'peer' },
      dnsNames: ['peer.test'],
      ipAddresses: [],
      uris: [],
      usages: ['server', 'client'],
      ...dates,
    });
  }
}

interface Name {
  readonly kind: string;
  readonly of: number;
  /** Name of the issuer. */
  readonly by: string;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

const seconds = (text: string | undefined, otherwise: number): Instant =>
  instant(text === undefined ? otherwise : BASE + Number(text) * 1000);

// A cross or leaf in a world with expiry names its issuer's dates, and a cross also its subject's, after `/`.
const read = (name: string): Name => {
  const found = /^([gxl])(\d+)(?:\.(\d+)|r\d+)?(?:@(-?\d+)~(-?\d+))?(?:\/([^/]+))?(?:\/[^/]+)?$/.exec(name);
  if (found === null) throw new TypeError(`not a certificate of the model: ${name}`);
  const [, kind = '', of, by, from, to, issuerDates] = found;
  const issuer = kind === 'l' ? of : by;
  return {
    kind,
    of: Number(of),
    by: issuerDates === undefined ? `g${issuer}` : `g${issuer}@${issuerDates}`,
    notBefore: seconds(from, BASE - 400 * day),
    notAfter: seconds(to, BASE + 4000 * day),
  };
};

const subjectDates = (name: string): string => name.split('/')[2] ?? '';
