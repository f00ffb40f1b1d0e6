import { type Duration, type Instant, iso } from '@handover/material';
import type { AuthorityState } from './authority.ts';
import type {
  ConsumerSeen,
  InstanceSeen,
  NotServed,
  ObjectSeen,
  Observed,
  Served,
  ServedLeaf,
} from './observed.ts';
import { listed } from './waiting.ts';

/**
 * `newest`: the leaf of its file. `older`: another leaf of this authority. `other`: that of another object. `foreign`: no CA of this
 * authority signed it. `unseen`: no leaf was shown.
 */
export const SERVING_STATES = ['newest', 'older', 'other', 'unseen', 'foreign', 'expired'] as const;
export type ServingState = (typeof SERVING_STATES)[number];

/** What one instance serves now, compared with what it should serve. */
export interface Serving {
  readonly instance: string;
  readonly state: ServingState;
  /** Object that the leaf is of, or should be of; undefined: it is not known. */
  readonly object: string | undefined;
  readonly leaf: ServedLeaf | undefined;
  /** CA generation that signed the leaf; undefined: none of this authority. */
  readonly generation: number | undefined;
  /** Why there is no leaf. */
  readonly reason: NotServed | undefined;
  readonly at: Instant;
  readonly since: Instant;
  /** Reads after the name of the consumer: "shows CA generation 1, CN=web, until …". */
  readonly text: string;
}

const nameOf = ({ names, fingerprint }: ServedLeaf): string =>
  names.length === 0 ? `leaf ${fingerprint.slice(0, 12)}` : listed(names, 3);

const untilOf = ({ notAfter }: ServedLeaf): string =>
  notAfter === undefined ? '' : `, until ${iso(notAfter)}`;

/** The worst first. */
const severity = ({ state }: Serving): number => -SERVING_STATES.indexOf(state);

interface Context {
  readonly state: AuthorityState | undefined;
  readonly objects: ReadonlyMap<string, ObjectSeen>;
  readonly now: Instant;
}

const generationIn = (state: AuthorityState | undefined, issuer: string | undefined): number | undefined =>
  state?.generations.find(({ anchors }) => anchors.some(({ fingerprint }) => fingerprint === issuer))?.number;

/** The object whose newest leaf it is, one that the consumer should present first. */
const ownerOf = ({ objects }: Context, presents: readonly string[], leaf: ServedLeaf): string | undefined =>
  [...presents, ...objects.keys()].find((id) => objects.get(id)?.leaf?.fingerprint === leaf.fingerprint) ??
  leaf.object;

const leafServing = (
  context: Context,
  { presents }: ConsumerSeen,
  leaf: ServedLeaf,
): Pick<Serving, 'state' | 'object' | 'generation' | 'text'> => {
  const { objects, now } = context;
  const owner = ownerOf(context, presents, leaf);
  const held = owner === undefined ? undefined : objects.get(owner)?.leaf;
  const isHeld = held?.fingerprint === leaf.fingerprint;
  const generation = generationIn(context.state, isHeld ? held?.issuer : leaf.issuer);
  const own = presents.find((id) => objects.get(id)?.leaf !== undefined);
  const object = owner ?? own ?? presents[0];
  const shown = `${generation === undefined ? nameOf(leaf) : `CA generation ${generation}, ${nameOf(leaf)}`}`;
  if (leaf.notAfter !== undefined && leaf.notAfter <= now)
    return {
      state: 'expired',
      object,
      generation,
      text: `shows a certificate that expired at ${iso(leaf.notAfter)} (${shown})`,
    };
  if (generation === undefined && !isHeld && leaf.signedBy !== undefined) {
    const signer = `, signed by ${leaf.signedBy}`;
    return {
      state: 'foreign',
      object,
      generation,
      text: `shows a certificate of a CA that this authority does not have (${shown}${signer}${untilOf(leaf)})`,
    };
  }
  const text = `shows ${shown}${untilOf(leaf)}`;
  if (owner !== undefined && presents.length > 0 && !presents.includes(owner))
    return { state: 'other', object: owner, generation, text: `${text}: the certificate of ${owner}` };
  if (leaf.notFor !== undefined)
    return {
      state: 'other',
      object,
      generation,
      text: `${text}: not for ${leaf.notFor}, which its probe asks for`,
    };
  if (isHeld || own === undefined) return { state: 'newest', object, generation, text };
  return { state: 'older', object, generation, text: `${text}: older than that of ${own}` };
};

const servingOf = (context: Context, consumer: ConsumerSeen, instance: InstanceSeen): readonly Serving[] => {
  const { served, name = instance.uid } = instance;
  if (served === undefined) return [];
  const { at, since, none } = served;
  const when = { instance: name, at, since };
  // A process that presents no leaf need not name one.
  const isOwed = consumer.presents.length > 0 || instance.unread?.trust !== undefined;
  if (none?.reason === 'unread' && !isOwed) return [];
  if (none !== undefined)
    return [
      {
        ...when,
        state: 'unseen',
        object: consumer.presents[0],
        leaf: undefined,
        generation: undefined,
        reason: none.reason,
        text: `shows no certificate: ${none.why}`,
      },
    ];
  return served.leaves.map((leaf) => ({
    ...when,
    ...leafServing(context, consumer, leaf),
    leaf,
    reason: undefined,
  }));
};

/** What each consumer serves now, the worst of its instances first; none: it is not asked. For people: no step rests on it. */
export const servings = (
  { authority, objects, consumers }: Pick<Observed, 'authority' | 'objects' | 'consumers'>,
  now: Instant,
): ReadonlyMap<string, readonly Serving[]> => {
  const context: Context = {
    state: authority,
    objects: new Map(objects.map((object) => [object.id, object])),
    now,
  };
  return new Map(
    consumers.map((consumer) => [
      consumer.id,
      consumer.instances
        .flatMap((instance) => servingOf(context, consumer, instance))
        .sort((a, b) => severity(a) - severity(b)),
    ]),
  );
};

/** Whether clients are refused now, or will be. An older leaf is in order until `reloadWithin` after the newer one was written. */
export const isServedWrong = (
  { state, reason, object, at }: Serving,
  objects: ReadonlyMap<string, ObjectSeen>,
  reloadWithin: Duration,
): boolean => {
  if (state === 'newest' || reason === 'pending') return false;
  const written = object === undefined ? undefined : objects.get(object)?.leaf?.writtenAt;
  return state !== 'older' || (written !== undefined && at - written > reloadWithin);
};

/** Since when and what, in one string: the same as long as nothing about it changes. */
export const sameServed = ({ leaves, none }: Pick<Served, 'leaves' | 'none'>): string =>
  none === undefined
    ? leaves
        .map(({ fingerprint }) => fingerprint)
        .sort()
        .join()
    : `none ${none.reason}`;
