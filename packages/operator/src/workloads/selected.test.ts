import { parseResource, type TlsProfile } from '@handover/core';
import type { KubeObject } from '@handover/kube';
import { expect, test } from 'vitest';
import { type Pod, podOf } from './pods.ts';
import { selectedBy } from './selected.ts';
import { workloadOf } from './workload.ts';
import type { WorkloadCache } from './workload-cache.ts';

const profile = (name: string, workloadSelector?: object, configMapName = 'tls'): TlsProfile =>
  parseResource(
    {
      apiVersion: 'handover.dev/v1alpha1',
      kind: 'TLSProfile',
      metadata: { name, namespace: 'shop' },
      spec: { configMapName, ...(workloadSelector === undefined ? {} : { workloadSelector }) },
    },
    name,
  ) as TlsProfile;

/** The template of a pod that mounts these ConfigMaps. */
const mounting = (...names: readonly string[]) => ({
  containers: [
    { name: 'main', volumeMounts: names.map((name) => ({ name: `v-${name}`, mountPath: `/${name}` })) },
  ],
  volumes: names.map((name) => ({ name: `v-${name}`, configMap: { name } })),
});

const deployment = (
  name: string,
  labels: object,
  annotations: object = {},
  namespace = 'shop',
  spec: object = mounting('tls'),
) =>
  workloadOf('Deployment', {
    metadata: { name, namespace, resourceVersion: '7', creationTimestamp: '2030-01-01T00:00:00Z' },
    spec: { template: { metadata: { labels, annotations }, spec } },
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
const free = { obstacle: () => undefined, undone: () => undefined };

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

test('a workload that two TLSProfiles select, and that mounts one of them, belongs to the one that it mounts', () => {
  const [older, younger] = [profile('older', {}, 'old-tls'), profile('younger', {})];
  const of = (one: TlsProfile, ...mounted: readonly string[]) => {
    const people = town([deployment('a', {}, {}, 'shop', mounting(...mounted))]);
    return selectedBy(one, [older, younger], people, free).map(({ reads, takenBy }) => [reads, takenBy])[0];
  };
  expect([of(older, 'tls'), of(younger, 'tls')]).toEqual([
    [false, undefined],
    [true, undefined],
  ]);
  expect([of(older, 'tls', 'old-tls'), of(younger, 'tls', 'old-tls')]).toEqual([
    [true, undefined],
    [true, 'shop/older'],
  ]);
});

const env = (more: object) => ({ containers: [{ name: 'main', ...more }] });
test.each<[string, object, boolean]>([
  ['mounts the ConfigMap', mounting('tls'), true],
  [
    'mounts it in a projected volume',
    {
      ...env({ volumeMounts: [{ name: 'all', mountPath: '/all' }] }),
      volumes: [{ name: 'all', projected: { sources: [{ configMap: { name: 'tls' } }] } }],
    },
    true,
  ],
  ['reads it by envFrom', env({ envFrom: [{ configMapRef: { name: 'tls' } }] }), true],
  [
    'reads a key of it by env',
    env({ env: [{ name: 'P', valueFrom: { configMapKeyRef: { name: 'tls', key: 'profile.json' } } }] }),
    true,
  ],
  [
    'mounts it in an init container',
    { ...mounting('tls'), containers: [], initContainers: mounting('tls').containers },
    true,
  ],
  [
    'has it as a volume that no container mounts',
    { ...mounting('tls'), containers: [{ name: 'main' }] },
    false,
  ],
  ['mounts another ConfigMap', mounting('other'), false],
  [
    'mounts a Secret of that name',
    { ...mounting('tls'), volumes: [{ name: 'v-tls', secret: { secretName: 'tls' } }] },
    false,
  ],
  ['mounts nothing', env({}), false],
])('a workload that %s: whether it reads the profile', (_, spec, reads) => {
  const people = town([deployment('a', {}, {}, 'shop', spec)]);
  expect(selectedBy(profile('p', {}), [], people, free)).toMatchObject([{ reads }]);
});

test('many TLSProfiles that select many workloads which read none of them cost a look at each workload, and no more', () => {
  const many = (count: number, name: string) =>
    Array.from({ length: count }, (_, index) => `${name}${index}`);
  const profiles = many(300, 'p').map((name) => profile(name, {}));
  let looks = 0;
  const watched = many(300, 'w').map((name) => {
    const made = deployment(name, {}, {}, 'shop', mounting('other'));
    return Object.defineProperty({ ...made }, 'configMaps', {
      get: () => {
        looks++;
        return made.configMaps;
      },
    });
  });
  expect(selectedBy(profile('p', {}), profiles, town(watched), free)).toHaveLength(watched.length);
  expect(looks).toBe(watched.length);
});
