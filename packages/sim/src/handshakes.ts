import { instant } from '@handover/material';
import type { Certificates } from './certificates.ts';

/** All processes that present the same chain, or hold the same bundle, under the same promises. */
export interface Class {
  readonly key: string;
  /** The chain, leaf first; or the bundle. */
  readonly certificates: readonly string[];
  /** CA that signed the leaf; undefined for a bundle. */
  readonly issuer: string | undefined;
  readonly standing: PeerStanding;
  readonly members: Set<string>;
}

/** What the design promises about a process. */
export interface PeerStanding {
  /** In `Observed`, and of the authority's own namespace. */
  readonly known: boolean;
  /** Never loads anything again: its leaf may expire. */
  readonly stuck: boolean;
  /** Presents its leaf without the cross-certificate. */
  readonly strips: boolean;
  /** In another namespace than the authority. */
  readonly elsewhere?: boolean;
}

export interface HandshakePair {
  readonly presenter: Class;
  readonly verifier: Class;
  readonly reason: string;
}

/** Every presenter against every verifier, by classes: thousands of processes share a handful of chains and bundles. */
export class Handshakes {
  readonly #certificates: Certificates;
  readonly #excused: (presenter: Class, verifier: Class, at: number) => boolean;
  readonly presenters = new Map<string, Class>();
  readonly verifiers = new Map<string, Class>();
  #presenting = 0;
  #verifying = 0;
  #failing: HandshakePair[] = [];
  #fresh: Class[] = [];
  #changed = true;
  #again = true;
  #until = Number.NEGATIVE_INFINITY;
  /** Pairs checked, and pairs that failed. */
  count = 0;
  failures = 0;

  constructor(
    certificates: Certificates,
    excused: (presenter: Class, verifier: Class, at: number) => boolean,
  ) {
    this.#certificates = certificates;
    this.#excused = excused;
  }

  present(who: string, chain: readonly string[], issuer: string, standing: PeerStanding): Class {
    this.#presenting++;
    return this.#join(this.presenters, who, chain, issuer, standing);
  }

  verify(who: string, bundle: readonly string[], standing: PeerStanding): Class {
    this.#verifying++;
    return this.#join(this.verifiers, who, bundle, undefined, standing);
  }

  leave(group: Class, who: string): void {
    if (!group.members.delete(who)) return;
    const presents = group.issuer !== undefined;
    if (presents) this.#presenting--;
    else this.#verifying--;
    this.#changed = true;
    if (group.members.size > 0) return;
    (presents ? this.presenters : this.verifiers).delete(group.key);
    this.#failing = this.#failing.filter((pair) => pair.presenter !== group && pair.verifier !== group);
    this.#fresh = this.#fresh.filter((item) => item !== group);
  }

  /** The promises have changed. */
  reconsider(): void {
    this.#again = true;
  }

  /** Checks the pairs that may have changed; undefined: none has. */
  step(at: number): readonly HandshakePair[] | undefined {
    const all = this.#again || at >= this.#until;
    if (!all && !this.#changed) return undefined;
    if (all) {
      this.#failing = [];
      this.#until = Number.POSITIVE_INFINITY;
      for (const presenter of this.presenters.values()) {
        for (const verifier of this.verifiers.values()) this.#judge(presenter, verifier, at);
      }
    } else {
      const done = new Set<Class>();
      for (const group of this.#fresh) {
        const presents = group.issuer !== undefined;
        for (const other of (presents ? this.verifiers : this.presenters).values()) {
          if (done.has(other)) continue;
          if (presents) this.#judge(group, other, at);
          else this.#judge(other, group, at);
        }
        done.add(group);
      }
    }
    this.#fresh = [];
    this.#changed = false;
    this.#again = false;
    this.count += this.#presenting * this.#verifying;
    for (const pair of this.#failing)
      this.failures += pair.presenter.members.size * pair.verifier.members.size;
    return this.#failing;
  }

  #judge(presenter: Class, verifier: Class, at: number): void {
    const judged = this.#certificates.judge(presenter.certificates, verifier.certificates, instant(at));
    this.#until = Math.min(this.#until, judged.until);
    if (judged.verdict.ok || this.#excused(presenter, verifier, at)) return;
    this.#failing.push({ presenter, verifier, reason: judged.verdict.reason });
  }

  #join(
    classes: Map<string, Class>,
    who: string,
    certificates: readonly string[],
    issuer: string | undefined,
    standing: PeerStanding,
  ): Class {
    const names = certificates.map((item) => this.#certificates.name(item)).join('.');
    const key = `${names} ${standing.known ? 'k' : ''}${standing.stuck ? 's' : ''}${standing.strips ? 'x' : ''}${standing.elsewhere === true ? 'e' : ''}`;
    let group = classes.get(key);
    if (group === undefined) {
      group = { key, certificates, issuer, standing, members: new Set() };
      classes.set(key, group);
      this.#fresh.push(group);
    }
    group.members.add(who);
    this.#changed = true;
    return group;
  }
}
