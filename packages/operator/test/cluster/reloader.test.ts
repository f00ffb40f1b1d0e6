import { deployments } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { authoritySeen, isStable, Kubelet, leaf, mounted, rotate, templateOf, workload } from './pods.ts';
import { beyondRights, resource, type Stage, setStage, until } from './stage.ts';

const R = 'reloader.stakater.com';
const STAMP = 'handover.dev/trust-hash';
let stage: Stage;
let kubelet: Kubelet;
beforeAll(async () => {
  stage = await setStage({ controllerManager: true, installed: { compat: ['reloader'] } });
  stage.start('one', { injection: { compat: ['reloader'] } });
  kubelet = new Kubelet(stage);
}, 300_000);
afterAll(async () => {
  kubelet.stop();
  await stage.stop();
});

/** The leaf's Secret and the bundle's ConfigMap, both in volumes: both change in a rotation. */
const both = (secretName: string): object => ({
  containers: [
    {
      name: 'main',
      image: 'none',
      volumeMounts: [
        { name: 'tls', mountPath: '/tls' },
        { name: 'trust', mountPath: '/trust' },
      ],
    },
  ],
  volumes: [
    { name: 'tls', secret: { secretName } },
    { name: 'trust', configMap: { name: 'mesh-trust' } },
  ],
});

test('the workloads that Reloader’s annotations name are restarted once per rotation, and no others', async () => {
  const restarted = ['auto', 'named', 'trusting', 'searched'];
  const left = ['excluded', 'ours', 'said-nothing'];
  await stage.cluster.apply(
    resource('Authority', 'mesh', { rotation: { reloadWithin: '2s' } }),
    ...[...restarted, ...left].map((name) => leaf(name)),
  );
  await stage.cluster.kubectl(
    'wait',
    '--for=condition=Ready',
    'authority/mesh',
    'leaf/searched',
    '--timeout=60s',
  );
  await stage.cluster.kubectl('annotate', 'secret/searched', `${R}/match=true`);
  const hot = { 'handover.dev/reload': 'hot' };
  await stage.cluster.apply(
    workload('auto', { pod: both('auto'), words: { [`${R}/auto`]: 'true' } }),
    workload('named', { pod: both('named'), words: { [`secret.${R}/reload`]: 'x,named' } }),
    workload('trusting', { pod: both('trusting'), annotations: { [`configmap.${R}/auto`]: 'true' } }),
    workload('searched', { pod: mounted('searched'), words: { [`${R}/search`]: 'true' } }),
    workload('excluded', {
      pod: mounted('excluded'),
      words: { [`${R}/auto`]: 'true', [`secrets.exclude.${R}/reload`]: 'excluded' },
    }),
    // Our own annotation takes precedence.
    workload('ours', { pod: mounted('ours'), words: { [`${R}/auto`]: 'true' }, annotations: hot }),
    workload('said-nothing', { pod: mounted('said-nothing') }),
  );
  await until(async () => kubelet.seen.size === 14, 'fourteen pods', 60_000);
  await rotate(stage, 'mesh', 'one');
  await until(
    async () => {
      const { phase, blockedBy = [] } = await authoritySeen(stage, 'mesh');
      const names = new Set(blockedBy.map(({ consumer }) => consumer));
      return (
        phase === 'Activating' &&
        [...names].sort().join() === 'Deployment default/excluded,Deployment default/said-nothing'
      );
    },
    'the rotation to wait only for workloads without evidence',
    120_000,
  );
  for (const name of left) expect(await templateOf(stage, deployments, name)).not.toHaveProperty([STAMP]);
  await stage.cluster.kubectl('rollout', 'restart', 'deployment/excluded', 'deployment/said-nothing');
  await until(isStable(stage, 'mesh', 2), 'the rotation to end', 120_000);
  for (const name of restarted) {
    expect([name, kubelet.made(name)]).toEqual([name, 4]);
    expect((await templateOf(stage, deployments, name))[STAMP]).toMatch(/^default\/mesh=2\.0/);
  }
  expect(kubelet.made('ours')).toBe(2);
  expect(beyondRights(stage, ['reloader'])).toEqual([]);
}, 600_000);

test('while Reloader itself runs, its workloads are left to it, and status says so', async () => {
  await stage.cluster.apply(
    workload('reloader', {
      replicas: 1,
      pod: { containers: [{ name: 'reloader', image: 'ghcr.io/stakater/reloader:v1.4.2' }] },
    }),
  );
  await stage.cluster.kubectl('wait', '--for=condition=Available', 'deployment/reloader', '--timeout=60s');
  await rotate(stage, 'mesh', 'two');
  const degraded = await until(
    async () => {
      const { phase, conditions = [] } = await authoritySeen(stage, 'mesh');
      const found = conditions.find(({ type }) => type === 'Degraded');
      return phase === 'Activating' && found?.reason === 'CannotRestart' ? found : false;
    },
    'a condition',
    120_000,
  );
  expect(degraded.message).toContain(
    "Deployment default/auto: Stakater's Reloader (Deployment default/reloader) restarts it",
  );
  expect(kubelet.made('auto')).toBe(4);
  // One of them is taken over.
  await stage.cluster.kubectl('annotate', 'deployment/named', 'handover.dev/take-over=true');
  await until(async () => kubelet.made('named') === 6, 'the restart of what was taken over', 120_000);
  expect(kubelet.made('auto')).toBe(4);
  // It is gone: then they are ours.
  await stage.cluster.kubectl('delete', 'deployment/reloader');
  await until(async () => kubelet.made('auto') === 6, 'the restart', 120_000);
}, 600_000);
