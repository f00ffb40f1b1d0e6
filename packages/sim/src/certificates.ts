import { type Signer, type Unsigned, unsignedCa, unsignedCross, unsignedLeaf } from '@handover/core';
import { type FileData, filesFrom, type IssuedLeaf, type KeyRef, type SigningCa } from '@handover/engine';
import {
  type Certificate,
  type Instant,
  instant,
  parseCertificate,
  sameBytes,
  textOf,
  verifyChain,
} from '@handover/material';
import { indexOf, keyAt, newLeafKey, openKey, signNow } from './keys.ts';

export type SimulatedVerdict = { readonly ok: true } | { readonly ok: false; readonly reason: string };

interface Cached {
  readonly from: number;
  readonly until: number;
  readonly verdict: SimulatedVerdict;
}

/** A CA, and how the state names its key. */
export interface SimulatedCa extends SigningCa {
  readonly key: KeyRef;
}

/** All leaves share one key: the chain check does not use it. */
let leafKey: ReturnType<typeof newLeafKey> | undefined;

/** Certificates of other worlds in this thread: all of them can use the same ones. */
const issued = new Map<string, Certificate>();
const contents = new Map<string, FileData>();
const MOST_KEPT = 20_000;
let serial = 0;

const nextSerial = (): Uint8Array => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(0x7a3c19e5);
  bytes.writeUInt32BE(++serial, 4);
  return bytes;
};

/**
 * The real certificates of one world, by fingerprint, and the verdicts of the real chain check on them. It is the signer and not the
 * store: it does not know which keys the authority still has.
 */
export class Certificates {
  readonly #certificates = new Map<string, Certificate>();
  readonly #signers = new Map<string, Signer>();
  /** CA that signed each leaf. */
  readonly #issuers = new Map<string, string>();
  /** Which of two equal certificates each Leaf got last. */
  readonly #twins = new Map<string, string>();
  /** Fingerprints by the text of a file: many files are equal. */
  readonly #files = new Map<string, readonly string[]>();
  readonly #blocks = new Map<string, string>();
  /** Short names for fingerprints, so that a cache key stays small. */
  readonly #names = new Map<string, string>();
  /** Labels of certificates, for people. */
  readonly #labels = new Map<string, string>();
  readonly #verdicts = new Map<string, Cached[]>();
  readonly #grain: number;
  #dealt = 0;
  /** How often the chain check really ran. */
  checks = 0;

  /** Dates are rounded down to `grain` milliseconds: the coarser, the more certificates worlds can share. */
  constructor(grain = 1000) {
    this.#grain = grain;
  }

  /** The next key of the deck. */
  create(): KeyRef {
    return keyAt(this.#dealt++);
  }

  /** A CA with the next key of the deck. */
  newCa(generation: number, notBefore: Instant, notAfter: Instant): SimulatedCa {
    const key = this.create();
    const signer = openKey(key);
    return { certificate: this.ca(generation, signer, notBefore, notAfter), signer, key };
  }

  ca(generation: number, signer: Signer, notBefore: Instant, notAfter: Instant): Certificate {
    const dates = { notBefore: this.#rounded(notBefore), notAfter: this.#rounded(notAfter) };
    const certificate = this.#once(
      `ca ${indexOf(signer)} ${generation} ${dates.notBefore} ${dates.notAfter}`,
      () =>
        unsignedCa({
          name: 'sim',
          // Generation 0 is a CA of another program; its name only has to differ.
          generation: Math.max(1, generation),
          signer,
          serial: nextSerial(),
          ...dates,
        }),
    );
    this.#signers.set(certificate.fingerprint, signer);
    this.#labels.set(certificate.fingerprint, `${generation}`);
    return certificate;
  }

  cross(subject: Certificate, by: SigningCa, notBefore: Instant, notAfter: Instant): Certificate {
    const issuer = by.certificate;
    const dates = { notBefore: this.#rounded(notBefore), notAfter: this.#rounded(notAfter) };
    const signer = this.#signerOf(by);
    const id = `x ${subject.fingerprint} ${issuer.fingerprint} ${dates.notBefore} ${dates.notAfter}`;
    const made = this.#once(id, () =>
      unsignedCross({ subject, issuer, signer, serial: nextSerial(), ...dates }),
    );
    this.#labels.set(
      made.fingerprint,
      `cross-certificate of ${this.label(subject.fingerprint)} by ${this.label(issuer.fingerprint)}`,
    );
    return made;
  }

  /**
   * One certificate for all presenters of one issue: the verdict does not depend on the name. `leafId` gets another one each time, since
   * two leaves of one second are two leaves.
   */
  leaf(leafId: string, by: SigningCa, notBefore: Instant, notAfter: Instant): IssuedLeaf {
    const dates = { notBefore: this.#rounded(notBefore), notAfter: this.#rounded(notAfter) };
    const ca = by.certificate.fingerprint;
    const signer = this.#signerOf(by);
    leafKey ??= newLeafKey();
    const { publicKey, held } = leafKey;
    const issue = (copy: number): Certificate =>
      this.#once(`leaf ${ca} ${dates.notBefore} ${dates.notAfter} ${copy}`, () =>
        unsignedLeaf({
          issuer: by.certificate,
          signer,
          publicKey,
          serial: nextSerial(),
          subject: { commonName: 'presenter' },
          dnsNames: ['presenter.sim.svc'],
          ipAddresses: [],
          uris: [],
          usages: ['server', 'client'],
          ...dates,
        }),
      );
    let certificate = issue(0);
    if (this.#twins.get(leafId) === certificate.fingerprint) certificate = issue(1);
    this.#twins.set(leafId, certificate.fingerprint);
    this.#issuers.set(certificate.fingerprint, ca);
    this.#labels.set(certificate.fingerprint, `leaf of ${this.label(ca)}`);
    return { certificate, key: held };
  }

  /** A leaf that a thief of the CA's key could issue. */
  forged(ca: string): string {
    const certificate = this.of(ca);
    const signer = this.#signers.get(ca);
    if (signer === undefined) throw new TypeError(`no key for ${ca}`);
    const { notBefore, notAfter } = certificate;
    return this.leaf('thief', { certificate, signer }, notBefore, notAfter).certificate.fingerprint;
  }

  /** The data of an object with this leaf and this bundle; equal content is the same object, in every world. */
  files(leaf: Certificate | undefined, bundle: string): FileData {
    leafKey ??= newLeafKey();
    const id = `${leaf?.fingerprint} ${bundle}`;
    let data = contents.get(id);
    if (data === undefined) {
      data =
        leaf === undefined
          ? filesFrom({ 'ca.crt': bundle })
          : { ...filesFrom({ 'tls.crt': leaf.pem, 'ca.crt': bundle }), 'tls.key': leafKey.file };
      if (contents.size >= MOST_KEPT) contents.clear();
      contents.set(id, data);
    }
    return data;
  }

  /** The fingerprints in a file, in order. */
  read(file: Uint8Array): readonly string[] {
    const pem = textOf(file);
    let found = this.#files.get(pem);
    if (found === undefined) {
      found = pem
        .split(/(?<=-----END CERTIFICATE-----\n)/)
        .filter((block) => block !== '')
        .map((block) => {
          const fingerprint = this.#blocks.get(block);
          if (fingerprint === undefined)
            throw new TypeError('a file holds a certificate that was never issued');
          return fingerprint;
        });
      this.#files.set(pem, found);
    }
    return found;
  }

  /** The CA that signed a leaf; the key beside it has to match. */
  issuerOfPair(leaf: string, key: Uint8Array | undefined): string {
    const issuer = this.#issuers.get(leaf);
    if (issuer === undefined) throw new TypeError('a leaf that was never issued');
    if (!sameBytes(key, leafKey?.file)) throw new TypeError('a leaf beside another key');
    return issuer;
  }

  of(fingerprint: string): Certificate {
    const found = this.#certificates.get(fingerprint);
    if (found === undefined) throw new TypeError(`no certificate ${fingerprint}`);
    return found;
  }

  /** `2` for the CA of generation 2, `cross-certificate of 2 by 1`, `leaf of 2`. */
  label(fingerprint: string): string {
    return this.#labels.get(fingerprint) ?? fingerprint.slice(0, 8);
  }

  /** A short name that is the same in every run, however the signatures came out. */
  name(fingerprint: string): string {
    const known = this.#names.get(fingerprint);
    if (known !== undefined) return known;
    const name = this.#names.size.toString(36);
    this.#names.set(fingerprint, name);
    return name;
  }

  /** The verdict of a verifier with these anchors on this chain (leaf first), and until when it holds. */
  judge(chain: readonly string[], anchors: readonly string[], at: Instant): Cached {
    const id = `${chain.map((item) => this.name(item)).join('.')}|${anchors.map((item) => this.name(item)).join('.')}`;
    let known = this.#verdicts.get(id);
    if (known === undefined) {
      known = [];
      this.#verdicts.set(id, known);
    }
    const hit = known.find((entry) => entry.from <= at && at < entry.until);
    if (hit !== undefined) return hit;
    const entry = this.#check(
      chain.map((item) => this.of(item)),
      anchors.map((item) => this.of(item)),
      at,
    );
    known.push(entry);
    return entry;
  }

  verdict(chain: readonly string[], anchors: readonly string[], at: Instant): SimulatedVerdict {
    return this.judge(chain, anchors, at).verdict;
  }

  #check(chain: readonly Certificate[], anchors: readonly Certificate[], at: Instant): Cached {
    this.checks++;
    const answer = verifyChain({ chain, anchors, at, purpose: 'server' });
    // Only these dates can change the verdict: it holds between the two around `at`.
    let from = Number.NEGATIVE_INFINITY;
    let until = Number.POSITIVE_INFINITY;
    for (const certificate of [...chain, ...anchors]) {
      for (const edge of [certificate.notBefore, certificate.notAfter]) {
        if (edge <= at) from = Math.max(from, edge);
        else until = Math.min(until, edge);
      }
    }
    return { from, until, verdict: answer.ok ? { ok: true } : { ok: false, reason: answer.reason } };
  }

  #once(id: string, issue: () => Unsigned): Certificate {
    let certificate = issued.get(id);
    if (certificate === undefined) {
      certificate = parseCertificate(signNow(issue()));
      if (issued.size >= MOST_KEPT) issued.clear();
      issued.set(id, certificate);
    }
    this.#certificates.set(certificate.fingerprint, certificate);
    this.#blocks.set(certificate.pem, certificate.fingerprint);
    this.name(certificate.fingerprint);
    return certificate;
  }

  #rounded(at: number): Instant {
    return instant(Math.floor(at / this.#grain) * this.#grain);
  }

  /** Refuses, as a real signer would, a key that is not that of the certificate. */
  #signerOf({ certificate, signer }: SigningCa): Signer {
    if (this.#signers.get(certificate.fingerprint) !== signer)
      throw new TypeError(`not the key of ${this.label(certificate.fingerprint)}`);
    return signer;
  }
}
