// Against: a node of Kubernetes 1.37, whose kubelet makes the keys of three Deployments of the mesh.
import { createHash, X509Certificate } from 'node:crypto';
import { installation } from '@handover/install';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { REQUESTS } from '../pod-request.ts';
import { isSettled, livePods, secretOf } from './looks.ts';
import { fields, leaf, MEMBERS, type Member, NAMESPACE, services, trustBundle } from './mesh.ts';
import { LONG, MeshStage, pause, say } from './mesh-stage.ts';
import { type RotationStage, setRotationStage } from './stage.ts';

const OWN: readonly string[] = ['hot', 'grpc', 'once'];
const MIXED: readonly Member[] = MEMBERS.map((member) =>
  OWN.includes(member.name) ? { ...member, own: true } : member,
);

let stage: RotationStage;
let mesh: MeshStage;
beforeAll(async () => {
  stage = await setRotationStage();
  const all = installation({ namespace: 'handover-system', image: 'none', podCertificates: true });
  for (const object of all.filter(({ kind }) => kind !== 'Deployment')) await stage.cluster.apply(object);
  await stage.cluster.kubectl('create', 'namespace', NAMESPACE);
  stage.startOperator();
  await stage.cluster.apply(
    ...services(),
    resource('Authority', 'mesh', { podCertificates: {} }, NAMESPACE),
    ...MIXED.filter(({ own }) => own !== true).map((member) => leaf(member)),
  );
  const { ca } = await until(
    async () => {
      const found = await secretOf(stage.kube, 'webhook').catch(() => undefined);
      return found?.ca ? found : undefined;
    },
    'the first Secret',
    LONG,
  );
  await stage.cluster.apply(...fields(Buffer.from(ca).toString('base64')), trustBundle());
  mesh = new MeshStage(stage, { members: MIXED });
  await mesh.start();
}, LONG);
afterAll(async () => {
  await (mesh ?? stage)?.stop();
});

/** Certificates that were issued to pods, newest first. */
const issued = async (): Promise<readonly { readonly pod: string; readonly leaf: X509Certificate }[]> => {
  const { items } = await stage.kube.list(REQUESTS, { namespace: NAMESPACE });
  return items
    .flatMap(({ spec, status }) => {
      const { podName } = spec as { podName: string };
      const { certificateChain } = (status ?? {}) as { certificateChain?: string };
      return certificateChain === undefined
        ? []
        : [{ pod: podName, leaf: new X509Certificate(certificateChain) }];
    })
    .sort((a, b) => Date.parse(b.leaf.validFrom) - Date.parse(a.leaf.validFrom));
};
const keyOf = ({ publicKey }: X509Certificate): string =>
  createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');

test('every pod has a key of its own, and no Secret holds one', async () => {
  const found = await issued();
  const pods = (await livePods(stage.kube)).filter(({ app }) => OWN.includes(app));
  expect(new Set(found.map(({ pod }) => pod))).toEqual(new Set(pods.map(({ name }) => name)));
  expect(new Set(found.map(({ leaf: one }) => keyOf(one))).size).toBe(found.length);
  for (const name of OWN) expect((await secretOf(stage.kube, name)).cert).toBe('');
  const traffic = await mesh.during('at rest', () => pause(10_000));
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
});

test('a pod that is deleted comes back with a new key, and no handshake fails', async () => {
  const before = (await issued()).length;
  const traffic = await mesh.during('a restart', async () => {
    const [pod] = (await livePods(stage.kube)).filter(({ app }) => app === 'hot');
    await stage.cluster.kubectl('-n', NAMESPACE, 'delete', 'pod', pod?.name ?? '', '--wait=false');
    await until(async () => (await issued()).length > before, 'a new certificate', LONG);
    await until(() => isSettled(stage.kube, MIXED), 'the pods to be ready', LONG);
  });
  expect(traffic.failed).toBe(0);
});

test('a rotation waits for these pods, names them, and ends when they are restarted: no handshake fails', async () => {
  let [held, ended] = [0, 0];
  const traffic = await mesh.during('rotation with pod certificates', async () => {
    const began = Date.now();
    await mesh.ask('one');
    const waits = await until(
      async () => {
        const { generations, blockedBy } = await mesh.status();
        const names = blockedBy.map(({ consumer }) => consumer);
        return generations.length === 2 &&
          names.length >= 3 &&
          names.every((name) => name.startsWith('pod mesh/'))
          ? blockedBy
          : undefined;
      },
      'only pods to be waited for',
      LONG,
    );
    held = (Date.now() - began) / 1_000;
    // One that loads its files only at start was rolled by the operator, and is among them if that was within ten seconds of the activation.
    const apps = new Set(waits.map(({ consumer }) => /mesh\/([a-z]+)/.exec(consumer)?.[1] ?? consumer));
    expect([...apps]).toEqual(expect.arrayContaining(['grpc', 'hot']));
    for (const { waitsFor } of waits) expect(waitsFor).toMatch(/at the latest until 20.*or restart it/);
    for (const name of apps)
      await stage.cluster.kubectl('-n', NAMESPACE, 'rollout', 'restart', `deployment/${name}`);
    await until(
      async () => {
        const { phase, generations } = await mesh.status();
        return phase === 'Stable' && generations.length === 1 && generations[0]?.generation === 2;
      },
      'the rotation to end',
      LONG,
    );
    ended = (Date.now() - began) / 1_000;
  });
  say(`  only pods left after ${held.toFixed(0)} s, restarted, Stable after ${ended.toFixed(0)} s`);
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
});
