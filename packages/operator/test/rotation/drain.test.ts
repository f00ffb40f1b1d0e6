import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { Drains, HOT, ON_TWO_NODES, PAIRS } from './drains.ts';
import { bundles, type LivePod, livePods, secretOf } from './looks.ts';
import { budget, fields, leaf, MEMBERS, type Member, NAMESPACE, services, trustBundle } from './mesh.ts';
import { LONG, MeshStage, pause, RESTART_ONLY, say } from './mesh-stage.ts';
import { type RotationStage, setRotationStage } from './stage.ts';

/** Seconds: the only pod of `silent`, without a budget, ends on one node before it starts on the other, and nothing calls meanwhile. */
const MOVED_GAP = 90;

// One mesh on two nodes, two pods of each part, runs under load through all tests below, in this order.
let stage: RotationStage;
let mesh: MeshStage;
let drains: Drains;
const waitedFor = async (): Promise<ReadonlySet<string>> =>
  new Set((await mesh.status()).blockedBy.map(({ consumer }) => consumer));

beforeAll(async () => {
  stage = await setRotationStage({}, { nodes: 2 });
  mesh = new MeshStage(stage, ON_TWO_NODES);
  drains = new Drains(mesh);
  stage.startOperator();
  await stage.cluster.kubectl('create', 'namespace', NAMESPACE);
  await stage.cluster.apply(
    ...services(),
    ...PAIRS.map(budget),
    resource('Authority', 'mesh', {}, NAMESPACE),
    ...MEMBERS.map((member) => leaf(member)),
  );
  for (const { name } of MEMBERS)
    await until(async () => (await secretOf(stage.kube, name)).cert !== '', `the Secret of ${name}`, LONG);
  const { ca } = await secretOf(stage.kube, 'hot');
  await stage.cluster.apply(...fields(Buffer.from(ca).toString('base64')), trustBundle());
  await mesh.start();
}, LONG);
afterAll(() => mesh?.stop());

test('each part has a pod on each node, and all reach all', async () => {
  for (const node of drains.nodes)
    expect((await drains.podsOn(node)).map(({ app }) => app).sort()).toEqual(
      MEMBERS.map(({ name }) => name).sort(),
    );
  await pause(5_000);
  const traffic = await mesh.during('at rest', () => pause(10_000));
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
});

test('a stopped kubelet blocks a rotation and is named, and the rotation continues when it is back', async () => {
  const was = await drains.standing();
  const lost = stage.cluster.nodes[1];
  const isReady = async (): Promise<boolean> => {
    const path = `jsonpath={.status.conditions[?(@.type=="Ready")].status}`;
    return (await stage.cluster.kubectl('get', 'node', lost?.name ?? '', '-o', path)) === 'True';
  };
  const traffic = await mesh.during('rotation with a kubelet gone', async () => {
    await lost?.stopKubelet();
    await mesh.ask('vanished');
    await drains.trustIsOut();
    const pending = new Set(HOT.map((name) => `Deployment ${NAMESPACE}/${name}`));
    const onlyThose = async (): Promise<boolean> => {
      const names = await waitedFor();
      return names.size === pending.size && [...names].every((name) => pending.has(name));
    };
    await until(onlyThose, 'those with a pod there to be waited for', LONG);
    await until(async () => !(await isReady()), 'the node to be taken for lost', LONG);
    expect(await waitedFor()).toEqual(pending);
    expect((await mesh.status()).phase).toBe('Introducing');
    await lost?.startKubelet();
    await drains.leafIsOut(was);
    // Restart-only workloads are not restarted yet.
    await lost?.stopKubelet();
    await until(() => drains.someRolled(was), 'a restart to be asked for', LONG);
    const names = await waitedFor();
    for (const name of RESTART_ONLY) expect(names).toContain(`Deployment ${NAMESPACE}/${name}`);
    expect((await mesh.status()).phase).toBe('Activating');
    await lost?.startKubelet();
    await drains.ended();
    await mesh.settled();
  });
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  await drains.expectRotated(was);
});

test('a drain of either node without a rotation fails no handshake', async () => {
  await mesh.settled();
  const traffic = await mesh.during('drains without a rotation', async () => {
    for (const node of [...drains.nodes].reverse()) await drains.drain(node);
  });
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
});

test('a drain that starts with the first new leaf fails no handshake, and restarts no workload twice', () =>
  drains.drainFromFirstLeaf());

test('a pod that starts in the middle of a rotation counts, and does not block it once a drain has moved the pod', async () => {
  const [from, to] = await drains.byPods();
  const silent: Member = { name: 'silent', manner: 'frozen', replicas: 1, prefers: from };
  const everyPart = [...PAIRS, silent];
  await stage.cluster.apply(
    leaf(silent),
    // The rotation waits for the pod's trust, which it does not report: time for a drain.
    resource('Authority', 'mesh', { rotation: { reloadWithin: '30s' } }, NAMESPACE),
  );
  await until(async () => (await secretOf(stage.kube, 'silent')).cert !== '', 'its Secret');
  await mesh.apply(silent);
  await mesh.settled(everyPart);
  const was = await drains.standing(everyPart);
  const itsPod = async (): Promise<LivePod | undefined> =>
    (await livePods(stage.kube)).find(({ app }) => app === 'silent');
  const first = await itsPod();
  expect(first?.node).toBe(from);

  const traffic = await mesh.during(
    'rotation, drained when trust and when leaves were written',
    async () => {
      await mesh.ask('moved');
      await drains.trustIsOut();
      expect((await secretOf(stage.kube, 'hot')).cert).toBe(was.pair.cert);
      await drains.drain(from, everyPart);
      const second = await itsPod();
      expect(second?.node).toBe(to);
      expect(second?.name).not.toBe(first?.name);
      const held = await until(
        async () => {
          const { phase, blockedBy } = await mesh.status();
          const names = new Set(blockedBy.map(({ consumer }) => consumer));
          const alone = names.size === 1 && names.has(`Deployment ${NAMESPACE}/silent`);
          return phase === 'Activating' && alone ? blockedBy : undefined;
        },
        'only the silent one to be waited for, once leaves are out',
        LONG,
      );
      say(`  ${JSON.stringify(held)}`);
      for (const [name, anchors] of await bundles(stage.kube))
        expect([name, anchors.includes(was.old)]).toEqual([name, true]);
      await drains.drain(to, everyPart);
      await drains.ended();
    },
    MOVED_GAP,
  );
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  await drains.expectRotated(was);
});
