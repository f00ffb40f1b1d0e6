// The core of this tier, for CI: what the other files prove in one cluster each, once and in one cluster. Same code, same assertions.
import { secrets } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { Drains, ON_TWO_NODES, PAIRS } from './drains.ts';
import { ForeignCa } from './foreign-ca.ts';
import { Jobs } from './jobs.ts';
import { secretOf } from './looks.ts';
import {
  API,
  budget,
  fields,
  leaf,
  MEMBERS,
  NAMESPACE,
  NEIGHBOURS,
  namespaceOf,
  services,
  trustBundle,
  WEBHOOK,
} from './mesh.ts';
import { LONG, MeshStage, pause, say } from './mesh-stage.ts';
import { OWN } from './operator-pods.ts';
import { rotatesOnce } from './rotations.ts';
import { type RotationStage, type RunningOperator, setRotationStage } from './stage.ts';
import { Storms } from './storms.ts';
import {
  kubectl,
  loadVersions,
  noOperator,
  rolledOut,
  upgradeInMidRotation,
  type Versions,
} from './versions.ts';

// One mesh on two nodes, two pods of each part, under load through all tests below, in this order.
let stage: RotationStage;
let mesh: MeshStage;
let versions: Versions;
let storms: Storms;
let operator: RunningOperator;
let jobs: Jobs;

beforeAll(async () => {
  stage = await setRotationStage({}, { bare: true, nodes: 2 });
  versions = await loadVersions(stage);
  await kubectl(stage, versions.older, 'install');
  await stage.cluster.kubectl('create', 'namespace', NAMESPACE);
  const before = Buffer.from((await ForeignCa.named('another issuer')).pem).toString('base64');
  await stage.cluster.apply(
    ...services(),
    ...PAIRS.map(budget),
    ...fields(before),
    resource('Authority', 'mesh', {}, NAMESPACE),
    ...MEMBERS.map((member) => leaf(member)),
    trustBundle(),
  );
  await rolledOut(stage);
  for (const { name } of MEMBERS)
    await until(async () => (await secretOf(stage.kube, name)).cert !== '', `Secret ${name}`, LONG);
  mesh = new MeshStage(stage, ON_TWO_NODES);
  await mesh.start();
}, 2 * LONG);
afterAll(async () => {
  jobs?.stop();
  await (mesh ?? stage)?.stop();
  await storms?.stop();
});

test('this version completes a rotation that the previous version started, and no handshake fails', () =>
  upgradeInMidRotation(mesh, versions));

test('a rotation fails no handshake, restarts the restart-only once, and gets rid of the old CA', async () => {
  // From here on a process that the storm can strike leads, with the rights of the installed one.
  await stage.cluster.kubectl('scale', 'deployment/handover', '-n', OWN, '--replicas=0');
  await noOperator(stage);
  storms = await Storms.over(stage);
  operator = storms.operators.get(storms.startOperator()) ?? expect.fail('no operator');
  await storms.watch();
  expect(await rotatesOnce(mesh, operator, 1)).toBeGreaterThan(0);
});

test('when the API server is killed in each phase, the rotation and all its webhooks and APIs continue', async () => {
  await storms.calm(mesh);
  await storms.killApiServer(mesh);
  storms.strikes.plan([], async () => 'goes on');
});

test('a drain that starts with the first new leaf fails no handshake, and restarts no workload twice', () =>
  new Drains(mesh).drainFromFirstLeaf());

test('a rotation neither waits for pods of other namespaces nor overtakes them: the old CA stays trusted without its key', async () => {
  const neighbours = NEIGHBOURS.filter(({ name }) => ['shop-once', 'pay-stuck'].includes(name));
  const reloadWithin = 10;
  for (const member of neighbours) await stage.cluster.kubectl('create', 'namespace', namespaceOf(member));
  await stage.cluster.apply(
    ...services(neighbours),
    resource(
      'Authority',
      'mesh',
      { issueTo: { namespaceSelector: {} }, rotation: { reloadWithin: `${reloadWithin}s` } },
      NAMESPACE,
    ),
    ...neighbours.map((member) => leaf(member)),
  );
  for (const { name, namespace } of neighbours)
    await until(
      async () => (await secretOf(stage.kube, name, namespace)).cert !== '',
      `Secret ${name}`,
      LONG,
    );
  const beside = new MeshStage(stage, { ...ON_TWO_NODES, members: [...PAIRS, ...neighbours] });
  await beside.apply(...neighbours);
  await beside.settled(neighbours);
  // Nothing restarts its pod from now on.
  await stage.cluster.kubectl('rollout', 'pause', 'deployment/pay-stuck', '-n', 'pay');

  const callsOf = (name: string): number => stage.collector.totals().directions.get(`${name} → hot`)?.ok ?? 0;
  const before = neighbours.map(({ name }) => callsOf(name));
  const traffic = await mesh.during('a rotation beside other namespaces', async () => {
    const seconds = await mesh.rotate(operator, 'beside');
    say(`  from the first step to Stable: ${seconds.toFixed(1)} s`);
    // Past the moment at which neighbours used to be overtaken.
    await pause((2 * reloadWithin + 10 + 15) * 1_000);
  });
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  expect(neighbours.filter(({ name }, index) => callsOf(name) <= (before[index] ?? 0))).toEqual([]);
  const { phase, generations, notes } = await mesh.status();
  say(`  ${notes.join('; ')}`);
  expect([phase, generations.map(({ role }) => role)]).toEqual(['Stable', ['current', 'retained']]);
  expect(generations[1]?.trustedFor).toContain('Deployment pay/pay-stuck (restart pending)');
  for (const member of neighbours) await stage.cluster.kubectl('delete', 'namespace', namespaceOf(member));
});

test('S3.1 the recipe’s Job makes the Secrets in an empty namespace, with the rights of the recipe', async () => {
  // The mesh has done its part.
  await mesh.calls.stop();
  for (const operator of storms.operators.values()) await operator.stop();
  await stage.cluster.kubectl('delete', 'apiservice', API);
  await stage.cluster.kubectl('delete', 'validatingwebhookconfiguration', WEBHOOK);
  await stage.cluster.kubectl('delete', 'deployments', '--all', '-n', NAMESPACE, '--cascade=foreground');
  jobs = await Jobs.on(stage.cluster, stage.kube, stage.image);
  expect((await stage.kube.list(secrets, { namespace: 'envoy-gateway-system' })).items).toEqual([]);
  await jobs.makesSecrets();
});

test('S3.6 the next Job is the next rotation; no call fails while old and new pods of Rate Limit overlap, and only they are restarted, once', async () => {
  await jobs.startParts();
  await jobs.rotates();
});
