import { secrets } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { ForeignCa } from './foreign-ca.ts';
import { bundles, secretOf } from './looks.ts';
import {
  API,
  fields,
  leaf,
  MEMBERS,
  type Member,
  NAMESPACE,
  services,
  trustBundle,
  WEBHOOK,
} from './mesh.ts';
import { LONG, MeshStage, pause, RESTART_ONLY, say } from './mesh-stage.ts';
import { rotatesOnce } from './rotations.ts';
import { type RotationStage, type RunningOperator, setRotationStage } from './stage.ts';

// One mesh runs through all tests below, in this order, under load all the time.
let stage: RotationStage;
let mesh: MeshStage;
let operator: RunningOperator;
beforeAll(async () => {
  stage = await setRotationStage();
  await stage.cluster.kubectl('create', 'namespace', NAMESPACE);
  // The state before Handover: Secrets from a CA whose key was not kept.
  const theirs = await ForeignCa.named('another issuer');
  await stage.cluster.apply(
    ...services(),
    ...(await Promise.all(MEMBERS.map(({ name }) => theirs.secret(name)))),
    ...fields(Buffer.from(theirs.pem).toString('base64')),
  );
  mesh = new MeshStage(stage);
  await mesh.start();
}, LONG);
afterAll(async () => {
  await (mesh ?? stage)?.stop();
});

test('before any change the mesh makes at least 100 handshakes a second, in every direction', async () => {
  await pause(5_000);
  const traffic = await mesh.during('at rest', () => pause(10_000));
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  // Each to each, and gRPC.
  expect(stage.collector.totals().directions.size).toBe(MEMBERS.length * (MEMBERS.length - 1) + 1);
  expect(traffic.handshakes / traffic.seconds).toBeGreaterThan(100);
});

test('takes over Secrets made without a kept CA key, and no handshake fails', async () => {
  operator = stage.startOperator();
  const traffic = await mesh.during('takeover', async () => {
    await stage.cluster.apply(
      resource('Authority', 'mesh', { adopt: { secret: MEMBERS[0]?.name } }, NAMESPACE),
      ...MEMBERS.map((member) => leaf(member, { 'handover.dev/adopt': 'true' })),
      trustBundle(),
    );
    await until(
      async () => {
        const { phase, generations } = await mesh.status();
        return phase === 'Stable' && generations.length === 1 && generations[0]?.generation === 1;
      },
      'the takeover to end',
      LONG,
    );
  });
  expect(traffic.failed).toBe(0);
});

const seconds: number[] = [];

test.each([1, 2, 3])(
  'rotation %i fails no handshake, restarts the restart-only once, and gets rid of the old CA',
  async (n) => {
    seconds.push(await rotatesOnce(mesh, operator, n));
  },
);

test('the same rotation without nudges fails no handshake either, and takes as long as the kubelet', async () => {
  await operator.stop();
  operator = stage.startOperator('--no-nudge');
  let alone = 0;
  const traffic = await mesh.during('rotation without nudges', async () => {
    alone = await mesh.rotate(operator, 'alone');
  });
  const nudged = [...seconds].sort((a, b) => a - b)[1] ?? Number.NaN;
  say(
    `  ${alone.toFixed(1)} s without nudges, ${nudged.toFixed(1)} s with (median of 3): ${(alone / nudged).toFixed(1)} times`,
  );
  expect(traffic.failed).toBe(0);
  await operator.stop();
  operator = stage.startOperator();
});

test('a workload that never confirms keeps the old CA, is named, and is freed by a restart', async () => {
  const silent: Member = { name: 'silent', manner: 'frozen', replicas: 1 };
  await stage.cluster.apply(leaf(silent));
  await stage.cluster.apply(resource('Authority', 'mesh', { rotation: { reloadWithin: '30s' } }, NAMESPACE));
  await until(async () => (await secretOf(stage.kube, 'silent')).cert !== '', 'its Secret');
  await mesh.apply(silent);
  await mesh.settled([...MEMBERS, silent]);
  const [old] = (await mesh.status()).generations;
  const traffic = await mesh.during('rotation that one does not confirm', async () => {
    await mesh.ask('held-up');
    await until(
      async () => {
        const { phase, blockedBy } = await mesh.status();
        const names = new Set(blockedBy.map(({ consumer }) => consumer));
        return phase === 'Activating' && names.size === 1 && names.has('Deployment mesh/silent');
      },
      'only the silent one to be waited for',
      LONG,
    );
    // Longer than reloadWithin: elapsed time does not replace its evidence.
    await pause(45_000);
    const held = await mesh.status();
    expect(new Set(held.blockedBy.map(({ consumer }) => consumer))).toEqual(
      new Set(['Deployment mesh/silent']),
    );
    expect(held.generations.map(({ role }) => role)).toEqual(['current', 'previous']);
    for (const [name, anchors] of await bundles(stage.kube))
      expect([name, anchors.includes(old?.fingerprint ?? '')]).toEqual([name, true]);
    say(`  ${JSON.stringify(held.blockedBy)}`);
    await stage.cluster.kubectl('-n', NAMESPACE, 'rollout', 'restart', 'deployment/silent');
    await until(async () => (await mesh.status()).phase === 'Stable', 'the rotation to end', LONG);
  });
  expect(traffic.failed).toBe(0);
  for (const [name, held] of await bundles(stage.kube))
    expect([name, held.includes(old?.fingerprint ?? '')]).toEqual([name, false]);
});

test('the same traffic fails when everything is replaced at once: the test would have noticed failures', async () => {
  await operator.stop();
  const other = await ForeignCa.named('another');
  const traffic = await mesh.during('everything replaced at once', async () => {
    const caBundle = Buffer.from(other.pem).toString('base64');
    const put = (path: string): string => JSON.stringify([{ op: 'replace', path, value: caBundle }]);
    await Promise.all([
      ...MEMBERS.map(async ({ name }) => {
        const { stringData } = await other.secret(name);
        return stage.kube.patch(secrets, { namespace: NAMESPACE, name }, { merge: { stringData } });
      }),
      stage.cluster.kubectl('patch', 'apiservice', API, '--type=json', '-p', put('/spec/caBundle')),
      stage.cluster.kubectl(
        ...['patch', 'validatingwebhookconfiguration', WEBHOOK, '--type=json', '-p'],
        put('/webhooks/0/clientConfig/caBundle'),
      ),
    ]);
    // As fast as possible by hand: kubelets are nudged, and restart-only workloads restarted.
    await stage.cluster.kubectl('-n', NAMESPACE, 'annotate', 'pods', '--all', 'replaced=now');
    for (const name of RESTART_ONLY)
      await stage.cluster.kubectl('-n', NAMESPACE, 'rollout', 'restart', `deployment/${name}`);
    await pause(30_000);
  });
  expect(traffic.failed).toBeGreaterThan(0);
});
