import type { ConsumerSeen, InstanceSeen } from '@handover/core';
import { after, type Duration, type Instant } from '@handover/material';
import type { AuthorityId, ObjectId } from '../snapshot/home.ts';

interface Lately {
  readonly seen: ConsumerSeen;
  readonly at: Instant;
}

/** The objects that a consumer of which only the evidence is remembered may use. */
interface Objects {
  readonly presents: readonly ObjectId[];
  readonly verifies: readonly ObjectId[];
}

const fromMemory = (name: string, instances: readonly InstanceSeen[], objects: Objects): ConsumerSeen => {
  const proofs = instances.flatMap((instance) => instance.proofs);
  return {
    id: name,
    reload: 'unknown',
    ownersWord: false,
    blocks: true,
    presents: proofs.some(({ issuer }) => issuer !== undefined) ? objects.presents : [],
    verifies: proofs.some(({ anchors, refuses }) => (anchors ?? refuses) !== undefined)
      ? objects.verifies
      : [],
    instances: instances.map((instance) => ({
      ...instance,
      createdAt: undefined,
      ready: true,
      stamp: undefined,
    })),
    workload: undefined,
  };
};

/**
 * Consumers that their owner took out of the resources, or that are asked no more, in mid-rotation: what they showed last counts for `reloadWithin`
 * more, as a program that shows nothing has that time. Otherwise the old CA would go the moment that its user is no longer looked at.
 */
export class LatelyAsked {
  readonly #last = new Map<AuthorityId, Map<string, Lately>>();

  /** `remembered`: what an earlier process saw, by name and process; asked for once. */
  begin(
    id: AuthorityId,
    remembered: ReadonlyMap<string, InstanceSeen> | undefined,
    objects: Objects,
  ): Map<string, Lately> {
    const known = this.#last.get(id);
    if (known !== undefined) return known;
    const byName = new Map<string, InstanceSeen[]>();
    for (const [key, instance] of remembered ?? [])
      if (instance.served !== undefined) {
        const [name = ''] = key.split(' ');
        byName.set(name, [...(byName.get(name) ?? []), instance]);
      }
    const last = new Map(
      [...byName].map(([name, instances]): [string, Lately] => {
        const at = Math.max(...instances.map(({ served }) => served?.at ?? 0)) as Instant;
        return [name, { seen: fromMemory(name, instances, objects), at }];
      }),
    );
    this.#last.set(id, last);
    return last;
  }

  /** `seen`: the consumers that are declared. Returns those that were asked until lately, and are not now. */
  others(
    last: Map<string, Lately>,
    seen: readonly ConsumerSeen[],
    reloadWithin: Duration,
    now: Instant,
  ): readonly ConsumerSeen[] {
    const asked = new Set<string>();
    for (const one of seen)
      if (one.instances.length > 0) {
        asked.add(one.id);
        last.set(one.id, { seen: one, at: now });
      }
    const others: ConsumerSeen[] = [];
    for (const [name, { seen: before, at }] of last) {
      if (asked.has(name)) continue;
      // A date after now is from before the clock was set back.
      if (at > now || now >= after(at, reloadWithin)) last.delete(name);
      else others.push({ ...before, id: `${name} (asked until lately)` });
    }
    return others;
  }
}
