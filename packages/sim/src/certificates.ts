import { type Anchor, generateKey, issueCa, issueCross, issueLeaf, type KeyPair } from '@handover/core';
import {
  type Certificate,
  type Duration,
  hour,
  type Instant,
  instant,
  parseCertificate,
  verifyChain,
} from '@handover/material';

export type Verdict = { readonly ok: true } | { readonly ok: false; readonly reason: string };

interface Cached {
  readonly from: number;
  readonly until: number;
  readonly verdict: Verdict;
}

/** Keys to deal from: which pair it is changes no verdict. */
const deck: KeyPair[] = [];

/** What was issued in other worlds of this thread: the same certificate serves in all of them. */
const issued = new Map<string, Certificate>();
const MOST_KEPT = 20_000;
let serial = 0;

const nextSerial = (): Uint8Array => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(0x7a3c19e5);
  bytes.writeUInt32BE(++serial, 4);
  return bytes;
};

/**
 * The real certificates of one world, by fingerprint, and the verdicts of the real chain check over them. Which keys are
 * still in the authority is not its business: it plays the signer, not the store.
 */
export class Certificates {
  readonly #certificates = new Map<string, Certificate>();
  readonly #keys = new Map<string, KeyPair>();
  /** Short names for fingerprints, so that a cache key stays small. */
  readonly #names = new Map<string, string>();
  /** What each certificate is, for people. */
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

  mintCa(generation: number, at: Instant, lifetime: Duration): Anchor {
    const [index, key] = this.#deal();
    const notBefore = this.#rounded(at - hour);
    const notAfter = this.#rounded(at + lifetime);
    const made = this.#once(`ca ${index} ${generation} ${notBefore} ${notAfter}`, () =>
      issueCa({
        name: 'sim',
        // Generation 0 is somebody else's CA; its name only has to differ.
        generation: Math.max(1, generation),
        key,
        serial: nextSerial(),
        notBefore,
        notAfter,
      }),
    );
    const { fingerprint } = made;
    this.#keys.set(fingerprint, key);
    this.#labels.set(fingerprint, `${generation}`);
    return { fingerprint, notBefore: made.notBefore, notAfter: made.notAfter };
  }

  cross(of: string, by: string, at: Instant): { fingerprint: string; notAfter: Instant } {
    const issuer = this.of(by);
    const notBefore = this.#rounded(at - hour);
    const { fingerprint, notAfter } = this.#once(`x ${of} ${by} ${notBefore}`, () =>
      issueCross({
        subject: this.of(of),
        issuer,
        issuerKey: this.#signer(by).privateKey,
        serial: nextSerial(),
        notBefore,
        notAfter: issuer.notAfter,
      }),
    );
    this.#labels.set(fingerprint, `X(${this.label(of)} by ${this.label(by)})`);
    return { fingerprint, notAfter };
  }

  /** One certificate for all presenters of one issue: the verdict does not depend on the name. `copy` tells twins apart. */
  leaf(issuer: string, notBefore: Instant, notAfter: Instant, copy = 0): string {
    const dates = { notBefore: this.#rounded(notBefore), notAfter: this.#rounded(notAfter) };
    const id = `leaf ${issuer} ${dates.notBefore} ${dates.notAfter} ${copy}`;
    const { fingerprint } = this.#once(id, () => {
      const { privateKey, publicKey } = this.#signer(issuer);
      return issueLeaf({
        issuer: this.of(issuer),
        issuerKey: privateKey,
        // The leaf's own key plays no part in the chain check.
        publicKey,
        serial: nextSerial(),
        subject: { commonName: 'presenter' },
        dnsNames: ['presenter.sim.svc'],
        ipAddresses: [],
        uris: [],
        usages: ['server', 'client'],
        ...dates,
      });
    });
    this.#labels.set(fingerprint, `leaf of ${this.label(issuer)}`);
    return fingerprint;
  }

  of(fingerprint: string): Certificate {
    const found = this.#certificates.get(fingerprint);
    if (found === undefined) throw new TypeError(`no certificate ${fingerprint}`);
    return found;
  }

  /** `2` for the CA of generation 2, `X(2 by 1)`, `leaf of 2`. */
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

  /** What a verifier with these anchors says to this chain (leaf first), and until when it goes on saying so. */
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

  verdict(chain: readonly string[], anchors: readonly string[], at: Instant): Verdict {
    return this.judge(chain, anchors, at).verdict;
  }

  #check(chain: readonly Certificate[], anchors: readonly Certificate[], at: Instant): Cached {
    this.checks++;
    const answer = verifyChain({ chain, anchors, at, purpose: 'server' });
    // Nothing but these dates can turn the answer: it holds between the two that surround `at`.
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

  #once(id: string, issue: () => Uint8Array): Certificate {
    let certificate = issued.get(id);
    if (certificate === undefined) {
      certificate = parseCertificate(issue());
      if (issued.size >= MOST_KEPT) issued.clear();
      issued.set(id, certificate);
    }
    this.#certificates.set(certificate.fingerprint, certificate);
    this.name(certificate.fingerprint);
    return certificate;
  }

  #rounded(at: number): Instant {
    return instant(Math.floor(at / this.#grain) * this.#grain);
  }

  #deal(): [number, KeyPair] {
    const index = this.#dealt++;
    const key = deck[index] ?? generateKey('ECDSA-P256');
    deck[index] = key;
    return [index, key];
  }

  #signer(fingerprint: string): KeyPair {
    const key = this.#keys.get(fingerprint);
    if (key === undefined) throw new TypeError(`no key for ${fingerprint}`);
    return key;
  }
}
