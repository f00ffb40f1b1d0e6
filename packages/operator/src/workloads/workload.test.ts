import type { KubeObject } from '@handover/kube';
import { minute } from '@handover/material';
import { expect, test } from 'vitest';
import { type Rollable, workloadOf } from './workload.ts';
import { Progress } from './workload-cache.ts';

const object = (spec: object = {}, status: object = {}, generation = 1): KubeObject => ({
  metadata: { name: 'web', namespace: 'shop', resourceVersion: '7', generation },
  spec: { replicas: 2, ...spec },
  status: { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2, ...status },
});
const of = (kind: Rollable, spec?: object, status?: object, generation?: number) =>
  workloadOf(kind, object(spec, status, generation));

test.each<[string, Rollable, object, string | undefined, string | undefined]>([
  ['two replicas', 'Deployment', {}, undefined, undefined],
  ['one replica', 'Deployment', { replicas: 1 }, undefined, 'one replica: nothing else serves'],
  ['no word about replicas', 'Deployment', { replicas: undefined }, undefined, 'one replica'],
  [
    'one replica that is not doubled',
    'Deployment',
    { replicas: 1, strategy: { rollingUpdate: { maxSurge: 0 } } },
    undefined,
    'one replica: it is down',
  ],
  [
    'one replica that may go before the next one is there',
    'Deployment',
    { replicas: 1, strategy: { rollingUpdate: { maxUnavailable: 1 } } },
    undefined,
    'one replica: it is down',
  ],
  ...[2, '100%'].map((maxUnavailable): [string, Rollable, object, undefined, string] => [
    `all of two at once: ${maxUnavailable}`,
    'Deployment',
    { replicas: 2, strategy: { rollingUpdate: { maxUnavailable } } },
    undefined,
    'lets all 2 replicas stop at once: it is down',
  ]),
  ...[1, '99%', undefined].map((maxUnavailable): [string, Rollable, object, undefined, undefined] => [
    `one of two at a time: ${maxUnavailable}`,
    'Deployment',
    { replicas: 2, strategy: { rollingUpdate: { maxUnavailable } } },
    undefined,
    undefined,
  ]),
  ['no replica', 'Deployment', { replicas: 0 }, undefined, undefined],
  ['one of a set', 'StatefulSet', { replicas: 1 }, undefined, 'one replica: it is down'],
  ['Recreate', 'Deployment', { strategy: { type: 'Recreate' } }, undefined, 'Recreate'],
  ['paused', 'Deployment', { paused: true }, 'paused', undefined],
  ['OnDelete', 'DaemonSet', { updateStrategy: { type: 'OnDelete' } }, 'OnDelete', undefined],
  ['OnDelete of a set', 'StatefulSet', { updateStrategy: { type: 'OnDelete' } }, 'OnDelete', undefined],
  [
    'a partition',
    'StatefulSet',
    { updateStrategy: { rollingUpdate: { partition: 1 } } },
    'first 1 pods',
    undefined,
  ],
  ['a DaemonSet', 'DaemonSet', {}, undefined, undefined],
])('a workload tells whether it can be restarted safely: %s', (_, kind, spec, obstacle, warning) => {
  const found = of(kind, spec);
  if (obstacle === undefined) expect(found.obstacle).toBeUndefined();
  else expect(found.obstacle).toContain(obstacle);
  if (warning === undefined) expect(found.warning).toBeUndefined();
  else expect(found.warning).toContain(warning);
});

test('a workload rolls until every pod has its template and is available', () => {
  expect(of('Deployment').rolling).toBe(false);
  expect(of('Deployment', {}, {}, 2).rolling).toBe(true);
  expect(of('Deployment', {}, { updatedReplicas: 1 }).rolling).toBe(true);
  expect(of('Deployment', {}, { availableReplicas: 1 }).rolling).toBe(true);
  expect(of('Deployment', {}, { replicas: 3 }).rolling).toBe(true);
});

test('a workload that does not roll by itself does not count as rolling', () => {
  expect(of('Deployment', { paused: true }, { updatedReplicas: 0 }).rolling).toBe(false);
  expect(of('StatefulSet', { updateStrategy: { type: 'OnDelete' } }, { updatedReplicas: 0 }).rolling).toBe(
    false,
  );
});

test('a Deployment’s own conditions say why its rollout fails', () => {
  const conditions = [
    { type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable' },
    { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'timed out' },
  ];
  expect(of('Deployment', {}, { conditions }).failing).toBe('its rollout fails: timed out');
  const quota = [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'quota' }];
  expect(of('Deployment', {}, { conditions: quota }).failing).toBe('its rollout fails: quota');
  expect(of('Deployment', {}, { conditions: [{ type: 'Progressing', status: 'True' }] }).failing).toBe(
    undefined,
  );
});

test('a rollout without progress for ten minutes is named, and one that goes on is not', () => {
  let now = 0;
  const progress = new Progress(() => now);
  const still = of('StatefulSet', {}, { updatedReplicas: 0 });
  progress.seen(still);
  now = 9 * minute;
  progress.seen(still);
  expect(progress.failing(still)).toBeUndefined();
  now = 10 * minute;
  expect(progress.failing(still)).toContain('no progress');
  const further = of('StatefulSet', {}, { updatedReplicas: 1 });
  progress.seen(further);
  expect(progress.failing(further)).toBeUndefined();
  now = 20 * minute;
  expect(progress.failing(further)).toContain('no progress');
  progress.seen(of('StatefulSet'));
  expect(progress.failing(of('StatefulSet'))).toBeUndefined();
});

test('a workload with any spec and status is read without a crash', () => {
  for (const spec of [undefined, null, 7, 'x', [], { strategy: 'x', template: { metadata: 1, spec: [] } }])
    for (const status of [undefined, null, { conditions: 'x' }, { conditions: [null, 1, {}] }])
      expect(workloadOf('Deployment', { metadata: {}, spec, status } as KubeObject).kind).toBe('Deployment');
});
