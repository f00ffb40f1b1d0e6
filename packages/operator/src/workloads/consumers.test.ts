import { TRUST_HASH } from '@handover/core';
import type { Asking, AuthorityRecord, Responsibilities } from '@handover/engine';
import type { KubeObject } from '@handover/kube';
import { type Certificate, type Instant, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { PodConsumers } from './consumers.ts';
import { type Pod, podOf } from './pods.ts';
import { workloadOf } from './workload.ts';
import { Progress, type Workloads } from './workload-cache.ts';

const NOW = instant(Date.UTC(2030, 0, 1));
/** An Authority whose objects hold no leaf. */
const ASKED = { orphans: [], issuers: new Map<string, string>() };
const RESPONSIBILITIES = {
  id: 'default/mesh',
  authority: { metadata: { namespace: 'default', name: 'mesh' }, spec: { issueTo: {} } },
  leaves: new Map(),
  bundles: new Map(),
} as unknown as Responsibilities;

/** A DaemonSet of one node, at a moment when its old pod is gone and its new one not there yet. */
const daemonSet = (name: string, stamps: string, available = 0, namespace = 'default') =>
  workloadOf('DaemonSet', {
    metadata: { namespace, name, resourceVersion: '7', generation: 2 },
    spec: { template: { metadata: { annotations: { [TRUST_HASH]: stamps } } } },
    status: {
      observedGeneration: 2,
      desiredNumberScheduled: 1,
      updatedNumberScheduled: available,
      numberAvailable: available,
    },
  });

const sourceOf = (
  workloadCache: Partial<Workloads>,
  more: Partial<ConstructorParameters<typeof PodConsumers>[0]> = {},
) =>
  new PodConsumers({
    workloadCache: { workloads: () => [], progress: new Progress(() => 0), ...workloadCache } as Workloads,
    showing: { of: async () => undefined } as never,
    fresh: true,
    wordOf: () => undefined,
    labelsOf: async () => ({}),
    obstacle: () => undefined,
    isUnderWay: (consumer) => consumer === 'DaemonSet default/stamped-just-now',
    namespaces: () => new Map(),
    ...more,
  });

const at = (hour: number): Instant => instant(Date.UTC(2030, 0, 1, hour));
const dated = (hour: number): string => new Date(at(hour)).toISOString();

/** A pod that mounts the Secret of Leaf web. */
const podAt = (hour: number, owner: { kind: string; name: string } | undefined, restartPolicy = 'Always') => {
  const found = podOf({
    metadata: {
      namespace: 'default',
      name: `${owner?.name ?? 'bare'}-${hour}`,
      creationTimestamp: dated(hour),
      ...(owner === undefined
        ? {}
        : { ownerReferences: [{ apiVersion: 'apps/v1', uid: 'u', controller: true, ...owner }] }),
    },
    spec: {
      restartPolicy,
      containers: [{ name: 'main', volumeMounts: [{ name: 'tls', mountPath: '/tls' }] }],
      volumes: [{ name: 'tls', secret: { secretName: 'web' } }],
    },
    status: { phase: 'Running' },
  } as KubeObject);
  if (found === undefined) throw new Error('no pod');
  return found;
};

test('a pod with a certificate of its own is known by the fingerprint of that certificate, and no other pod is', async () => {
  const pod = (name: string): Pod => ({
    ...podAt(1, undefined),
    name,
    uid: name,
    references: [],
    signers: [{ signer: 'handover.dev/default.mesh', sources: 1, frozen: false }],
  });
  const known = new Map<string, readonly (string | undefined)[]>();
  const showing = {
    of: async ({ name }: Pod, { issuers }: Asking) => {
      known.set(
        name,
        ['leaf-a', 'leaf-b', 'leaf'].map((leaf) => issuers.get(leaf)),
      );
      return undefined;
    },
  } as never;
  const source = sourceOf(
    {
      freshPods: async () => [pod('a'), pod('b')],
      pods: () => [],
      makerOf: () => ({ kind: 'Pod', name: 'p' }),
    },
    {
      showing,
      podLeaves: {
        of: (uid) => ({
          certificate: { fingerprint: `leaf-${uid}` } as Certificate,
          issuedAt: NOW,
          issuer: 'ca2',
        }),
        refused: () => false,
      },
    },
  );
  const record = { state: { generations: [] } } as unknown as AuthorityRecord;
  await source.consumers(RESPONSIBILITIES, record, NOW, { orphans: [], issuers: new Map([['leaf', 'ca1']]) });
  expect(Object.fromEntries(known)).toEqual({ a: ['ca2', undefined, 'ca1'], b: [undefined, 'ca2', 'ca1'] });
});

test('a workload that an Authority restarts is a consumer even while it has no pod', async () => {
  const workloads = [
    daemonSet('ours', 'default/mesh=2.0'),
    daemonSet('of-another', 'default/other=2.0'),
    daemonSet('rolled', 'default/mesh=2.0', 1),
    daemonSet('stamped-just-now', '', 1),
    // Anyone may write a stamp on a workload of their own.
    daemonSet('claims-to-be', 'default/mesh=2.0', 0, 'evil'),
  ];
  const source = sourceOf({
    freshPods: async () => [],
    pods: () => [],
    workloads: () => workloads,
    workload: (_kind: string, _namespace: string, wanted: string) =>
      workloads.find(({ name }) => name === wanted),
  });
  const found = await source.consumers(RESPONSIBILITIES, undefined, NOW, ASKED);
  expect(found.map(({ id, workload, instances }) => [id, workload?.rolling, instances])).toEqual([
    ['DaemonSet default/ours', true, []],
    ['DaemonSet default/stamped-just-now', true, []],
  ]);
});

test('pods of another namespace are listed anew where a CA stays trusted for them: a watch may be behind', async () => {
  const asked: (readonly string[])[] = [];
  const source = sourceOf({
    freshPods: async (namespaces) => {
      asked.push(namespaces);
      return [];
    },
    pods: () => [],
  });
  const objects = ['pay/secrets/api', 'pay/secrets/web', 'shop/secrets/db'];
  const generations = [
    { role: 'current', elsewhere: { objects: ['team/secrets/x'] } },
    { role: 'retained', elsewhere: { objects } },
  ];
  const record = { state: { generations } } as unknown as AuthorityRecord;
  await source.consumers(RESPONSIBILITIES, record, NOW, ASKED);
  expect(asked).toEqual([['default', 'pay', 'shop']]);
});

const deployedAt = (hour: number, name: string) =>
  workloadOf('Deployment', { metadata: { namespace: 'default', name, creationTimestamp: dated(hour) } });

test('a consumer has been there since its workload was created, or its oldest pod where that is older or all that can be read', async () => {
  const workloads = [deployedAt(1, 'rolled'), deployedAt(8, 'orphaning')];
  const rollout = { kind: 'Rollout', name: 'rollout' };
  const pods = [
    podAt(9, { kind: 'Deployment', name: 'rolled' }),
    podAt(2, { kind: 'Deployment', name: 'orphaning' }),
    podAt(9, { kind: 'Deployment', name: 'orphaning' }),
    podAt(4, rollout),
    podAt(9, rollout),
    podAt(5, undefined),
    podAt(3, { kind: 'Job', name: 'smoke-test' }, 'Never'),
  ];
  const source = sourceOf({
    freshPods: async () => pods,
    pods: () => pods,
    makerOf: ({ owner, name }) => owner ?? { kind: 'Pod', name },
    workload: (_kind, _namespace, wanted) => workloads.find(({ name }) => name === wanted),
  });
  const responsibilities = {
    ...RESPONSIBILITIES,
    leaves: new Map([['default/secrets/web', { metadata: { annotations: {} } }]]),
    outputs: new Map(),
  } as unknown as Responsibilities;
  const found = await source.consumers(responsibilities, undefined, at(10), ASKED);
  expect(found.map(({ id, createdAt, completes }) => [id, createdAt, completes])).toEqual([
    ['Deployment default/rolled', at(1), undefined],
    ['Deployment default/orphaning', at(2), undefined],
    ['Rollout default/rollout', at(4), undefined],
    ['Pod default/bare-5', at(5), undefined],
    ['Job default/smoke-test', at(3), true],
  ]);
});
