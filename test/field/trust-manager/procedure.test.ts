// How others rotate a CA: the steps that users of cert-manager and trust-manager take, under load, for figures beside ours.
// Against: cert-manager, trust-manager and Node programs in pods on a real node.
import { X509Certificate } from 'node:crypto';
import { makeCa } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../../packages/operator/test/cluster/stage.ts';
import { type RotationStage, setRotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import { type CertManager, startCertManager } from '../cert-manager/cert-manager.ts';
import { caCertificate } from '../cert-manager/objects.ts';
import { expectNoneFailed, PodTraffic } from '../src/pod-traffic.ts';
import { rolledOut } from '../src/program-pod.ts';
import { DIRECTIONS, NAMES, NAMESPACE, rootIn, roots, startMesh } from './mesh.ts';
import { startTrustManager, type TrustManager } from './trust-manager.ts';

const LONG = 600_000;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const RELOADING = ['hot', 'late'] as const;
const BETWEEN_RELOADING = ['hot → late', 'late → hot'];

let stage: RotationStage;
let certManager: CertManager;
let trustManager: TrustManager;
let traffic: PodTraffic;

beforeAll(async () => {
  stage = await setRotationStage({}, { bare: true });
  certManager = await startCertManager(stage.cluster);
  const unused = makeCa(stage.cluster.directory, 'default', 'default');
  trustManager = await startTrustManager(stage.cluster, unused.pem);
  await startMesh(stage, certManager);
  traffic = new PodTraffic(stage, DIRECTIONS);
  await traffic.start();
}, 1_800_000);
afterAll(() => stage?.stop());

const restartAll = async (): Promise<void> => {
  for (const name of NAMES) {
    await stage.cluster.kubectl('-n', NAMESPACE, 'rollout', 'restart', `deployment/${name}`);
    await rolledOut(stage.cluster, NAMESPACE, [name]);
  }
  await until(
    async () => {
      const told = await stage.cluster.kubectl('-n', NAMESPACE, 'get', 'pods', '-o', 'name');
      return told.trim().split('\n').length === NAMES.length;
    },
    'the old pods to be gone',
    LONG,
  );
};

/** What trust-manager has written for the pods. */
const isWritten = async (...pems: readonly string[]): Promise<boolean> => {
  const told = await stage.cluster.kubectl('-n', NAMESPACE, 'get', 'configmap', 'mesh', '-o', 'json');
  const { data } = JSON.parse(told) as { readonly data: Readonly<Record<string, string>> };
  const held = data['ca.crt'] ?? '';
  return pems.every((pem) => held.includes(pem)) && held.split('BEGIN').length - 1 === pems.length;
};

const revision = async (name: string): Promise<string> =>
  stage.cluster.kubectl(
    ...['-n', NAMESPACE, 'get', 'certificate', name, '-o', 'jsonpath={.status.revision}'],
  );

/** From the CA in one Secret to a new one in another. `afterEach` comes after each of the three changes that pods have to load. */
const rotate = async (from: string, to: string, afterEach: () => Promise<void>): Promise<void> => {
  const { cluster } = stage;
  await cluster.apply(caCertificate(NAMESPACE, 'mesh', to));
  await certManager.issued({ namespace: NAMESPACE, name: to });
  const [old, next] = [await rootIn(stage, from), await rootIn(stage, to)];

  await cluster.apply(roots({ 'old.crt': old, 'next.crt': next }));
  await until(() => isWritten(old, next), 'both CAs in the ConfigMap', LONG);
  await afterEach();

  const secretName = { spec: { ca: { secretName: to } } };
  const patch = ['--type=merge', '-p', JSON.stringify(secretName)];
  await cluster.kubectl('-n', NAMESPACE, 'patch', 'issuer', 'mesh', ...patch);
  for (const name of NAMES) {
    const before = await revision(name);
    await certManager.renew({ namespace: NAMESPACE, name });
    await until(async () => (await revision(name)) !== before, `a new certificate of ${name}`, LONG);
    await certManager.issued({ namespace: NAMESPACE, name });
  }
  await afterEach();

  await cluster.apply(roots({ 'next.crt': next }));
  await until(() => isWritten(next), 'the new CA alone in the ConfigMap', LONG);
  await afterEach();
};

/** The files of a pod: its trust is this CA alone, and its certificate is from it. */
const hasOnly = async (name: string, ca: string): Promise<boolean> => {
  const read =
    'process.stdout.write(require("fs").readFileSync("/tls/ca.crt") + require("fs").readFileSync("/tls/tls.crt"))';
  const told = await stage.cluster.kubectl(
    '-n',
    NAMESPACE,
    'exec',
    `deployment/${name}`,
    '--',
    'node',
    '-e',
    read,
  );
  const [trust, leaf] = (told.match(/-----BEGIN[^-]*-----[^-]*-----END[^-]*-----/g) ?? []).map(
    (pem) => new X509Certificate(pem),
  );
  const only = new X509Certificate(ca);
  return trust?.fingerprint256 === only.fingerprint256 && leaf?.checkIssued(only) === true;
};

/** Nothing failed for five seconds, and every direction was heard meanwhile. */
const isCalm = async (directions: readonly string[]): Promise<boolean> => {
  const count = () => {
    const { directions: all } = stage.collector.totals();
    return directions.map((name) => all.get(name) ?? { ok: 0, failed: 0 });
  };
  const before = count();
  await pause(5_000);
  return count().every(
    ({ ok, failed }, index) => ok > (before[index]?.ok ?? 0) && failed === before[index]?.failed,
  );
};
const withVersions = (what: string): string =>
  `cert-manager ${certManager.version.slice(1)}, trust-manager ${trustManager.version.slice(1)}, ${what}`;

test('each step taken as soon as the objects of the one before are written: calls fail', async () => {
  const what = withVersions('each step once the objects of the last are written');
  const figures = await traffic.during(what, async () => {
    await rotate('mesh-ca', 'mesh-ca-2', async () => {});
    // The program that reads its files once never learns of it; the others do, when their kubelet has written them.
    const ca = await rootIn(stage, 'mesh-ca-2');
    for (const name of RELOADING) await until(() => hasOnly(name, ca), `new files of ${name}`, LONG);
    await until(() => isCalm(BETWEEN_RELOADING), 'the pods that reload to reach each other', LONG);
  });
  // Else this load would not see an unsafe rotation.
  expect(figures.failed).toBeGreaterThan(0);
  const between = BETWEEN_RELOADING.map((name) => figures.directions[name]?.failed ?? 0);
  say(`  of these between the two that reload: ${between.reduce((sum, count) => sum + count, 0)}`);
});

test('every workload restarted after each of the three changes: no call fails', async () => {
  await restartAll();
  await until(() => isCalm(DIRECTIONS), 'every direction to work', LONG);
  const what = withVersions('every workload restarted after each of three steps');
  const figures = await traffic.during(what, () => rotate('mesh-ca-2', 'mesh-ca-3', restartAll));
  expectNoneFailed(figures, { each: 1, inAll: 12 });
});
