import { type Observed, type Plan, plan, type Transition, withRole } from '@handover/core';
import {
  claimOf,
  digestOf,
  type FileData,
  type Home,
  type Look,
  type ObjectRecord,
  type StoredObject,
  sealed,
  type TakeLook,
} from '@handover/engine';
import { duration } from '@handover/material';
import { expect, it } from 'vitest';
import type { FaultName } from './faults.ts';
import type { SimulationFailure } from './invariant.ts';
import { SIMULATED_AUTHORITY } from './resources.ts';
import { runSeed } from './simulate.ts';
import { STRATEGIES, type Strategy } from './strategies.ts';

const sabotaged = (decide: Strategy['plan']): Strategy => ({ ...STRATEGIES.phased, plan: decide });

/** Takes a step that the plan withholds. */
const force = (seen: Observed, made: Plan, transition: Transition | undefined): Plan => {
  const expectRevision = seen.authority?.revision ?? 0;
  if (transition === undefined || made.actions.length > 0) return made;
  const swap = { ...transition, expect: expectRevision, revision: expectRevision + 1, why: 'of sabotage' };
  return { ...made, blockedBy: [], actions: [swap] };
};

const rolesOf = (seen: Observed, role: 'previous' | 'distrusted'): readonly number[] =>
  (seen.authority?.generations ?? []).filter((item) => item.role === role).map((item) => item.number);

interface Worlds {
  readonly faults?: readonly FaultName[];
  readonly meddle?: (home: Home) => Home;
  /** The first seed that showed it when the test was written: no need to go through all before it. Default 1. */
  readonly from?: number;
  readonly seeds?: number;
}

/** Whether one of these worlds shows this kind of failure. */
const shows = async (
  strategy: Strategy,
  kind: SimulationFailure['kind'],
  { faults, meddle = (home) => home, from = 1, seeds = 200 }: Worlds = {},
): Promise<boolean> => {
  for (let seed = from; seed < from + seeds; seed++) {
    const { firstFailure } = await runSeed(seed, { strategy: 'phased', faults }, { strategy, meddle });
    if (firstFailure?.kind === kind) return true;
  }
  return false;
};

/** A home that shows objects otherwise than they are, and takes every record for its own, sealed or not. */
const showing =
  (changed: (id: string, stored: Recorded) => Recorded) =>
  (home: Home): Home => {
    const believing = (take: TakeLook) => async (): Promise<Look> => {
      const look = await take();
      const { objects, authorities } = look;
      const read = async (id: string): Promise<StoredObject | undefined> => {
        const [stored, authority] = [await objects.read(id), await authorities.load(SIMULATED_AUTHORITY)];
        if (stored?.record === undefined || authority === undefined) return stored;
        const shown = changed(id, { ...stored, record: stored.record });
        const seal = sealed(id, shown.record, SIMULATED_AUTHORITY, authority.sealKey);
        return { ...shown, ...claimOf(shown.record, seal) };
      };
      return { ...look, objects: { ...objects, read } };
    };
    return { ...home, fresh: believing(home.fresh), cached: home.cached && believing(home.cached) };
  };
type Recorded = StoredObject & { readonly record: ObjectRecord };

const credulous = showing((_, stored) => stored);

/** Shows the first bytes of each bundle for ever, under the newest record. */
const stale = (home: Home): Home => {
  const first = new Map<string, FileData>();
  return showing((id, stored) => {
    if (!id.includes('/configmaps/')) return stored;
    const data = first.get(id) ?? stored.data;
    first.set(id, data);
    return { ...stored, data, record: { ...stored.record, digest: digestOf(data) } };
  })(home);
};

it('the checker sees through a planner that retires without waiting for gate 2', async () => {
  const broken = sabotaged((seen, policy, now) => {
    const made = plan(seen, policy, now);
    const [generation] = rolesOf(seen, 'previous');
    if (rolesOf(seen, 'distrusted').length > 0) return made;
    return force(seen, made, generation === undefined ? undefined : { kind: 'retire', generation });
  });
  expect(await shows(broken, 'handshake', { from: 3 })).toBe(true);
});

it('the checker sees through a planner that ends a distrust while a verifier still trusts', async () => {
  const broken = sabotaged((seen, policy, now) => {
    const generations = rolesOf(seen, 'distrusted');
    const done = generations.length === 0 ? undefined : ({ kind: 'distrust-done', generations } as const);
    return force(seen, plan(seen, policy, now), done);
  });
  expect(await shows(broken, 'distrust')).toBe(true);
});

it('the checker sees through a planner that leaves the cross-certificate out of the chain', async () => {
  const broken = sabotaged((seen, policy, now) => {
    const made = plan(seen, policy, now);
    const actions = made.actions.map((action) =>
      action.kind === 'write-leaf' ? { ...action, chain: [] } : action,
    );
    return { ...made, actions };
  });
  expect(await shows(broken, 'handshake', { from: 17 })).toBe(true);
  expect(await shows(broken, 'idempotence')).toBe(true);
});

it('the checker sees through a planner that drops the old CA from bundles too early', async () => {
  const broken = sabotaged((seen, policy, now) => {
    const made = plan(seen, policy, now);
    const previous = seen.authority === undefined ? undefined : withRole(seen.authority, 'previous');
    const gone = previous?.anchors.map((anchor) => anchor.fingerprint) ?? [];
    const actions = made.actions.map((action) =>
      'anchors' in action
        ? { ...action, anchors: action.anchors.filter((item) => !gone.includes(item)) }
        : action,
    );
    return { ...made, actions };
  });
  expect(await shows(broken, 'bundle')).toBe(true);
});

it('the checker sees through a planner that assumes that every consumer reloads at once', async () => {
  const broken = sabotaged((seen, policy, now) => plan(seen, { ...policy, reloadWithin: duration(0) }, now));
  expect(await shows(broken, 'handshake', { faults: [], from: 4 })).toBe(true);
});

it('the checker sees through a planner that forgets that a pod can start from an old cache', async () => {
  const broken = sabotaged((seen, policy, now) => plan(seen, { ...policy, cacheLag: duration(0) }, now));
  expect(await shows(broken, 'handshake', { faults: ['newcomers', 'evictions'] })).toBe(true);
});

it('the checker sees through a planner that looks at one pod of each workload only', async () => {
  const broken = sabotaged((seen, policy, now) => {
    const consumers = seen.consumers.map((one) => ({ ...one, instances: one.instances.slice(-1) }));
    return plan({ ...seen, consumers }, policy, now);
  });
  expect(await shows(broken, 'handshake', { from: 19 })).toBe(true);
});

it('the checker sees through a planner that does not notice that a presenter strips the cross-certificate', async () => {
  const broken = sabotaged((seen, policy, now) => {
    const consumers = seen.consumers.map((one) => ({ ...one, stripsCross: false }));
    return plan({ ...seen, consumers }, policy, now);
  });
  expect(await shows(broken, 'handshake', { faults: ['strips'] })).toBe(true);
});

it('the checker sees through a planner that trusts a clock that has leapt', async () => {
  const broken = sabotaged(({ steadySince: _, ...seen }, policy, now) => plan(seen, policy, now));
  expect(await shows(broken, 'handshake', { faults: ['clock-jumps', 'newcomers'], from: 10 })).toBe(true);
});

it('the checker sees through a planner that never rolls what reads its files only at its start', async () => {
  const broken = sabotaged((seen, policy, now) => {
    const made = plan(seen, policy, now);
    return { ...made, actions: made.actions.filter((action) => action.kind !== 'stamp') };
  });
  expect(await shows(broken, 'liveness')).toBe(true);
});

it('the checker sees through a planner that waits without a word', async () => {
  const broken = sabotaged((seen, policy, now) => ({ ...plan(seen, policy, now), blockedBy: [] }));
  expect(await shows(broken, 'liveness')).toBe(true);
});

it('the checker sees through a planner that believes a clock that leaps ahead', async () => {
  const broken = sabotaged(({ clockDoubt: _ignored, ...seen }, policy, now) => plan(seen, policy, now));
  expect(await shows(broken, 'handshake', { faults: ['clock-leaps'] })).toBe(true);
});

it('the checker sees through a planner that takes what another namespace claims for its own', async () => {
  const home = <T extends { readonly elsewhere?: boolean }>({ elsewhere: _border, ...rest }: T) => rest;
  const broken = sabotaged((seen, policy, now) =>
    plan(
      { ...seen, objects: seen.objects.map(home) },
      { ...policy, leaves: policy.leaves.map(home), bundles: policy.bundles.map(home) },
      now,
    ),
  );
  const worlds = { faults: ['neighbour'], meddle: credulous } as const;
  // Seals alone keep a made-up revision out; without them the planner's own border is what holds.
  expect(await shows(broken, 'liveness', worlds)).toBe(true);
  expect(await shows(STRATEGIES.phased, 'liveness', { ...worlds, seeds: 4 })).toBe(false);
});

it('the checker sees through a home that says Ready by its records while a bundle refuses a leaf', async () => {
  expect(await shows(STRATEGIES.phased, 'ready', { faults: [], meddle: stale })).toBe(true);
});
