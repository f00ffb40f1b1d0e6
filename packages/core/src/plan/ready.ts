import { type Instant, iso } from '@handover/material';
import { type AuthorityState, type Generation, generationOf } from './authority.ts';
import { SKEW } from './expiry.ts';
import type { LeafSeen, ObjectSeen, Observed } from './observed.ts';
import type { Policy } from './policy.ts';
import { listed } from './waiting.ts';

/** Why a bundle refuses a leaf, by their real certificates; undefined: it accepts it. Both are given as the id of their object. */
export type Refusal = (leaf: string, bundle: string) => string | undefined;

/** What is wrong with the files of an object that holds no leaf or no bundle. */
export type Lacking = (object: string) => readonly string[];

/** Why an authority is not Ready. */
export interface NotReady {
  /** For people. */
  readonly why: string;
  /** Something new has yet to be made, and nothing is wrong: the next pass makes it. */
  readonly yetToBeMade: boolean;
}

const wrong = (why: string): NotReady => ({ why, yetToBeMade: false });
const notYet = (why: string): NotReady => ({ why, yetToBeMade: true });

/**
 * Why the authority is not Ready; empty: every bundle it vouches for accepts every leaf it vouches for. It vouches for all objects
 * of its own namespace, and in other namespaces for those that are still as it wrote them.
 */
export const notReady = (
  seen: Observed,
  policy: Policy,
  now: Instant,
  refusal: Refusal,
  lacking: Lacking = () => [],
): readonly NotReady[] => {
  const state = seen.authority;
  if (state === undefined)
    return [isUndecided(seen) ? wrong(UNDECIDED) : notYet('its first CA generation is being created')];
  const objects = new Map(seen.objects.map((object) => [object.id, object]));
  const asked = [...policy.leaves, ...policy.bundles].filter(({ object, elsewhere }) => {
    const found = objects.get(object);
    if (elsewhere !== true && found?.elsewhere !== true) return true;
    return found?.obstacle === undefined && found?.revision === state.revision;
  });
  const holders = asked.map(({ object }) => ({ object, found: objects.get(object) }));
  const bare = holders.filter(({ found }) => (found?.anchors.length ?? 0) === 0);
  const bundles = distinct(state, holders.flatMap(({ found }) => found ?? []).filter(hasAnchors));
  const damaged = new Map<string, readonly string[]>();
  const lackingIn = (object: string): readonly string[] => {
    const found = damaged.get(object) ?? (objects.get(object)?.edited === true ? lacking(object) : []);
    damaged.set(object, found);
    return found;
  };
  const newer = holders.filter(({ found }) => (found?.revision ?? 0) > state.revision);
  const problems = [
    ...caTroubles(state, now).map(wrong),
    ...(newer.length === 0
      ? []
      : [
          wrong(
            `its state is older than ${listed(
              newer.map(({ object }) => object),
              3,
            )}, as if restored from a backup`,
          ),
        ]),
    ...bare
      .filter(({ object }) => lackingIn(object).length === 0)
      .map(({ object }) => notYet(`${object} does not hold the bundle yet`)),
  ];
  const vouched = new Set(asked.map(({ object }) => object));
  for (const { object } of policy.leaves) {
    if (!vouched.has(object)) continue;
    const found = objects.get(object);
    if (found?.leaf === undefined) {
      if (lackingIn(object).length === 0) problems.push(notYet(`${object} holds no leaf yet`));
      continue;
    }
    const trouble = datesOf(found.leaf, now);
    if (trouble !== undefined) problems.push(wrong(`${object} ${trouble}`));
    else problems.push(...refusals(state, found, bundles, now, refusal).map(wrong));
  }
  for (const [object, lacks] of damaged) problems.push(...lacks.map((one) => wrong(`${object}: ${one}`)));
  return problems;
};

const UNDECIDED = 'it has no CA: what it waits for has to be decided first';
const isUndecided = ({ orphaned = [], clockDoubt }: Observed): boolean =>
  orphaned.length > 0 || clockDoubt !== undefined;

/** Of the CA that signs: a bundle is worth nothing with a CA that no peer accepts. */
const caTroubles = ({ generations }: AuthorityState, now: Instant): readonly string[] =>
  generations.flatMap(({ number, role, anchors: [ca] }) => {
    if (role !== 'current') return [];
    if (now >= ca.notAfter) return [`CA generation ${number} expired at ${iso(ca.notAfter)}`];
    return now < ca.notBefore ? [`CA generation ${number} is not valid before ${iso(ca.notBefore)}`] : [];
  });

const hasAnchors = ({ anchors }: ObjectSeen): boolean => anchors.length > 0;

const datesOf = (leaf: LeafSeen, now: Instant): string | undefined => {
  if (now >= leaf.notAfter) return `holds a leaf that expired at ${iso(leaf.notAfter)}`;
  return now < leaf.notBefore ? `holds a leaf that is not valid before ${iso(leaf.notBefore)}` : undefined;
};

/** Many objects hold the same few bundles. */
const distinct = (state: AuthorityState, holders: readonly ObjectSeen[]): readonly ObjectSeen[] => {
  const found = new Map<string, ObjectSeen>();
  for (const holder of holders) {
    const key = `${isOurs(state, holder)} ${holder.anchors.map(({ fingerprint }) => fingerprint).join()}`;
    if (!found.has(key)) found.set(key, holder);
  }
  return [...found.values()];
};

/** As this authority wrote it last: then its record is true of its certificates. */
const isOurs = (state: AuthorityState, { revision }: ObjectSeen): boolean => revision === state.revision;

const refusals = (
  state: AuthorityState,
  holder: ObjectSeen,
  bundles: readonly ObjectSeen[],
  now: Instant,
  refusal: Refusal,
): readonly string[] =>
  bundles.flatMap((bundle) => {
    const surely = isOurs(state, holder) && isOurs(state, bundle) && reaches(state, holder.leaf, bundle, now);
    const why = surely ? undefined : refusal(holder.id, bundle.id);
    return why === undefined ? [] : [`${bundle.id} refuses the leaf of ${holder.id}: ${why}`];
  });

/** Whether the leaf's chain ends at a CA of the bundle, by the records of both. */
const reaches = (
  state: AuthorityState,
  leaf: LeafSeen | undefined,
  { anchors }: ObjectSeen,
  now: Instant,
): boolean => {
  const held = new Set(anchors.map(({ fingerprint }) => fingerprint));
  const ends = ({ anchors: cas }: Generation): boolean =>
    cas.some((ca) => held.has(ca.fingerprint) && now >= ca.notBefore && now < ca.notAfter);
  const signer = state.generations.find(({ anchors: cas }) =>
    cas.some(({ fingerprint }) => fingerprint === leaf?.issuer),
  );
  // Several CAs in one generation are adopted ones: the record does not say which of them signed.
  if (signer === undefined || signer.anchors.length > 1) return false;
  let at: Generation | undefined = signer;
  for (let hops = 0; at !== undefined && hops <= (leaf?.chain.length ?? 0); hops++) {
    if (ends(at)) return true;
    const { number, since } = at;
    const cross = state.crosses.find(
      ({ of, fingerprint }) => of === number && leaf?.chain.includes(fingerprint),
    );
    // A cross-certificate is created when its subject begins to sign.
    if (cross === undefined || now >= cross.notAfter || now < since - SKEW) return false;
    at = generationOf(state, cross.by);
  }
  return false;
};
