import { type Action, isElsewhere, plan, withRole } from '@handover/core';
import { duration } from '@handover/material';
import { expect, it } from 'vitest';
import { credulous, force, rolesOf, sabotaged, shows, stale } from '../test/sabotage.ts';
import { STRATEGIES } from './strategies.ts';

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
  expect(await shows(broken, 'handshake', { from: 41 })).toBe(true);
});

it('the checker sees through a planner that does not notice that a presenter strips the cross-certificate', async () => {
  const broken = sabotaged((seen, policy, now) => {
    const consumers = seen.consumers.map((one) => ({
      ...one,
      instances: one.instances.map((instance) => ({
        ...instance,
        proofs: instance.proofs.map((proof) =>
          proof.chain === undefined ? proof : { ...proof, chain: 'sends' as const },
        ),
      })),
    }));
    return plan({ ...seen, consumers }, policy, now);
  });
  expect(await shows(broken, 'handshake', { faults: ['strips', 'second-rotation'] })).toBe(true);
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
  const worlds = { faults: ['neighbour'], meddle: credulous, from: 23 } as const;
  // Seals alone keep a made-up revision out; without them the planner's own border is what holds.
  expect(await shows(broken, 'liveness', worlds)).toBe(true);
  expect(await shows(STRATEGIES.phased, 'liveness', { ...worlds, seeds: 4 })).toBe(false);
});

it('the checker sees through a home that says Ready by its records while a bundle refuses a leaf', async () => {
  expect(await shows(STRATEGIES.phased, 'ready', { faults: [], meddle: stale })).toBe(true);
});

/** A planner that changes each step before it is taken. */
const stepping = (changed: (action: Action) => Action | undefined) =>
  sabotaged((seen, policy, now) => {
    const made = plan(seen, policy, now);
    return { ...made, actions: made.actions.flatMap((action) => changed(action) ?? []) };
  });

it('the checker sees through a planner that forgets the old CA while a workload of another namespace shows its leaf', async () => {
  const broken = stepping((action) => {
    if (action.kind !== 'retire') return action;
    const { retain: _forgotten, ...rest } = action;
    return rest;
  });
  expect(await shows(broken, 'handshake', { faults: [], from: 23 })).toBe(true);
});

it('the checker sees through a planner that counts time for a workload of another namespace against what it shows', async () => {
  const broken = sabotaged((seen, policy, now) =>
    plan(seen, { ...policy, patienceElsewhere: policy.reloadWithin }, now),
  );
  expect(await shows(broken, 'handshake', { faults: [], from: 23 })).toBe(true);
});

it('the checker sees through a planner that does not remember what it signed for another namespace', async () => {
  const broken = stepping((action) =>
    action.kind === 'record-issuance' ? { ...action, elsewhere: { objects: [] } } : action,
  );
  expect(await shows(broken, 'idempotence', { faults: ['newcomers'], from: 11 })).toBe(true);
});

it('the checker sees through a planner that keeps a CA trusted for workloads of another namespace that show a newer leaf', async () => {
  const broken = stepping((action) => (action.kind === 'drop' ? undefined : action));
  expect(await shows(broken, 'liveness', { faults: [], from: 27 })).toBe(true);
});

it('the checker sees through a planner that never rolls a workload of another namespace, and so never drops its CA', async () => {
  const broken = stepping((action) => (action.kind === 'stamp' && isElsewhere(action) ? undefined : action));
  expect(await shows(broken, 'liveness', { faults: [], from: 23 })).toBe(true);
});

it('the checker sees through a planner that overtakes a verifier of another namespace without a word, where no cross-certificate covers it', async () => {
  const silent = stepping((action) => ({
    ...action,
    why: action.why.replace(/, but .+ did not confirm in time/, ''),
  }));
  const world = { from: 365, seeds: 1 } as const;
  expect(await shows(silent, 'handshake', world)).toBe(true);
  expect(await shows(STRATEGIES.phased, 'handshake', world)).toBe(false);
});
