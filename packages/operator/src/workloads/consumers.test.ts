import { TRUST_HASH } from '@handover/core';
import type { Asking, AuthorityRecord, Responsibilities } from '@handover/engine';
import { type Certificate, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { PodConsumers } from './consumers.ts';
import type { Pod } from './pods.ts';
import { Progress } from './progress.ts';
import { workloadOf } from './workload.ts';
import type { Workloads } from './workload-cache.ts';

const NOW = instant(Date.UTC(2030, 0, 1));
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

test('a pod with a certificate of its own is known by the fingerprint of that certificate, and no other pod is', async () => {
  const pod = (name: string) => ({
    namespace: 'default',
    name,
    uid: name,
    createdAt: NOW,
    annotations: {},
    references: [],
    signers: [{ signer: 'handover.dev/default.mesh', sources: 1, frozen: false }],
  });
  const known = new Map<string, readonly (string | undefined)[]>();
  const source = new PodConsumers({
    workloadCache: {
      freshPods: async () => [pod('a'), pod('b')],
      pods: () => [],
      workloads: () => [],
      makerOf: () => ({ kind: 'Pod', name: 'p' }),
    } as unknown as Workloads,
    showing: {
      of: async ({ name }: Pod, { issuers }: Asking) => {
        known.set(
          name,
          ['leaf-a', 'leaf-b', 'leaf'].map((leaf) => issuers.get(leaf)),
        );
        return undefined;
      },
    } as never,
    fresh: true,
    wordOf: () => undefined,
    labelsOf: async () => ({}),
    obstacle: () => undefined,
    isUnderWay: () => false,
    namespaces: () => new Map(),
    podLeaves: {
      of: (uid) => ({
        certificate: { fingerprint: `leaf-${uid}` } as Certificate,
        issuedAt: NOW,
        issuer: 'ca2',
      }),
      refused: () => false,
    },
  });
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
  const workloadCache = {
    freshPods: async () => [],
    pods: () => [],
    workloads: () => workloads,
    workload: (_kind: string, _namespace: string, wanted: string) =>
      workloads.find(({ name }) => name === wanted),
    progress: new Progress(() => 0),
  } as unknown as Workloads;
  const source = new PodConsumers({
    workloadCache,
    showing: { of: async () => undefined } as never,
    fresh: true,
    wordOf: () => undefined,
    labelsOf: async () => ({}),
    obstacle: () => undefined,
    isUnderWay: (consumer) => consumer === 'DaemonSet default/stamped-just-now',
    namespaces: () => new Map(),
  });
  const found = await source.consumers(RESPONSIBILITIES, undefined, NOW, {
    orphans: [],
    issuers: new Map(),
  });
  expect(found.map(({ id, workload, instances }) => [id, workload?.rolling, instances])).toEqual([
    ['DaemonSet default/ours', true, []],
    ['DaemonSet default/stamped-just-now', true, []],
  ]);
});
