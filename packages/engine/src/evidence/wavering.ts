import type { Proof } from '@handover/core';
import type { AuthorityRecord } from '../snapshot/home.ts';
import type { ProcessShown } from './ask.ts';
import { UNKNOWN_ISSUER } from './read-document.ts';

/** What an endpoint said of one CA that it trusts, or of one CA whose leaf it serves. */
interface Fact {
  /** By the monotonic clock. */
  shownAt: number;
  deniedAt: number;
  last: 'shown' | 'denied';
  /** How often it changed its word. Once is what every reload does. */
  turns: number;
}

const NEVER = Number.NEGATIVE_INFINITY;
const DIFFER = 'its answers differ: one of its processes is behind, or was less than reloadWithin ago';
const MOST_ENDPOINTS = 20_000;

/**
 * Remembers what endpoints have said. Several processes may be behind one address, and each handshake meets one of them: an endpoint that
 * says old, new and old again has a process that is behind. What it denied then counts until `reloadWithin` has passed without another denial.
 */
export class Wavering {
  readonly #known = new Map<string, Map<string, Fact>>();

  /** `within`, `now`: milliseconds of the monotonic clock. */
  weigh(
    endpoint: string,
    shown: ProcessShown,
    { state }: AuthorityRecord,
    within: number,
    now: number,
  ): ProcessShown {
    if (this.#known.size > MOST_ENDPOINTS) this.#known.clear();
    const facts = this.#known.get(endpoint) ?? new Map<string, Fact>();
    this.#known.set(endpoint, facts);
    const ours = state.generations.flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint));
    const { proofs, saw } = shown;
    const documents = proofs.filter(({ by }) => by === 'acknowledged');
    const wavers = (name: string, isShown: boolean, isDenied: boolean): boolean =>
      isWavering(noted(facts, name, isShown, isDenied, now), within, now);

    const trust = ours.filter((anchor) =>
      wavers(
        `trust ${anchor}`,
        documents.some(({ anchors }) => anchors?.includes(anchor)) || saw?.accepted.includes(anchor) === true,
        documents.some(({ anchors, complete }) => complete && anchors?.includes(anchor) === false) ||
          saw?.refused.includes(anchor) === true,
      ),
    );
    const issuers = new Set([...proofs.flatMap(({ issuer }) => issuer ?? []), ...(saw?.issuers ?? [])]);
    // Oldest first; an unknown CA may be older than all.
    const oldestFirst = [UNKNOWN_ISSUER, ...ours.toReversed()];
    const leaf = oldestFirst.filter((issuer) =>
      wavers(`leaf ${issuer}`, issuers.has(issuer), issuers.size > (issuers.has(issuer) ? 1 : 0)),
    );
    for (const name of facts.keys())
      if (!oldestFirst.some((one) => name.endsWith(` ${one}`))) facts.delete(name);
    if (trust.length + leaf.length === 0) return shown;
    return {
      ...shown,
      proofs: proofs.map((proof) => doubted(proof, trust, leaf, oldestFirst)),
      unread: {
        ...(trust.length === 0 ? {} : { trust: DIFFER }),
        ...(leaf.length === 0 ? {} : { leaf: DIFFER }),
        ...shown.unread,
      },
    };
  }
}

const noted = (
  facts: Map<string, Fact>,
  name: string,
  isShown: boolean,
  isDenied: boolean,
  now: number,
): Fact | undefined => {
  const known = facts.get(name);
  if (!isShown && !isDenied) return known;
  const fact: Fact = known ?? {
    shownAt: NEVER,
    deniedAt: NEVER,
    last: isShown ? 'shown' : 'denied',
    turns: 0,
  };
  facts.set(name, fact);
  const last = isDenied ? 'denied' : 'shown';
  if (isShown && isDenied) fact.turns += 2;
  else if (fact.last !== last) fact.turns++;
  fact.last = last;
  if (isShown) fact.shownAt = now;
  if (isDenied) fact.deniedAt = now;
  return fact;
};

/** One word that was not heard for so long is forgotten. */
const isWavering = (fact: Fact | undefined, within: number, now: number): boolean => {
  if (fact === undefined) return false;
  if (now - Math.min(fact.shownAt, fact.deniedAt) < within) return fact.turns > 1;
  fact.turns = 0;
  return false;
};

/** A CA that some of its processes trust is neither in use everywhere nor gone; of several leaves the one of the oldest CA counts. */
const doubted = (
  proof: Proof,
  trust: readonly string[],
  leaf: readonly string[],
  oldestFirst: readonly string[],
): Proof => {
  const age = (issuer: string): number => oldestFirst.indexOf(issuer);
  const { anchors, refuses, issuer } = proof;
  const issuers = issuer === undefined ? [] : [issuer, ...leaf].sort((a, b) => age(a) - age(b));
  const [oldest] = issuers;
  return {
    ...proof,
    ...(anchors === undefined && refuses === undefined
      ? {}
      : {
          anchors: [...new Set([...(anchors ?? []), ...trust])],
          refuses: [...new Set([...(refuses ?? []), ...trust])],
        }),
    ...(oldest === undefined ? {} : { issuer: oldest }),
  };
};
