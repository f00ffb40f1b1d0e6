// A CA Issuer of cert-manager becomes an Authority, and is rotated under load: Certificates stay as they are but for issuerRef.
// Against: cert-manager's controller, webhook and cainjector, and Node programs, in pods on a real node.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../../packages/operator/test/cluster/stage.ts';
import { type RotationStage, setRotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import { NodeMesh } from '../src/node-mesh.ts';
import { expectNoneFailed, PodTraffic } from '../src/pod-traffic.ts';
import { type CertManager, startCertManager } from './cert-manager.ts';
import { caIssuer, certificate, type IssuerRef, issuer } from './objects.ts';
import { APPROVE_AUTHORITIES } from './roles.ts';

const LONG = 600_000;
const NAMESPACE = 'mesh';
const AUTHORITY: IssuerRef = { group: 'handover.dev', kind: 'Authority', name: 'mesh' };
/** One that follows its files, one that loads them ten seconds late, and one that reads them when it starts. */
const PODS = {
  hot: { setting: { manner: 'hot' }, annotations: { 'handover.dev/reload': 'hot' } },
  late: { setting: { manner: 'polling', delay: 10 }, annotations: { 'handover.dev/reload': 'hot' } },
  once: { setting: { manner: 'frozen' }, annotations: { 'handover.dev/reload': 'restart' } },
} as const;
const MESH = new NodeMesh(PODS, { namespace: NAMESPACE, trust: 'mesh', rate: 16 });
const NAMES = MESH.names;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

let stage: RotationStage;
let certManager: CertManager;
let traffic: PodTraffic;

const authority = {
  apiVersion: 'handover.dev/v1alpha1',
  kind: 'Authority',
  metadata: { namespace: NAMESPACE, name: 'mesh' },
  spec: {
    adopt: { secret: 'mesh-ca' },
    bundle: { configMapName: 'mesh' },
    rotation: { reloadWithin: '20s' },
  },
};

const fromSecret = async (name: string, key: string): Promise<string> => {
  const told = await stage.cluster.kubectl('-n', NAMESPACE, 'get', 'secret', name, '-o', 'json');
  const { data } = JSON.parse(told) as { readonly data: Readonly<Record<string, string>> };
  return Buffer.from(data[key] ?? '', 'base64').toString('utf8');
};
const revision = (name: string): Promise<string> =>
  stage.cluster.kubectl('-n', NAMESPACE, 'get', 'certificate', name, '-o', 'jsonpath={.status.revision}');

beforeAll(async () => {
  stage = await setRotationStage({});
  certManager = await startCertManager(stage.cluster);
  const { cluster } = stage;
  await cluster.apply(...APPROVE_AUTHORITIES);
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  await cluster.apply(
    ...caIssuer(NAMESPACE, 'mesh'),
    ...NAMES.map((name) => certificate(NAMESPACE, name, issuer('mesh'))),
  );
  await certManager.issued({ namespace: NAMESPACE, name: 'mesh-ca' });
  stage.startOperator();
  await cluster.apply(authority);
  const bundle = ['-n', NAMESPACE, 'get', 'configmap', 'mesh', '--ignore-not-found', '-o', 'name'];
  await until(async () => (await cluster.kubectl(...bundle)) !== '', 'the bundle of the Authority', LONG);
  for (const name of NAMES) await certManager.issued({ namespace: NAMESPACE, name });
  await MESH.start(stage);
  traffic = new PodTraffic(stage, MESH.directions);
  await traffic.start();
}, 1_800_000);
afterAll(() => stage?.stop());

test('the CA of the Issuer becomes the first generation, and nothing is issued anew for it', async () => {
  const ca = await fromSecret('mesh-ca', 'tls.crt');
  const told = await stage.cluster.kubectl('-n', NAMESPACE, 'get', 'configmap', 'mesh', '-o', 'json');
  const { data } = JSON.parse(told) as { readonly data: Readonly<Record<string, string>> };
  expect(data['ca.crt']?.trim()).toBe(ca.trim());
  for (const name of NAMES) expect(await revision(name)).toBe('1');
});

test('issuerRef is changed and the CA rotated three times under load: no call fails, and only what reads its files once restarts', async () => {
  const what = `cert-manager ${certManager.version.slice(1)}, three rotations of an Authority`;
  const figures = await traffic.during(what, async () => {
    await stage.cluster.apply(...NAMES.map((name) => certificate(NAMESPACE, name, AUTHORITY)));
    for (const name of NAMES)
      await until(async () => (await revision(name)) === '2', `a leaf of ${name} from the Authority`, LONG);
    for (const id of ['one', 'two', 'three']) {
      const began = performance.now();
      await stage.handover('rotate', `${NAMESPACE}/mesh`, '--home', 'kube', '--id', id, '--wait');
      say(`rotation ${id}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
    }
  });
  expectNoneFailed(figures, { each: 1, inAll: 12 });
  for (const name of NAMES) expect(Number(await revision(name))).toBeGreaterThanOrEqual(5);
  for (const name of ['hot', 'late']) {
    const pods = ['-n', NAMESPACE, 'get', 'replicasets', '-l', `app=${name}`, '-o', 'name'];
    expect((await stage.cluster.kubectl(...pods)).trim().split('\n')).toHaveLength(1);
  }
}, 1_800_000);
