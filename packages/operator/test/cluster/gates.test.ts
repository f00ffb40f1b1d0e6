import { pods } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { authoritySeen, eventsOf, isStable, Kubelet, leaf, mounted, rotate, workload } from './pods.ts';
import { resource, type Stage, setStage, until } from './stage.ts';

// Workloads without any evidence: mounted files, no annotation, no status document.
let stage: Stage;
let kubelet: Kubelet;
beforeAll(async () => {
  stage = await setStage({ controllerManager: true, installed: {} });
  stage.start('one', { resync: 3_000 });
  kubelet = new Kubelet(stage);
}, 300_000);
afterAll(async () => {
  kubelet.stop();
  await stage.stop();
});

const silent = async (name: string, spec: object, more: object = {}): Promise<void> => {
  await stage.cluster.apply(resource('Authority', name, spec), leaf(name, name, more));
  await stage.cluster.kubectl(
    'wait',
    '--for=condition=Ready',
    `authority/${name}`,
    `leaf/${name}`,
    '--timeout=60s',
  );
  await stage.cluster.apply(workload(name, { pod: mounted(name) }));
  await until(
    async () => {
      const { items } = await stage.kube.list(pods, { namespace: 'default' });
      const own = items.filter(({ metadata }) => metadata.name?.startsWith(`${name}-`));
      return (
        own.length === 2 &&
        own.every(({ status }) => (status as { phase?: string } | undefined)?.phase === 'Running')
      );
    },
    `the pods of ${name}`,
    60_000,
  );
};
const conditionOf = async (authority: string, type: string) =>
  (await authoritySeen(stage, authority)).conditions?.find((one) => one.type === type);
const reasons = async (authority: string): Promise<readonly string[]> =>
  (await eventsOf(stage, 'Authority', authority)).map(({ reason }) => reason);

test.concurrent('Wait keeps waiting when patience is over, and reports it', async () => {
  await silent('wait', { rotation: { reloadWithin: '2s', patience: '10s' } });
  await rotate(stage, 'wait', 'one');
  await until(async () => (await reasons('wait')).includes('PatienceOver'), 'the word', 120_000);
  const [over] = (await eventsOf(stage, 'Authority', 'wait')).filter(
    ({ reason }) => reason === 'PatienceOver',
  );
  expect(over).toMatchObject({ type: 'Warning', note: expect.stringContaining('Deployment default/wait') });
  const { phase, blockedBy = [] } = await authoritySeen(stage, 'wait');
  expect(phase).toBe('Activating');
  expect(blockedBy.map(({ consumer }) => consumer)).toContain('Deployment default/wait');
  expect(kubelet.made('wait')).toBe(2);
}, 300_000);

test.concurrent('Restart restarts workloads without evidence once when patience is over, and the rotation ends', async () => {
  await silent('restart', { rotation: { reloadWithin: '2s', patience: '15s', onBlocked: 'Restart' } });
  await rotate(stage, 'restart', 'one');
  await until(isStable(stage, 'restart', 2), 'the end', 180_000);
  expect(kubelet.made('restart')).toBe(4);
  const said = await reasons('restart');
  expect(said.filter((reason) => reason === 'RolloutStarted')).toHaveLength(1);
  expect(said.at(-1)).toBe('RotationDone');
}, 300_000);

test.concurrent('Proceed opens the first gate when patience is over, and never the second while an old leaf is in use', async () => {
  // reloadWithin does not pass within the hour: only patience can open the first gate.
  await silent('proceed', { rotation: { reloadWithin: '1h', patience: '8s', onBlocked: 'Proceed' } });
  await rotate(stage, 'proceed', 'one');
  await until(async () => (await authoritySeen(stage, 'proceed')).phase === 'Introducing', 'the first step');
  await until(
    async () => (await authoritySeen(stage, 'proceed')).phase === 'Activating',
    'the new CA to sign',
    120_000,
  );
  const [activated] = (await eventsOf(stage, 'Authority', 'proceed')).filter(
    ({ reason }) => reason === 'GenerationActivated',
  );
  expect(activated?.note).toContain(
    'patience has passed and onBlocked is Proceed, although Deployment default/proceed',
  );
  await until(
    async () =>
      (await eventsOf(stage, 'Authority', 'proceed')).some(
        ({ reason, note }) => reason === 'PatienceOver' && note.startsWith('Activating'),
      ),
    'patience with the second gate to be over, too',
    120_000,
  );
  const { phase, generations = [] } = await authoritySeen(stage, 'proceed');
  expect(phase).toBe('Activating');
  expect(generations.map(({ role }) => role)).toEqual(['current', 'previous']);
  expect(kubelet.made('proceed')).toBe(2);
}, 300_000);

test.concurrent('expiry overrides Wait: a CA near expiry is replaced, blocking workloads are restarted, and status and Events warn', async () => {
  // Due after 10 s; 90 s are left then, and the deadline is 68 s later. Before it no reloadWithin passes, no workload gives
  // evidence, and patience does not end.
  await silent('ends', { lifetime: '100s', rotation: { at: '10%', reloadWithin: '85s' } });
  await until(
    async () => (await conditionOf('ends', 'ExpiringSoon'))?.status === 'True',
    'a warning',
    180_000,
  );
  expect(await conditionOf('ends', 'Critical')).toBeUndefined();
  expect((await authoritySeen(stage, 'ends')).phase).toBe('Introducing');
  expect(kubelet.made('ends')).toBe(2);
  await until(
    async () => (await authoritySeen(stage, 'ends')).generations?.[0]?.role === 'current',
    'the new CA to sign',
    180_000,
  );
  await until(async () => (await reasons('ends')).includes('DeadlinePassed'), 'the word about the deadline');
  expect(await reasons('ends')).toContain('ExpiringSoon');
  await until(
    async () => (await authoritySeen(stage, 'ends')).generations?.every(({ generation }) => generation > 1),
    'the old CA to be gone',
    180_000,
  );
  expect(kubelet.made('ends')).toBeGreaterThanOrEqual(4);
}, 400_000);

test.concurrent('a CA that may not be replaced becomes critical, in status and in Events', async () => {
  await stage.cluster.apply(
    resource('Authority', 'paused', {
      lifetime: '60s',
      rotation: { at: '50%', reloadWithin: '5s', paused: true },
    }),
  );
  const critical = await until(
    async () => (await conditionOf('paused', 'Critical')) ?? false,
    'the alarm',
    180_000,
  );
  expect(critical).toMatchObject({ status: 'True', reason: 'Critical' });
  expect(critical.message).toContain('rotation.paused keeps it from being replaced');
  expect(await conditionOf('paused', 'ExpiringSoon')).toMatchObject({ status: 'True' });
  await until(async () => (await reasons('paused')).includes('Critical'), 'the Event');
  const said = await reasons('paused');
  expect(said.indexOf('ExpiringSoon')).toBeLessThan(said.indexOf('Critical'));
  expect(said.filter((reason) => reason === 'WaitingFor')).toHaveLength(1);
  const described = await stage.cluster.kubectl('describe', 'authority', 'paused');
  expect(described).toMatch(/Warning\s+Critical/);
}, 300_000);
