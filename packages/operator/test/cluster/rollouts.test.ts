import { setTimeout as pause } from 'node:timers/promises';
import { daemonSets, deployments, Informer, pods, statefulSets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  authoritySeen,
  eventsOf,
  inEnvironment,
  isStable,
  Kubelet,
  leaf,
  mounted,
  rotate,
  templateOf,
  workload,
} from './pods.ts';
import { resource, type Stage, setStage, Unmet, until } from './stage.ts';

const STAMP = 'handover.dev/trust-hash';
let stage: Stage;
let kubelet: Kubelet;
beforeAll(async () => {
  stage = await setStage({ controllerManager: true, installed: {} });
  await stage.cluster.apply({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'one', labels: { 'kubernetes.io/hostname': 'one' } },
  });
  stage.start('one');
  kubelet = new Kubelet(stage);
}, 300_000);
afterAll(async () => {
  kubelet.stop();
  await stage.stop();
});

/** Waits until exactly `count` pods of these workloads run. */
const settled = (names: readonly string[], count: number): Promise<unknown> =>
  until(
    async () => {
      const { items } = await stage.kube.list(pods, { namespace: 'default' });
      const ours = items.filter(({ metadata }) =>
        names.some((name) => metadata.name === name || metadata.name?.startsWith(`${name}-`)),
      );
      const running = ours.every(
        ({ status }) => (status as { phase?: string } | undefined)?.phase === 'Running',
      );
      return ours.length === count && running;
    },
    `${count} running pods`,
    90_000,
  );
const isReady = (authority: string, leaves: readonly string[]): Promise<string> =>
  stage.cluster.kubectl(
    'wait',
    '--for=condition=Ready',
    `authority/${authority}`,
    ...leaves.map((name) => `leaf/${name}`),
    '--timeout=90s',
  );
const conditionOf = async (authority: string, type: string) =>
  (await authoritySeen(stage, authority)).conditions?.find((one) => one.type === type);

test.concurrent('workloads that read files only once, in every way, are found and rolled exactly once per rotation, in waves, never on install', async () => {
  const readers: readonly (readonly [string, object])[] = [
    ['env', inEnvironment('env')],
    [
      'envfrom',
      { containers: [{ name: 'main', image: 'none', envFrom: [{ secretRef: { name: 'envfrom' } }] }] },
    ],
    [
      'subpath',
      {
        containers: [
          {
            name: 'main',
            image: 'none',
            volumeMounts: [{ name: 'tls', mountPath: '/tls.crt', subPath: 'tls.crt' }],
          },
        ],
        volumes: [{ name: 'tls', projected: { sources: [{ secret: { name: 'subpath' } }] } }],
      },
    ],
    [
      'init',
      {
        initContainers: [
          { name: 'copy', image: 'none', volumeMounts: [{ name: 'tls', mountPath: '/from' }] },
        ],
        containers: [{ name: 'main', image: 'none' }],
        volumes: [{ name: 'tls', secret: { secretName: 'init' } }],
      },
    ],
  ];
  await stage.cluster.apply(
    resource('Authority', 'waves', { rotation: { reloadWithin: '2s', maxConcurrentRollouts: 2 } }),
    ...readers.map(([name]) => leaf(name, 'waves')),
    leaf('word', 'waves'),
    leaf('set', 'waves'),
    leaf('daemon', 'waves'),
    leaf('reloads', 'waves'),
  );
  await isReady('waves', [...readers.map(([name]) => name), 'word', 'set', 'daemon', 'reloads']);
  await stage.cluster.apply(
    // subPath and the environment are restart-only whatever an annotation says.
    ...readers.map(([name, pod]) => workload(name, { pod, annotations: { 'handover.dev/reload': 'hot' } })),
    workload('word', { pod: mounted('word'), words: { 'handover.dev/reload': 'restart' } }),
    workload('set', { kind: 'StatefulSet' }),
    workload('daemon', {
      kind: 'DaemonSet',
      pod: { ...inEnvironment('daemon'), tolerations: [{ operator: 'Exists' }] },
    }),
    workload('reloads', { pod: mounted('reloads'), annotations: { 'handover.dev/reload': 'hot' } }),
  );
  const rolled = [...readers.map(([name]) => name), 'word'];
  await settled([...rolled, 'set', 'daemon', 'reloads'], 15);
  for (const name of rolled) expect(await templateOf(stage, deployments, name)).not.toHaveProperty([STAMP]);

  const all = [...rolled, 'set', 'daemon', 'reloads'];
  const rolling = new Set<string>();
  const moves: { readonly name: string; readonly under: boolean; readonly version: number }[] = [];
  const end = new AbortController();
  const watching = [deployments, statefulSets, daemonSets].map((kind) => {
    const informer = new Informer(stage.kube, kind, { namespace: 'default' });
    informer.on('changed', ({ after }) => {
      if (!all.includes(after?.metadata.name ?? '')) return;
      const { metadata, status, spec } = after ?? { metadata: {} };
      const { observedGeneration = 0, ...counts } = (status ?? {}) as Record<string, number>;
      const wanted = counts.desiredNumberScheduled ?? (spec as { replicas?: number }).replicas ?? 1;
      const updated = counts.updatedReplicas ?? counts.updatedNumberScheduled ?? 0;
      const available = counts.availableReplicas ?? counts.numberAvailable ?? 0;
      const under = observedGeneration < (metadata.generation ?? 0) || updated < wanted || available < wanted;
      const name = metadata.name ?? '';
      if (under) rolling.add(name);
      else rolling.delete(name);
      moves.push({ name, under, version: Number(metadata.resourceVersion) });
    });
    informer.start(end.signal);
    return informer;
  });
  await Promise.all(watching.map((informer) => informer.ready));
  await until(async () => rolling.size === 0, 'nothing that rolls');
  moves.length = 0;
  await rotate(stage, 'waves', 'one');
  await until(isStable(stage, 'waves', 2), 'the rotation to end', 240_000);
  end.abort();
  // Three watches come one before the other; versions count for the whole API server.
  const under = new Set<string>();
  let most = 0;
  for (const move of [...moves].sort((a, b) => a.version - b.version)) {
    if (move.under) under.add(move.name);
    else under.delete(move.name);
    most = Math.max(most, under.size);
  }
  expect(most).toBe(2);
  for (const name of rolled) {
    const annotations = await templateOf(stage, deployments, name);
    expect(annotations).toMatchObject({
      'example.com/keep': 'me',
      [STAMP]: expect.stringMatching(/^default\/waves=2\.0/),
      'kubectl.kubernetes.io/restartedAt': expect.stringMatching(/^20/),
    });
    expect([name, kubelet.made(name)]).toEqual([name, 4]);
  }
  expect(await templateOf(stage, statefulSets, 'set')).toHaveProperty([STAMP]);
  expect(await templateOf(stage, daemonSets, 'daemon')).toHaveProperty([STAMP]);
  expect([kubelet.made('set'), kubelet.made('daemon')]).toEqual([4, 2]);
  expect(kubelet.made('reloads')).toBe(2);
}, 600_000);

test.concurrent('workloads that would be unavailable or cannot be restarted are named before any rollout; the others are rolled', async () => {
  const names = ['alone', 'recreate', 'ondelete', 'partition', 'paused', 'bare', 'job'];
  await stage.cluster.apply(
    resource('Authority', 'named', { rotation: { reloadWithin: '2s' } }),
    ...names.map((name) => leaf(name, 'named')),
    // A hot workload without evidence: the first step waits for its reloadWithin, which leaves time to look.
    leaf('quiet', 'named'),
  );
  // A Job does not speak for other programs that read its Secret: the owner of the Leaf does.
  await stage.cluster.kubectl('annotate', 'leaf/job', 'handover.dev/used-by=nobody');
  await isReady('named', [...names, 'quiet']);
  const bare = (): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'bare', namespace: 'default' },
    spec: { terminationGracePeriodSeconds: 0, ...inEnvironment('bare') },
  });
  await stage.cluster.apply(
    workload('quiet', { pod: mounted('quiet'), annotations: { 'handover.dev/reload': 'hot' } }),
    workload('alone', { replicas: 1 }),
    workload('recreate', { spec: { strategy: { type: 'Recreate' } } }),
    workload('ondelete', { kind: 'StatefulSet', spec: { updateStrategy: { type: 'OnDelete' } } }),
    workload('partition', {
      kind: 'StatefulSet',
      spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } },
    }),
    workload('paused'),
    bare(),
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'job', namespace: 'default' },
      spec: { template: { spec: { restartPolicy: 'Never', ...inEnvironment('job') } } },
    },
  );
  await settled([...names, 'quiet'], 13);
  await stage.cluster.kubectl('rollout', 'pause', 'deployment/paused');
  await rotate(stage, 'named', 'one');
  const expected = {
    WillInterrupt: ['Deployment default/alone', 'Deployment default/recreate'],
    CannotRestart: [
      'Job default/job',
      'Pod default/bare',
      'Deployment default/paused',
      'StatefulSet default/ondelete',
      'StatefulSet default/partition',
    ],
  };
  const away = await until(async () => (await conditionOf('named', 'WillInterrupt')) ?? false, 'a warning');
  for (const name of expected.WillInterrupt) expect(away.message).toContain(name);
  const cannot = await until(
    async () =>
      (await eventsOf(stage, 'Authority', 'named')).find(({ reason }) => reason === 'CannotRestart') ?? false,
    'an Event',
  );
  for (const name of expected.CannotRestart) expect(cannot.note).toContain(name);

  await until(
    async () => {
      const { phase, blockedBy = [] } = await authoritySeen(stage, 'named');
      const waiting = [...new Set(blockedBy.map(({ consumer }) => consumer))];
      const isSo = phase === 'Activating' && waiting.sort().join() === expected.CannotRestart.sort().join();
      return isSo || new Unmet({ phase, waiting });
    },
    'only those that cannot be restarted to be waited for',
    120_000,
  );
  expect(await conditionOf('named', 'Degraded')).toMatchObject({ status: 'True', reason: 'CannotRestart' });
  expect([kubelet.made('alone'), kubelet.made('recreate')]).toEqual([2, 4]);
  expect(kubelet.made('paused')).toBe(2);
  // Their owners do it, once no kubelet serves old files any more: a pod that starts within ten seconds of a write does not count, and
  // creation times have whole seconds.
  await pause(5_000);
  // While the others still hold the rotation up: a Secret that outlives its Leaf, be it for a moment, keeps the old CA trusted.
  await stage.cluster.kubectl('delete', 'job/job', 'leaf/job', 'secret/job', '--force', '--grace-period=0');
  // A bare pod that is created again does not speak for programs that read its Secret before: its owner does.
  await stage.cluster.kubectl('annotate', 'leaf/bare', 'handover.dev/used-by=nobody');
  await stage.cluster.kubectl('rollout', 'resume', 'deployment/paused');
  await stage.cluster.kubectl('delete', 'pod', 'ondelete-0', 'ondelete-1', 'partition-0', 'partition-1');
  await stage.cluster.kubectl('delete', 'pod/bare', '--force', '--grace-period=0');
  await stage.cluster.apply(bare());
  await until(isStable(stage, 'named', 2), 'the rotation to end', 120_000);
  expect(kubelet.made('paused')).toBe(4);
  expect(await conditionOf('named', 'Degraded')).toBeUndefined();
  const told = (await eventsOf(stage, 'Authority', 'named')).map(({ reason }) => reason);
  expect(told).toContain('AwayWhileRestarting');
  expect(told.indexOf('AwayWhileRestarting')).toBeLessThan(told.indexOf('RolloutStarted'));
}, 600_000);

test.concurrent('a failed rollout is named, does not delay other workloads, and ends once it is fixed', async () => {
  await stage.cluster.apply(
    resource('Authority', 'sick', { rotation: { reloadWithin: '2s', maxConcurrentRollouts: 1 } }),
    leaf('bad', 'sick'),
    leaf('good', 'sick'),
  );
  await isReady('sick', ['bad', 'good']);
  await stage.cluster.apply(workload('bad', { spec: { progressDeadlineSeconds: 2 } }), workload('good'));
  await settled(['bad', 'good'], 4);
  kubelet.sick = /^bad-/;
  await rotate(stage, 'sick', 'one');
  await until(
    async () => (await conditionOf('sick', 'Degraded'))?.reason === 'RolloutFailing',
    'the failing one to be named',
    120_000,
  );
  expect((await conditionOf('sick', 'Degraded'))?.message).toMatch(
    /^Deployment default\/bad: its rollout fails: /,
  );
  await until(
    async () => {
      const { blockedBy = [] } = await authoritySeen(stage, 'sick');
      return blockedBy.length > 0 && blockedBy.every(({ consumer }) => consumer === 'Deployment default/bad');
    },
    'the other one to be restarted meanwhile',
    120_000,
  );
  expect(kubelet.made('good')).toBe(4);
  kubelet.sick = undefined;
  await until(isStable(stage, 'sick', 2), 'the rotation to end', 120_000);
  expect((await eventsOf(stage, 'Authority', 'sick')).map(({ reason }) => reason)).toContain(
    'RolloutFailing',
  );
}, 600_000);

test.concurrent('a leaf that its workload cannot reload is renewed, and the workload rolled, before the old leaf expires', async () => {
  await stage.cluster.apply(
    resource('Authority', 'short', {}),
    leaf('brief', 'short', { lifetime: '90s', renew: { at: '33%' } }),
  );
  await isReady('short', ['brief']);
  await stage.cluster.apply(workload('brief'));
  await settled(['brief'], 2);
  const found = await stage.kube.get(RESOURCE_KINDS.Leaf, { namespace: 'default', name: 'brief' });
  const { notAfter = '' } = (found?.status ?? {}) as { notAfter?: string };
  const ends = Date.parse(notAfter);
  await until(
    async () =>
      (await templateOf(stage, deployments, 'brief'))[STAMP] !== undefined && kubelet.made('brief') >= 4,
    'the rollout',
    90_000,
  );
  expect(Date.now()).toBeLessThan(ends);
  const { phase, generations } = await authoritySeen(stage, 'short');
  expect([phase, generations?.length]).toEqual(['Stable', 1]);
}, 600_000);
