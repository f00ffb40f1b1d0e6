import { Informer, type Kube } from '@handover/kube';
import type { Cluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { caBundle, FIELDS, installPackaging, NAMESPACE, OLD_POD, spoil } from './packaging.ts';
import { eventsOf } from './pods.ts';
import { condition, resource, type Stage, setStage, until } from './stage.ts';

let stage: Stage;
let kube: Kube;
let cluster: Cluster;
beforeAll(async () => {
  stage = await setStage();
  ({ kube, cluster } = stage);
  await installPackaging(cluster, 1);
  stage.start('one');
  await cluster.apply(
    resource('Authority', 'packaging', {}, NAMESPACE),
    resource('TrustBundle', 'packaging', {
      sources: [{ authority: `${NAMESPACE}/packaging` }],
      targets: [{ inject: { kind: 'APIService', name: FIELDS.APIService.name } }],
    }),
  );
});
afterAll(() => stage.stop());

const ours = (): number =>
  stage.requests.filter(({ verb, resource: plural }) => verb === 'apply' && plural === 'apiservices').length;

test('after a fight with a manager that reverts a field each time, the manager is named and the write is retried later', async () => {
  const right = await until(async () => (await caBundle(kube, 'APIService')) || undefined, 'the first write');
  const before = ours();
  const fighting = new AbortController();
  let spoiled = 0;
  const fight = async (): Promise<void> => {
    if (fighting.signal.aborted || (await caBundle(kube, 'APIService')) !== right) return;
    spoiled++;
    await spoil(kube, 'APIService', OLD_POD, 'old-pod');
  };
  const watching = new Informer(kube, FIELDS.APIService.kind, {
    fieldSelector: `metadata.name=${FIELDS.APIService.name}`,
  });
  watching.on('changed', () => void fight().catch(() => undefined));
  watching.start(fighting.signal);

  const named = await until(
    async () => (await condition(stage, 'TrustBundle', 'packaging', 'Contended')) ?? false,
    'Contended',
    120_000,
  );
  expect(named).toMatchObject({ status: 'True', reason: 'ForeignManager' });
  expect(named.message).toContain('old-pod');
  expect(named.message).toContain('next try at');
  const writes = ours() - before;
  console.log(`${writes} writes against ${spoiled} before it was left alone`);
  expect(writes).toBe(6);
  expect((await condition(stage, 'Authority', 'packaging', 'Contended', NAMESPACE))?.message).toContain(
    'old-pod',
  );
  const told = (await eventsOf(stage, 'TrustBundle', 'packaging')).filter(
    ({ reason }) => reason === 'Contended',
  );
  expect(told).toHaveLength(1);
  expect(told[0]).toMatchObject({ type: 'Warning', note: expect.stringContaining('old-pod') });
  const truce = Date.parse(/next try at ([^)]+)/.exec(named.message)?.[1] ?? '');

  // No further write during the truce.
  while (Date.now() < truce - 2_000) {
    expect(ours() - before).toBe(6);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  // The other manager gives up meanwhile: the next write stays.
  fighting.abort();
  await until(async () => (await caBundle(kube, 'APIService')) === right, 'the next try', 120_000);
  expect(ours() - before).toBe(7);
  await until(
    async () => (await condition(stage, 'TrustBundle', 'packaging', 'Contended')) === undefined,
    'no fight any more',
    120_000,
  );
}, 600_000);
