import { parseResource, type TlsProfile } from '@handover/core';
import type { KubeObject } from '@handover/kube';
import { expect, test } from 'vitest';
import { type Pod, podOf } from './pods.ts';
import { selectedBy } from './selected.ts';
import { workloadOf } from './workload.ts';
import type { WorkloadCache } from './workload-cache.ts';

const profile = (name: string, workloadSelector?: object): TlsProfile =>
  parseResource(
    {
      apiVersion: 'handover.dev/v1alpha1',
      kind: 'TLSProfile',
      metadata: { name, namespace: 'shop' },
      spec: { configMapName: 'tls', ...(workloadSelector === undefined ? {} : { workloadSelector }) },
    },
    name,
  ) as TlsProfile;

const deployment = (name: string, labels: object, annotations: object = {}, namespace = 'shop') =>
  workloadOf('Deployment', {
    metadata: { name, namespace, resourceVersion: '7', creationTimestamp: '2030-01-01T00:00:00Z' },
    spec: { template: { metadata: { labels, annotations } } },
  } as KubeObject);

const pod = (name: string, owner: string, mount: object): Pod => {
  const found = podOf({
    metadata: {
      name,
      namespace: 'shop',
      creationTimestamp: '2030-01-02T00:00:00Z',
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'Deployment', name: owner, uid: 'u', controller: true },
      ],
    },
    spec: {
      containers: [{ name: 'main', volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] }],
      volumes: [{ name: 'v', configMap: { name: 'tls' } }],
    },
  } as KubeObject);
  if (found === undefined) throw new Error('no pod');
  return found;
};

const town = (
  workloads: readonly ReturnType<typeof deployment>[],
  pods: readonly Pod[] = [],
): WorkloadCache =>
  ({
    workloadsIn: (namespace: string) => workloads.filter((workload) => workload.namespace === namespace),
    pods: () => pods,
    makerOf: ({ owner, name }: Pod) => owner ?? { kind: 'Pod', name },
  }) as unknown as WorkloadCache;
const named = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id);
const free = () => undefined;

test('a TLSProfile selects workloads by labels of the pod template: none without a selector, all of its namespace with an empty one', () => {
  const people = town([
    deployment('a', { tls: 'x' }),
    deployment('b', {}),
    deployment('far', { tls: 'x' }, {}, 'far'),
  ]);
  const by = (selector?: object) => named(selectedBy(profile('p', selector), [], people, free));
  expect(by()).toEqual([]);
  expect(by({})).toEqual(['Deployment shop/a', 'Deployment shop/b']);
  expect(by({ matchLabels: { tls: 'x' } })).toEqual(['Deployment shop/a']);
});

test('a workload that is declared hot is hot, unless one of its pods has a copy that is never updated', () => {
  const hot = { 'handover.dev/reload': 'hot' };
  const people = town(
    [deployment('a', {}, hot), deployment('b', {}, hot), deployment('c', {})],
    [pod('a-1', 'a', {}), pod('b-1', 'b', {}), pod('b-2', 'b', { subPath: 'profile.json' })],
  );
  expect(selectedBy(profile('p', {}), [], people, free).map(({ reload }) => reload)).toEqual([
    'hot',
    'restart',
    'unknown',
  ]);
});

test('a workload that two TLSProfiles select belongs to the older', () => {
  const [older, younger] = [profile('older', {}), profile('younger', {})];
  const people = town([deployment('a', {})]);
  const takenBy = (one: TlsProfile) => selectedBy(one, [older, younger], people, free)[0]?.takenBy;
  expect(takenBy(older)).toBeUndefined();
  expect(takenBy(younger)).toBe('shop/older');
});
