import { type LeafSeen, recordExternalSigning, withRole } from '@handover/core';
import { day, hour, instant } from '@handover/material';
import { fallBehind, modelChain } from './act.ts';
import { BASE, type ModelObject, type ModelWorld, type State, ticks } from './model.ts';
import { type May, spend } from './moves.ts';

const secondsOf = (time: number): number => Math.round((time - BASE) / 1000);

/** A leaf of the CA that signs now, with its chain. */
const signedNow = (world: ModelWorld, { authority, now }: State, again: number): LeafSeen | undefined => {
  const current = authority && withRole(authority, 'current');
  if (authority === undefined || current?.hasKey !== true) return undefined;
  const ca = current.anchors[0];
  const timed = world.timed !== undefined;
  const notBefore = timed ? instant(now - hour) : instant(BASE - 400 * day);
  const notAfter = timed
    ? instant(Math.min(now + ticks(world, world.timed.leafLifetime), ca.notAfter))
    : instant(BASE + 3000 * day);
  const dates = timed
    ? `@${secondsOf(notBefore)}~${secondsOf(notAfter)}/${ca.fingerprint.split('@')[1] ?? ''}`
    : '';
  return {
    fingerprint: `l${current.number}r${again}${dates}`,
    issuer: ca.fingerprint,
    chain: authority.crosses.filter(({ of }) => of === current.number).map((cross) => cross.fingerprint),
    notBefore,
    notAfter,
    spec: 'lent',
    writtenAt: BASE,
    issuerSince: BASE,
    replacedOne: false,
    othersExpire: undefined,
  };
};

const trustedNow = ({ authority }: State): readonly string[] =>
  (authority?.generations ?? [])
    .filter(({ role }) => role !== 'distrusted')
    .flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint));

/** The authority remembers a leaf for another namespace before it is handed out. */
const remembering = (
  { authority }: State,
  { notAfter }: LeafSeen,
  object: string | undefined,
): State['authority'] =>
  authority === undefined || object === undefined
    ? authority
    : (recordExternalSigning(authority, { notAfter, isUnseen: false, elsewhere: { object } }) ?? authority);

/** A leaf that was signed comes into its object, perhaps much later. */
const written = (world: ModelWorld, state: State, id: string): State | undefined => {
  const before = state.objects[id];
  const signed = state.lent[id]?.signed;
  if (before === undefined || signed === undefined) return undefined;
  const { now } = state;
  const held = new Map(before.anchors.map(({ fingerprint, since }) => [fingerprint, since]));
  const changed = before.anchors.map(({ fingerprint }) => fingerprint).join() !== signed.anchors.join();
  const same = before.leaf?.issuer === signed.leaf.issuer;
  const object: ModelObject = {
    ...before,
    version: before.version + 1,
    anchors: signed.anchors.map((fingerprint) => ({ fingerprint, since: held.get(fingerprint) ?? now })),
    changedAt: changed ? now : before.changedAt,
    leaf: {
      ...signed.leaf,
      writtenAt: now,
      issuerSince: same ? (before.leaf?.issuerSince ?? now) : now,
    },
    stale:
      world.caches !== true
        ? []
        : [
            ...before.stale,
            {
              anchors: [...held.keys()],
              chain: modelChain(before),
              until: instant(now + ticks(world, 2)),
            },
          ],
  };
  const after = {
    ...state,
    objects: { ...state.objects, [id]: object },
    lent: { ...state.lent, [id]: { asked: false } },
  };
  return fallBehind(world, after, id, changed, modelChain(before).join() !== modelChain(object).join());
};

/** What the programs do that write objects of their own: get a leaf signed, and write it. */
export const lentMoves = (world: ModelWorld, state: State, may: May): void => {
  for (const [id, nature] of Object.entries(world.lent ?? {})) {
    const now = state.lent[id];
    if (now === undefined || nature.stuck === true || nature.gone === true) continue;
    if (now.signed !== undefined) {
      may(`another program writes its new leaf into ${id}`, written(world, state, id));
      continue;
    }
    const held = state.objects[id]?.leaf;
    const count = Number(/r(\d+)/.exec(held?.fingerprint ?? '')?.[1] ?? 0) + 1;
    const fresh = signedNow(world, state, 0);
    const isSame = fresh !== undefined && fresh.issuer === held?.issuer;
    const leaf = isSame ? signedNow(world, state, count) : fresh;
    if (leaf === undefined) continue;
    const lent = { ...state.lent, [id]: { ...now, signed: { leaf, anchors: trustedNow(state) } } };
    const authority = remembering(state, leaf, nature.elsewhere === true ? id : undefined);
    const renewal = spend(state, 'unasked');
    if (now.asked || (nature.unasked === true && !isSame))
      may(`a leaf for ${id} is signed`, { ...state, authority, lent });
    else if (renewal !== undefined)
      may(`a leaf for ${id} is signed unasked`, { ...state, authority, budget: renewal.budget, lent }, false);
  }
  unseenMoves(world, state, may);
};

/** A leaf that no object shows: the authority remembers its end before it is handed out. */
const unseenMoves = (world: ModelWorld, state: State, may: May): void => {
  const { authority } = state;
  const spent = spend(state, 'unseen');
  const leaf = signedNow(world, state, 0);
  if (spent === undefined || leaf === undefined || authority === undefined) return;
  for (const [id, nature] of Object.entries(world.natures)) {
    if (nature.unseen !== true) continue;
    const generations = authority.generations.map((one) =>
      one.role === 'current' ? { ...one, unseenUntil: leaf.notAfter } : one,
    );
    const pod = {
      created: state.now,
      ending: false,
      pending: false,
      stamp: undefined,
      bundle: [],
      chain: [leaf.fingerprint, ...leaf.chain],
      bundleBehind: undefined,
      leafBehind: undefined,
    };
    may(
      `${id} gets a leaf that no object shows`,
      {
        ...spent,
        authority: { ...authority, generations },
        consumers: { ...state.consumers, [id]: { pods: [pod], stamp: undefined } },
      },
      false,
    );
  }
};
