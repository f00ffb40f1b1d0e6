import type { ObjectSeen } from '@handover/core';
import { duration, type Instant } from '@handover/material';
import type { AuthorityId, ObjectId, StoredObject } from '../snapshot/home.ts';
import { type HookStatus, hookStatus } from '../snapshot/hook-status.ts';
import { type Hook, type HookRecord, heardBy, hooksOf, partsOf, restarts } from '../snapshot/hooks.ts';
import type { Responsibilities } from '../snapshot/responsibilities.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';

/** A hook, and what is remembered of it. */
export interface HookSeen {
  readonly hook: Hook;
  readonly record: HookRecord | undefined;
}

export const hooksSeen = ({ hooks, catalogue }: Snapshot, authority: AuthorityId): readonly HookSeen[] =>
  hooks === undefined
    ? []
    : hooksOf(catalogue, authority).map((hook) => ({ hook, record: hooks.read(hook) }));

/** Even where programs reload in no time, they do so only after they were told: what they are not told of yet is dated now. */
export const afterTelling = (
  responsibilities: Responsibilities,
  hooks: readonly HookSeen[],
): Responsibilities => {
  const { policy } = responsibilities;
  if (policy.reloadWithin > 0 || hooks.every(({ hook }) => restarts(hook))) return responsibilities;
  return { ...responsibilities, policy: { ...policy, reloadWithin: duration(1) } };
};

export const statusOfHook = (
  { hook, record }: HookSeen,
  stored: ReadonlyMap<ObjectId, StoredObject>,
): HookStatus => {
  const parts = hook.objects.flatMap((id) => {
    const part = partsOf(id, stored.get(id));
    return part === undefined ? [] : [[id, part] as const];
  });
  return hookStatus(hook, record, new Map(parts));
};

/**
 * A promise to reload counts from when the program was told, not from when the file was written. A change that the hook does not hear
 * of counts from its write, and so does one that a restart brings: the restart itself is the evidence.
 */
export const sinceTold = (
  seen: ObjectSeen,
  { hook, record }: HookSeen,
  stored: StoredObject,
  now: Instant,
): ObjectSeen => {
  if (restarts(hook)) return seen;
  const told = record?.told?.[seen.id];
  const heard = heardBy(hook);
  const toldOf = (fingerprint: string, since: Instant): Instant => {
    const first = told?.anchors.find((anchor) => anchor.fingerprint === fingerprint)?.since;
    return first === undefined ? now : (Math.max(since, first) as Instant);
  };
  const { leaf } = seen;
  const issuerTold =
    leaf !== undefined && told?.issuer?.fingerprint === leaf.issuer ? told.issuer.since : now;
  const trust = partsOf(seen.id, stored)?.trust;
  return {
    ...seen,
    ...(heard.includes('trust')
      ? {
          anchors: seen.anchors.map(({ fingerprint, since }) => ({
            fingerprint,
            since: toldOf(fingerprint, since),
          })),
          changedAt: trust !== undefined && told?.parts.trust === trust ? seen.changedAt : now,
        }
      : {}),
    ...(leaf !== undefined && heard.includes('leaf')
      ? { leaf: { ...leaf, issuerSince: Math.max(leaf.issuerSince, issuerTold) as Instant } }
      : {}),
  };
};
