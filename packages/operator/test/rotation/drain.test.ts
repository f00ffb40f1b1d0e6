import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { bundles, type LivePod, livePods, revisionOf, secretOf } from './looks.ts';
import { budget, fields, leaf, MEMBERS, type Member, NAMESPACE, services, trustBundle } from './mesh.ts';
import { LONG, MeshStage, pause, RESTART_ONLY, say } from './mesh-stage.ts';
import { type RotationStage, setRotationStage } from './stage.ts';

// One mesh on two nodes, two pods of each part, runs under load through all tests below, in this order.
let stage: RotationStage;
let mesh: MeshStage;
let nodes: readonly string[];
const PAIRS: readonly Member[] = MEMBERS.map((member) => ({ ...member, replicas: 2 }));
const HOT = MEMBERS.map(({ name }) => name).filter((name) => !RESTART_ONLY.includes(name));

const podsOn = async (node: string): Promise<readonly LivePod[]> =>
  (await livePods(stage.kube)).filter((pod) => pod.node === node);

/** Drains a node as for maintenance, and uncordons it when everything is ready elsewhere. */
const drain = async (node: string, members: readonly Member[] = PAIRS): Promise<void> => {
  const begun = performance.now();
  const there = (await podsOn(node)).length;
  expect(there).toBeGreaterThan(0);
  const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--timeout=600s'];
  await stage.cluster.kubectl('drain', node, ...flags);
  expect(await podsOn(node)).toEqual([]);
  await mesh.settled(members);
  await stage.cluster.kubectl('uncordon', node);
  const seconds = (performance.now() - begun) / 1000;
  say(`  ${node} drained of ${there} pods, and these ready elsewhere, in ${seconds.toFixed(0)} s`);
};

const anchorsIn = (pem: string): number => pem.split('-----BEGIN CERTIFICATE-----').length - 1;
const trustIsOut = (): Promise<true> =>
  until(async () => anchorsIn((await secretOf(stage.kube, 'hot')).ca) === 2, 'the new CA in a Secret', LONG);
const leafIsOut = (old: string): Promise<true> =>
  until(async () => (await secretOf(stage.kube, 'hot')).cert !== old, 'a new leaf in a Secret', LONG);
const ended = (): Promise<true> =>
  until(
    async () => {
      const { phase, generations } = await mesh.status();
      return phase === 'Stable' && generations.length === 1;
    },
    'the rotation to end',
    LONG,
  );
const waitedFor = async (): Promise<ReadonlySet<string>> =>
  new Set((await mesh.status()).blockedBy.map(({ consumer }) => consumer));

/** The nodes, the one with most pods first. */
const byPods = async (): Promise<readonly [string, string]> => {
  const [one = '', two = ''] = nodes;
  return (await podsOn(one)).length > (await podsOn(two)).length ? [one, two] : [two, one];
};

interface Standing {
  readonly old: string;
  readonly pair: { readonly cert: string; readonly key: string };
  readonly revisions: ReadonlyMap<string, number>;
}

/** The state before a rotation. */
const standing = async (members: readonly Member[] = PAIRS): Promise<Standing> => {
  await mesh.settled(members);
  const [current] = (await mesh.status()).generations;
  const revisions = new Map<string, number>();
  for (const { name } of MEMBERS) revisions.set(name, await revisionOf(stage.kube, name));
  return { old: current?.fingerprint ?? '', pair: await secretOf(stage.kube, 'hot'), revisions };
};

const someRolled = async ({ revisions }: Standing): Promise<boolean> => {
  for (const name of RESTART_ONLY)
    if ((await revisionOf(stage.kube, name)) > (revisions.get(name) ?? 0)) return true;
  return false;
};

/** Each restart-only workload restarted once, and the old CA in no bundle and on no server that follows its files. */
const expectRotated = async ({ old, pair, revisions }: Standing): Promise<void> => {
  for (const { name } of MEMBERS) {
    const rolled = (await revisionOf(stage.kube, name)) - (revisions.get(name) ?? 0);
    expect([name, rolled]).toEqual([name, RESTART_ONLY.includes(name) ? 1 : 0]);
  }
  for (const [name, held] of await bundles(stage.kube)) {
    expect([name, held.length]).toEqual([name, 1]);
    expect([name, held.includes(old)]).toEqual([name, false]);
  }
  const targets = (await livePods(stage.kube))
    .filter(({ app }) => HOT.includes(app))
    .map(({ app, ip }) => ({ name: app, address: `${ip}:8443` }));
  await until(
    async () => {
      const verdicts = await stage.tryFromInside(targets, pair);
      return verdicts.every((verdict) => !verdict.ok && verdict.kind === 'handshake');
    },
    'every hot server to refuse an old leaf',
    LONG,
  );
};

beforeAll(async () => {
  stage = await setRotationStage({}, { nodes: 2 });
  nodes = stage.cluster.nodes.map(({ name }) => name);
  mesh = new MeshStage(stage, { members: PAIRS, rate: 8, spread: true, linger: 5 });
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
  for (const node of nodes)
    expect((await podsOn(node)).map(({ app }) => app).sort()).toEqual(MEMBERS.map(({ name }) => name).sort());
  await pause(5_000);
  const traffic = await mesh.during('at rest', () => pause(10_000));
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
});

test('a stopped kubelet blocks a rotation and is named, and the rotation continues when it is back', async () => {
  const was = await standing();
  const lost = stage.cluster.nodes[1];
  const isReady = async (): Promise<boolean> => {
    const path = `jsonpath={.status.conditions[?(@.type=="Ready")].status}`;
    return (await stage.cluster.kubectl('get', 'node', lost?.name ?? '', '-o', path)) === 'True';
  };
  const traffic = await mesh.during('rotation with a kubelet gone', async () => {
    await lost?.stopKubelet();
    await mesh.ask('vanished');
    await trustIsOut();
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
    await leafIsOut(was.pair.cert);
    // Restart-only workloads are not restarted yet.
    await lost?.stopKubelet();
    await until(() => someRolled(was), 'a restart to be asked for', LONG);
    const names = await waitedFor();
    for (const name of RESTART_ONLY) expect(names).toContain(`Deployment ${NAMESPACE}/${name}`);
    expect((await mesh.status()).phase).toBe('Activating');
    await lost?.startKubelet();
    await ended();
    await mesh.settled();
  });
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  await expectRotated(was);
});

test('a drain of either node without a rotation fails no handshake', async () => {
  await mesh.settled();
  const traffic = await mesh.during('drains without a rotation', async () => {
    for (const node of [...nodes].reverse()) await drain(node);
  });
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
});

test('a drain that starts with the first new leaf fails no handshake, and restarts no workload twice', async () => {
  const was = await standing();
  const [busiest] = await byPods();
  const traffic = await mesh.during('rotation, drained when leaves were written', async () => {
    await mesh.ask('drained');
    await leafIsOut(was.pair.cert);
    const [{ phase }] = await Promise.all([mesh.status(), drain(busiest)]);
    expect(phase).toBe('Activating');
    await ended();
  });
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  await expectRotated(was);
});

test('a pod that starts in the middle of a rotation counts, and does not block it once a drain has moved the pod', async () => {
  const [from, to] = await byPods();
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
  const was = await standing(everyPart);
  const itsPod = async (): Promise<LivePod | undefined> =>
    (await livePods(stage.kube)).find(({ app }) => app === 'silent');
  const first = await itsPod();
  expect(first?.node).toBe(from);

  const traffic = await mesh.during('rotation, drained when trust and when leaves were written', async () => {
    await mesh.ask('moved');
    await trustIsOut();
    expect((await secretOf(stage.kube, 'hot')).cert).toBe(was.pair.cert);
    await drain(from, everyPart);
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
    await drain(to, everyPart);
    await ended();
  });
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  await expectRotated(was);
});
