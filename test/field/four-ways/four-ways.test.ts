// A Leaf, a Certificate of cert-manager, an adopted CA and a pod certificate in one mesh, through three rotations under load.
// Against: cert-manager, a kubelet that makes keys for pods, and Node programs in pods on a real node.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RotationStage, setRotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import { type CertManager, startCertManager } from '../cert-manager/cert-manager.ts';
import { APPROVE_AUTHORITIES } from '../cert-manager/roles.ts';
import { expectNoneFailed, PodTraffic } from '../src/pod-traffic.ts';
import { AUTHORITY, DIRECTIONS, HOT, NAMESPACE, startMesh } from './mesh.ts';

/** The kubelet gets a new certificate ten minutes after the last, and the rotation waits for it. */
const ROTATION = '25m';

let stage: RotationStage;
let certManager: CertManager;
beforeAll(async () => {
  stage = await setRotationStage({}, { install: { podCertificates: true } });
  certManager = await startCertManager(stage.cluster);
  await stage.cluster.apply(...APPROVE_AUTHORITIES);
}, 1_800_000);
afterAll(() => stage?.stop());

const podsOf = (app: string): Promise<string> =>
  stage.cluster.kubectl(
    ...['get', 'pods', '-n', NAMESPACE, '-l', `app=${app}`, '-o', 'jsonpath={.items[*].metadata.uid}'],
  );
const hotPods = async (): Promise<readonly string[]> => Promise.all(HOT.map(podsOf));

test('certificates by four ways: three rotations under load, 0 failed, no hot pod restarted', async () => {
  const operator = stage.startOperator();
  await startMesh(stage, certManager);
  const traffic = new PodTraffic(stage, DIRECTIONS);
  await traffic.start();
  const before = await hotPods();
  for (const rotation of [1, 2, 3]) {
    const figures = await traffic.during(`four ways, rotation ${rotation}`, async () => {
      const wait = ['--home', 'kube', '--wait', '--timeout', ROTATION];
      await stage.handover('rotate', `${NAMESPACE}/${AUTHORITY}`, '--id', `r${rotation}`, ...wait);
    });
    expectNoneFailed(figures, { each: 1, inAll: 16 });
  }
  const told = await stage.handover('status', `${NAMESPACE}/${AUTHORITY}`, '--home', 'kube', '--json');
  expect(JSON.parse(told).authorities[0]).toMatchObject({
    phase: 'Stable',
    generations: [{ generation: 4 }],
  });
  expect(await hotPods()).toEqual(before);
  await operator.stop();
}, 5_400_000);
