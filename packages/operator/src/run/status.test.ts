import type { Condition, ConsumerSeen, Note, Plan } from '@handover/core';
import type { Observation } from '@handover/engine';
import { instant } from '@handover/material';
import { expect, test } from 'vitest';
import { declaredOf } from '../resources/declared.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { statusOfAuthority, statusOfLeaves } from './status.ts';

const consumer = (id: string, blocks: boolean): ConsumerSeen => ({
  id,
  reload: 'restart',
  ownersWord: false,
  blocks,
  presents: [],
  verifies: [],
  instances: [],
  workload: undefined,
});
const consumers = [consumer('Deployment prod/web', true), consumer('Deployment evil/x', false)];

/** Status of Authority prod/mesh, which has no CA yet. */
const statusWith = (seen: readonly unknown[], notes: readonly Note[]) => {
  const metadata = { namespace: 'prod', name: 'mesh' };
  // Only what is looked at.
  const observation = {
    now: instant(1_000),
    hooks: [],
    responsibilities: {
      authority: { metadata },
      leaves: new Map(),
      bundles: new Map(),
      refused: [],
      policy: {},
    },
    record: undefined,
    seen: { consumers: seen, objects: [] },
  } as unknown as Observation;
  const plan: Plan = { phase: 'Stable', actions: [], blockedBy: [], notes, retained: [], wakeAt: undefined };
  return statusOfAuthority(declaredOf('Authority', { metadata, spec: {} }), observation, plan);
};

/** Conditions beside Ready and Blocked. */
const saidWith = (notes: readonly Note[]): readonly Condition[] => {
  const { conditions } = statusWith(consumers, notes) as { conditions: readonly Condition[] };
  return conditions.filter(({ type }) => type !== 'Ready' && type !== 'Blocked');
};

test('a failing workload of another namespace is no condition of the Authority', () => {
  const object = 'Deployment evil/x';
  const notes: readonly Note[] = [
    { code: 'RolloutFailing', object, message: 'its rollout fails: call this number' },
    { code: 'CannotRestart', object, message: 'its rollout is paused' },
    { code: 'AwayWhileRestarting', object, message: 'it has one replica' },
  ];
  expect(saidWith(notes)).toEqual([]);
});

test('a failing workload of the Authority’s own namespace is a condition of the Authority', () => {
  const note = { code: 'RolloutFailing', object: 'Deployment prod/web', message: 'it fails' } as const;
  expect(saidWith([note])).toMatchObject([{ type: 'Degraded', status: 'True', reason: 'RolloutFailing' }]);
});

test('a Leaf is not Ready while its Authority has no state, though its Secret holds a valid leaf', () => {
  const metadata = { namespace: 'prod', name: 'web' };
  const declared = declaredOf('Leaf', { metadata, spec: {} });
  const leaf = { metadata, spec: { secretName: 'web', renew: { at: 0.5 } } };
  const held = { fingerprint: 'f', issuer: 'ca', notBefore: instant(0), notAfter: instant(9_000) };
  const observation = {
    now: instant(1_000),
    responsibilities: { leaves: new Map([['prod/secrets/web', leaf]]), refused: [] },
    record: undefined,
    seen: { objects: [{ id: 'prod/secrets/web', anchors: [], leaf: held }] },
  } as unknown as Observation;
  const resolved = { declared: [declared] } as unknown as ResolvedResources;
  expect(statusOfLeaves(resolved, observation).get(declared)).toMatchObject({
    conditions: [{ type: 'Ready', status: 'False', reason: 'AuthorityNotReady' }],
  });
});

test('the status tells people without a right to Secrets which server refuses its clients now', () => {
  const at = instant(1_000);
  const instance = {
    uid: 'u',
    createdAt: instant(0),
    ready: true,
    stamp: undefined,
    proofs: [],
    served: {
      at,
      since: instant(0),
      leaves: [],
      none: { reason: 'unreachable', why: 'db:1 cannot be reached (ECONNREFUSED)' },
    },
  };
  const serving = consumers.map((one) => ({
    ...one,
    presents: ['prod/secrets/web'],
    instances: [instance],
  }));
  const status = statusWith(serving, []);
  expect(status).toMatchObject({
    consumers: [
      {
        name: 'Deployment prod/web',
        serves: expect.stringMatching(/ECONNREFUSED.*since 1970-01-01T00:00:00/),
      },
    ],
  });
});
