import { EXPIRY_GRACE, type LeafSeen, type ObjectSeen, withRole } from '@handover/core';
import type { AuthorityId, AuthorityRecord, ObjectId } from '@handover/engine';
import { type Instant, instant } from '@handover/material';
import { PROGRAM } from './kinds.ts';

/** A Secret that was seen with a leaf of an authority. */
interface Remembered {
  /** Since when it has been there, as the oldest of what asked for it says; undefined: long ago. */
  readonly since: Instant | undefined;
  /** The leaf that it was last seen with, and the end of the last one of all. */
  readonly leaf: LeafSeen;
  readonly end: Instant;
  /** When it was first seen without. */
  readonly goneAt?: Instant;
}

/** So many that are gone, for each authority; the oldest is forgotten first. */
const MOST = 1_000;

/**
 * Leaves of the authority's own namespace whose Secret was deleted, or got a leaf of another issuer. Pods that began before have them still.
 * Only this process remembers: after a restart they are as unknown as those of a Leaf whose Secret was deleted.
 */
export class DeletedLeafTracker {
  readonly #known = new Map<AuthorityId, Map<ObjectId, Remembered>>();

  /** What was seen, as old as it is known to be; and what is gone. */
  update(
    authority: AuthorityId,
    namespace: string,
    { state }: AuthorityRecord,
    seen: readonly ObjectSeen[],
    now: Instant,
  ): readonly ObjectSeen[] {
    const before = this.#known.get(authority);
    const known = new Map([...(before ?? [])].filter(([, { end }]) => now < end + EXPIRY_GRACE));
    const there = new Set(seen.map(({ id }) => id));
    const cas = new Set(
      state.generations.flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint)),
    );
    for (const [id, one] of known) {
      if (there.has(id)) continue;
      // No peer trusts a leaf of a CA that was retired.
      if (cas.has(one.leaf.issuer)) known.set(id, { ...one, goneAt: one.goneAt ?? now });
      else known.delete(id);
    }
    const objects = seen.map((object) => {
      const { id, leaf, writtenBy, elsewhere } = object;
      if (leaf === undefined || writtenBy === undefined || elsewhere === true) return object;
      const last = known.get(id);
      const since = last === undefined ? writtenBy.since : earlier(last.since, writtenBy.since);
      const end = instant(Math.max(leaf.notAfter, last?.end ?? 0));
      known.delete(id);
      known.set(id, { since, leaf, end });
      return { ...object, writtenBy: { ...writtenBy, ...(since === undefined ? {} : { since }) } };
    });
    const lost = [...known].filter(([, { goneAt }]) => goneAt !== undefined).map(([id]) => id);
    for (const id of lost.slice(0, Math.max(lost.length - MOST, 0))) known.delete(id);
    this.#known.set(authority, known);
    const current = withRole(state, 'current');
    if (current === undefined) return objects;
    // To the planner it is an object that has held the right things since: a pod that began later cannot have the old leaf.
    const anchors = state.generations
      .filter(({ role }) => role !== 'distrusted')
      .flatMap((generation) => generation.anchors);
    const gone = [...known].flatMap(([id, { since, leaf, goneAt }]): ObjectSeen[] => {
      if (goneAt === undefined) return [];
      return [
        {
          id,
          version: '',
          revision: undefined,
          anchors: anchors.map(({ fingerprint }) => ({ fingerprint, since: goneAt })),
          changedAt: goneAt,
          leaf: {
            ...leaf,
            issuer: current.anchors[0].fingerprint,
            chain: [],
            writtenAt: goneAt,
            issuerSince: goneAt,
          },
          writtenBy: {
            program: PROGRAM,
            asked: 'never',
            gone: true,
            namespace,
            ...(since === undefined ? {} : { since }),
          },
        },
      ];
    });
    return [...objects, ...gone];
  }
}

const earlier = (a: Instant | undefined, b: Instant | undefined): Instant | undefined =>
  a === undefined || b === undefined ? undefined : instant(Math.min(a, b));
