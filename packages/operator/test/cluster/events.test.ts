import { allowed, grantsFor } from '@handover/install';
import { configMaps } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { authoritySeen, eventsOf, isStable, Kubelet, leaf, mounted, rotate, workload } from './pods.ts';
import { resource, type Stage, setStage, until } from './stage.ts';

let stage: Stage;
let kubelet: Kubelet;
beforeAll(async () => {
  stage = await setStage({ controllerManager: true, installed: {} });
  stage.start('one');
  stage.start('two');
  kubelet = new Kubelet(stage);
}, 300_000);
afterAll(async () => {
  kubelet.stop();
  await stage.stop();
});

const notes = async (kind: string, name: string, reason: string): Promise<readonly string[]> =>
  (await eventsOf(stage, kind, name)).filter((event) => event.reason === reason).map(({ note }) => note);

test('kubectl describe shows each step of a rotation, the consumers it waits for, and what is restarted', async () => {
  await stage.cluster.apply(
    resource('Authority', 'mesh', { rotation: { reloadWithin: '2s' } }),
    leaf('env'),
    leaf('silent'),
  );
  await stage.cluster.kubectl(
    'wait',
    '--for=condition=Ready',
    'authority/mesh',
    'leaf/env',
    'leaf/silent',
    '--timeout=60s',
  );
  await stage.cluster.apply(workload('env'), workload('silent', { pod: mounted('silent') }));
  await until(async () => kubelet.seen.size === 4, 'four pods');
  await rotate(stage, 'mesh', 'one');
  await until(
    async () => (await notes('Authority', 'mesh', 'RolloutEnded')).length === 1,
    'the restart to be told',
    120_000,
  );
  // The operator keeps looking while it waits for a consumer.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  await stage.cluster.kubectl('rollout', 'restart', 'deployment/silent');
  await until(isStable(stage, 'mesh', 2), 'the rotation to end', 120_000);
  await until(async () => (await notes('Authority', 'mesh', 'RotationDone')).length === 1, 'the end');
  const described = await stage.cluster.kubectl('describe', 'authority', 'mesh');
  console.log(described.slice(described.indexOf('Events:')));
  for (const reason of [
    'GenerationMinted',
    'GenerationActivated',
    'GenerationRetired',
    'RotationDone',
    'WaitingFor',
    'RolloutStarted',
    'RolloutEnded',
  ])
    expect(described).toContain(reason);
  const waits = await notes('Authority', 'mesh', 'WaitingFor');
  expect(
    waits.some((note) =>
      note.includes('waiting for Deployment default/silent to load CA generation 2 (missing: silent-'),
    ),
  ).toBe(true);
  expect(waits.length).toBeLessThanOrEqual(10);
  // In the order in which it happened.
  const order = ['GenerationMinted', 'GenerationActivated', 'RolloutStarted', 'RotationDone'];
  const places = order.map((reason) => described.lastIndexOf(` ${reason} `));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(await notes('Authority', 'mesh', 'GenerationMinted')).toHaveLength(2);
  expect(await notes('Authority', 'mesh', 'RolloutStarted')).toEqual([
    'Restarting Deployment default/env (CA generation 2 is in its files)',
  ]);
}, 600_000);

test('refusals, unreadable resources and repaired drift appear as Events of the object they concern', async () => {
  await stage.cluster.kubectl('create', 'namespace', 'elsewhere');
  await stage.cluster.apply(
    resource('Leaf', 'orphan', { authority: 'missing', secretName: 'orphan', dnsNames: ['a.default.svc'] }),
    resource('Authority', 'narrow', { issueTo: { dnsNames: ['*.narrow.svc'] } }),
    resource('Leaf', 'wrong', { authority: 'narrow', secretName: 'wrong', dnsNames: ['www.example.com'] }),
  );
  await until(async () => (await notes('Leaf', 'wrong', 'Refused'))[0], 'the refusal');
  const [orphan] = await until(async () => {
    const found = await notes('Leaf', 'orphan', 'Invalid');
    return found.length > 0 && found;
  }, 'the orphan');
  expect(orphan).toContain('there is no Authority default/missing');
  const spoil = (text: string): Promise<unknown> =>
    stage.kube.patch(
      configMaps,
      { namespace: 'default', name: 'mesh-trust' },
      { merge: { data: { 'ca.crt': text } }, fieldManager: 'other-manager' },
    );
  await spoil('x');
  await until(async () => (await notes('Authority', 'mesh', 'Repaired')).length === 1, 'the repair');
  expect(await notes('Authority', 'mesh', 'Repaired')).toEqual([
    expect.stringMatching(/^other-manager changed .*mesh-trust.*; Handover restored it/),
  ]);
  const intact = async () =>
    (await stage.kube.get(configMaps, { namespace: 'default', name: 'mesh-trust' }))?.data?.['ca.crt'] !==
    'y';
  for (let turn = 0; turn < 3; turn++) {
    await spoil('y');
    await until(intact, 'the next repair');
  }
  expect(await notes('Authority', 'mesh', 'Repaired')).toHaveLength(1);
}, 300_000);

test('only the leader writes Events, with the rights of the installation', () => {
  const told = stage.requests.filter(({ resource: plural }) => plural === 'events');
  expect(told.length).toBeGreaterThan(0);
  expect(new Set(told.map(({ by }) => by)).size).toBe(1);
  expect(told.filter(({ status }) => status !== 201 && status !== 200)).toEqual([]);
  const granted = grantsFor({ namespace: 'handover-system' });
  for (const { verb, group, resource: plural, namespace } of told)
    expect(allowed(granted, { verb, group, resource: plural, namespace })).toBe(true);
});

test('an account without the right to write Events still does its work', async () => {
  await stage.cluster.kubectl(
    'patch',
    'clusterrole',
    'handover',
    '--type=json',
    '-p',
    JSON.stringify([{ op: 'remove', path: `/rules/${await ruleAbout('events')}` }]),
  );
  await rotate(stage, 'mesh', 'two');
  // No one vouches for the silent workload: its owner restarts it once the new CA signs.
  await until(
    async () => {
      const { phase, blockedBy = [] } = await authoritySeen(stage, 'mesh');
      const names = new Set(blockedBy.map(({ consumer }) => consumer));
      return phase === 'Activating' && names.size === 1 && names.has('Deployment default/silent');
    },
    'only the silent one to be waited for',
    120_000,
  );
  expect(kubelet.made('env')).toBe(6);
  await stage.cluster.kubectl('rollout', 'restart', 'deployment/silent');
  await until(isStable(stage, 'mesh', 3), 'the rotation to end', 120_000);
  const complaints = stage.events.filter(
    (event) => event.kind === 'failed' && event.what === 'writing an Event',
  );
  expect(complaints).toHaveLength(1);
}, 300_000);

const ruleAbout = async (resourceName: string): Promise<number> => {
  const role = JSON.parse(await stage.cluster.kubectl('get', 'clusterrole', 'handover', '-o', 'json')) as {
    rules: readonly { resources: readonly string[] }[];
  };
  return role.rules.findIndex(({ resources }) => resources.includes(resourceName));
};
