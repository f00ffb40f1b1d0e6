import { plan, withRole } from '@handover/core';
import { expect, test } from 'vitest';
import { explore } from './explore.ts';
import type { PlannerUnderCheck } from './moves.ts';
import { Oracle } from './oracle.ts';
import { worlds } from './worlds.ts';

const oracle = new Oracle();
const named = (name: string) => {
  const world = worlds.find((candidate) => candidate.name === name);
  if (world === undefined) throw new Error(`no world ${name}`);
  return world;
};

// A few of the fast worlds: `npm run modelcheck` goes through all.
const quick = [
  'two hot peers that acknowledge',
  'two hot peers, instant',
  'an unknown verifier that never reloads',
  'a Secret is deleted',
  'a verifier that never confirms, up to the deadline',
];

test.each(quick)('no interleaving of the planner breaks the invariant with %s', (name) => {
  const { violation, states } = explore(named(name), oracle);
  expect(violation).toBeUndefined();
  expect(states).toBeGreaterThan(5);
});

test('a planner without gate 2 is caught, and the trace says how', () => {
  const hasty: PlannerUnderCheck = (seen, policy, now) => {
    const answer = plan(seen, policy, now);
    const state = seen.authority;
    const previous = state && withRole(state, 'previous');
    if (answer.actions.length > 0 || state === undefined || previous === undefined) return answer;
    const { revision } = state;
    const retire = {
      kind: 'retire',
      generation: previous.number,
      expect: revision,
      revision: revision + 1,
      why: '',
    } as const;
    return { ...answer, actions: [retire] };
  };
  const { violation } = explore(named('two hot peers that acknowledge'), oracle, hasty);
  expect(violation?.what).toMatch(/refuses|stable at 2/);
  expect(violation?.trace.at(0)).toBe('a rotation is asked for');
});

test('a planner that does nothing is caught by liveness', () => {
  const idle: PlannerUnderCheck = (seen, policy, now) => ({
    ...plan(seen, policy, now),
    actions: [],
    blockedBy: [],
  });
  expect(explore(named('two hot peers that acknowledge'), oracle, idle).violation?.what).toMatch(
    /nothing moves/,
  );
});
