import type { Instant } from '@handover/material';

/**
 * `next`: distributed, not used. `current`: signs. `previous`: trusted, no longer signs. `retained`: its key is destroyed, and its certificate
 * stays trusted for leaves that may still be in use where no step waits for them.
 */
export const ROLES = ['next', 'current', 'previous', 'retained', 'distrusted'] as const;
export type Role = (typeof ROLES)[number];

/** A CA certificate as the planner knows it. */
export interface Anchor {
  /** SHA-256 of the DER, hex. */
  readonly fingerprint: string;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** Leaves that a CA signed for other namespaces. */
export interface IssuedElsewhere {
  /** The objects that got one. */
  readonly objects: readonly string[];
  /** Latest end of the leaves of these objects. */
  readonly until?: Instant;
  /** Latest end of the leaves whose objects have no name here: pods have their own, or there are too many to name. */
  readonly unnamedUntil?: Instant;
}

/** Why a CA without its key stays trusted. */
export type Needed = Pick<Generation, 'elsewhere' | 'unseenUntil'>;

export interface Generation {
  readonly number: number;
  readonly role: Role;
  /** One; several only for an adopted generation 0, whose Secrets may hold more than one CA. */
  readonly anchors: readonly [Anchor, ...Anchor[]];
  /** False for an adopted or a retained generation: trusted, but it can sign nothing. */
  readonly hasKey: boolean;
  /** When it took this role, by the home's clock. */
  readonly since: Instant;
  /** Of a retained CA: when it stopped signing. Undefined: not known, in states of earlier versions. */
  readonly stoppedAt?: Instant;
  /** Another program signed with it before: when its leaves end is not known. */
  readonly adopted?: true;
  /**
   * Latest end of all leaves that it signed for other programs. Raised before a signature is handed out. Undefined: not known, so that such
   * leaves may live as long as the CA.
   */
  readonly lentUntil?: Instant;
  /**
   * Latest end of those that no object shows, or that an adopted CA signed before. Raised before a signature is handed out; and at retirement, for
   * programs that no consumer stands for.
   */
  readonly unseenUntil?: Instant;
  /** Leaves for other namespaces. Raised before a signature is handed out. Undefined: not known, in states of earlier versions. */
  readonly elsewhere?: IssuedElsewhere;
  /** Latest end of those of pods with a leaf of their own, which are in none of the dates above. Undefined: it signed none. */
  readonly podsUntil?: Instant;
  /** Every stamp made for it names its CA. Undefined: stamps of earlier versions may carry its number alone. */
  readonly namedInStamps?: true;
}

/** A cross-certificate: the CA of generation `of`, signed by generation `by`. */
export interface Cross {
  readonly of: number;
  readonly by: number;
  readonly fingerprint: string;
  readonly notAfter: Instant;
}

/** The whole truth about an authority. It changes by one compare-and-swap at a time; all else is derived from it. */
export interface AuthorityState {
  /** +1 per compare-and-swap; every derived object carries the revision it was made from. */
  readonly revision: number;
  /** Newest first. */
  readonly generations: readonly Generation[];
  /** The path back from `current`, nearest first: three, and those whose signer is still trusted. */
  readonly crosses: readonly Cross[];
  /** Every rotation ever asked for: the same id never rotates twice. */
  readonly ids: readonly string[];
  /** How often a generation was distrusted; part of the stamp that rolls restart-only workloads. */
  readonly distrusts: number;
  /** The highest generation number ever given out: numbers are not used again. */
  readonly lastGeneration: number;
}

/** How many cross-certificates are kept in any case: more would be a third distrust before the first is over. */
const LEAST_CROSSES = 3;

export const generationOf = (state: AuthorityState, number: number): Generation | undefined =>
  state.generations.find((generation) => generation.number === number);

export const withRole = (state: AuthorityState, role: Role): Generation | undefined =>
  state.generations.find((generation) => generation.role === role);

/** Generations whose anchors belong into every bundle, newest first. */
export const trusted = (state: AuthorityState): readonly Generation[] =>
  state.generations.filter((generation) => generation.role !== 'distrusted');

/** Whether a rotation or a distrust is under way; a retained CA is no part of either. */
export const isMoving = ({
  generations,
}: {
  readonly generations: readonly { readonly role: string }[];
}): boolean =>
  generations.some(({ role }) => role === 'next' || role === 'previous' || role === 'distrusted');

/**
 * The cross-certificate of `issuer`, that of the generation that signed it, and so on. Those on the way to a CA that is still trusted are never
 * forgotten: a distrust has to reach that CA too.
 */
export const crossPath = (
  crosses: readonly Cross[],
  issuer: number,
  generations: readonly Generation[],
): readonly Cross[] => {
  const path: Cross[] = [];
  let at = issuer;
  while (path.length < crosses.length) {
    const cross = crosses.find((candidate) => candidate.of === at);
    if (cross === undefined) break;
    path.push(cross);
    at = cross.by;
  }
  const last = path.findLastIndex(({ by }) => generations.some(({ number }) => number === by));
  return path.slice(0, Math.max(LEAST_CROSSES, last + 1));
};

/**
 * Cross-certificates behind a leaf of `issuer`, nearest first: one, and a further one only while the CA that signed it is still in
 * the authority with its key, as after two distrusts in a row; a retained CA has none. A longer chain would help a verifier that missed two rotations, but GnuTLS looks
 * for an anchor at the chain's far end only: with X(n by m) for a cross-certificate, a verifier that holds [3] refuses
 * leaf3 + X(3 by 2) + X(2 by 1) (docs/decisions/0004, point 11).
 */
export const chainOf = ({ crosses, generations }: AuthorityState, issuer: number): readonly Cross[] =>
  crossPath(crosses, issuer, generations).filter(
    ({ by }, index) => index === 0 || generations.some(({ number, hasKey }) => number === by && hasKey),
  );
