import {
  apiServices,
  configMaps,
  deployments,
  type KubeObject,
  secrets,
  services as serviceKind,
  validatingWebhookConfigurations,
} from '@handover/kube';
import { findHelm } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { ForeignCa } from './foreign-ca.ts';
import { documented } from './install-doc.ts';
import { secretOf } from './looks.ts';
import { API, fields, leaf, MEMBERS, NAMESPACE, services, trustBundle, WEBHOOK } from './mesh.ts';
import { LONG, MeshStage, pause, say } from './mesh-stage.ts';
import { fetchForwarded, leadingImage, OWN, operatorPods, output } from './operator-pods.ts';
import { type RotationStage, setRotationStage } from './stage.ts';
import {
  atRest,
  inMidRotation,
  kubectl,
  loadVersions,
  noOperator,
  rolledOut,
  upgradeInMidRotation,
  type Versions,
} from './versions.ts';

// One mesh under load, managed first by the previous version, then by this one as installed: its image, Deployment and rights.
let stage: RotationStage;
let mesh: MeshStage;
let helm: string;
let versions: Versions;

const helmAsPrinted = (command: string, ...more: readonly string[]): Promise<string> =>
  output(
    helm,
    ...documented(`helm ${command}`, versions.newer.image),
    ...['--kubeconfig', stage.cluster.kubeconfig, ...more],
  );

/** The CA generation that signs, if it is the only one. */
const generationNow = async (): Promise<number> => (await mesh.status()).generations[0]?.generation ?? 0;

/** All objects that users depend on, and the CA's keys: object → version and content. Every write changes the version. */
const everything = async (): Promise<ReadonlyMap<string, string>> => {
  const { kube } = stage;
  const found = new Map<string, string>();
  const add = (what: string, objects: readonly KubeObject[]): void => {
    for (const { metadata, data, spec, webhooks } of objects as readonly (KubeObject &
      Record<string, unknown>)[]) {
      const content = { version: metadata.resourceVersion, data, spec, webhooks };
      // What an operator saw last: its own notes, not certificates or keys.
      if (!metadata.name?.startsWith('handover-seen-'))
        found.set(`${what} ${metadata.namespace ?? ''}/${metadata.name}`, JSON.stringify(content));
    }
  };
  for (const namespace of [NAMESPACE, OWN]) {
    const own = (await kube.list(secrets, { namespace })).items;
    // Helm's own: it records the release there.
    add(
      'Secret',
      own.filter(({ type }: KubeObject & { type?: string }) => type !== 'helm.sh/release.v1'),
    );
    add('ConfigMap', (await kube.list(configMaps, { namespace })).items);
  }
  const field = (object: KubeObject | undefined): KubeObject => {
    if (object === undefined) throw new Error('a field has gone');
    return object;
  };
  add('webhook', [field(await kube.get(validatingWebhookConfigurations, { name: WEBHOOK }))]);
  const { spec } = field(await kube.get(apiServices, { name: API })) as { spec?: unknown };
  found.set('APIService', JSON.stringify(spec)); // its version changes with every check of its backend
  for (const { name } of MEMBERS) {
    const deployed = field(await kube.get(deployments, { namespace: NAMESPACE, name }));
    found.set(`Deployment ${name}`, String(deployed.metadata.generation));
  }
  return found;
};

const expectUntouched = async (before: ReadonlyMap<string, string>): Promise<void> => {
  const now = await everything();
  expect([...now.keys()]).toEqual([...before.keys()]);
  for (const [name, content] of now) expect([name, content]).toEqual([name, before.get(name)]);
};

beforeAll(async () => {
  helm = await findHelm(say);
  stage = await setRotationStage({}, { bare: true });
  versions = await loadVersions(stage);
  await kubectl(stage, versions.older, 'install');
  await stage.cluster.kubectl('create', 'namespace', NAMESPACE);
  const before = Buffer.from((await ForeignCa.named('another issuer')).pem).toString('base64');
  await stage.cluster.apply(
    ...services(),
    ...fields(before),
    resource('Authority', 'mesh', {}, NAMESPACE),
    ...MEMBERS.map((member) => leaf(member)),
    trustBundle(),
  );
  await rolledOut(stage);
  for (const { name } of MEMBERS)
    await until(async () => (await secretOf(stage.kube, name)).cert !== '', `Secret ${name}`, LONG);
  mesh = new MeshStage(stage, { linger: 5 });
  await mesh.start();
}, 2 * LONG);
afterAll(() => (mesh ?? stage)?.stop());

test('this version completes a rotation that the previous version started, and no handshake fails', () =>
  upgradeInMidRotation(mesh, versions));

test('a downgrade and an upgrade, each in the middle of a rotation, fail no handshake', async () => {
  const traffic = await mesh.during('downgrade and upgrade, each in mid-rotation', async () => {
    await inMidRotation(mesh, 'down');
    await kubectl(stage, versions.older, 'install');
    await rolledOut(stage);
    await atRest(mesh, 3);
    await inMidRotation(mesh, 'up');
    await kubectl(stage, versions.newer, 'install');
    await rolledOut(stage);
    await atRest(mesh, 4);
  });
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  await until(
    async () => (await leadingImage(stage.kube)) === versions.newer.image,
    'this version to lead',
    LONG,
  );
});

test('its container runs unprivileged, on a read-only root, without capabilities and without a shell', async () => {
  const inside = `
    const status = require('node:fs').readFileSync('/proc/self/status', 'utf8');
    const field = (name) => status.match(new RegExp('^' + name + ':\\\\s*(\\\\S+)', 'm'))?.[1];
    let written = 'yes';
    try { require('node:fs').writeFileSync('/x', ''); } catch (error) { written = error.code; }
    const tried = { uid: process.getuid(), gid: process.getgid(), written };
    for (const name of ['CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp']) tried[name] = field(name);
    console.log(JSON.stringify({ ...tried, top: require('node:fs').readdirSync('/').sort() }));`;
  const exec = ['-n', OWN, 'exec', 'deployment/handover', '--'];
  const found = JSON.parse(await stage.cluster.kubectl(...exec, '/usr/local/bin/node', '-e', inside));
  expect(found).toEqual({
    uid: 65532,
    gid: 65532,
    written: 'EROFS',
    CapEff: '0000000000000000',
    CapBnd: '0000000000000000',
    NoNewPrivs: '1',
    Seccomp: '2',
    top: ['dev', 'etc', 'handover', 'lib', 'lib64', 'proc', 'sys', 'tmp', 'usr', 'var'],
  });
  await expect(stage.cluster.kubectl(...exec, '/bin/sh', '-c', 'true')).rejects.toThrow(/no such file/);
});

test('kubectl port-forward reaches its page, and their Service its metrics', async () => {
  const page = await fetchForwarded(stage.cluster, 8082, '/');
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>Handover</title>')]);
  const told = await fetchForwarded(stage.cluster, 8082, '/api/status');
  expect([told.status, await told.text()]).toEqual([200, expect.stringContaining('"mesh"')]);
  const service = await stage.kube.get(serviceKind, { namespace: OWN, name: 'handover-metrics' });
  const { clusterIP = '' } = (service?.spec ?? {}) as { readonly clusterIP?: string };
  const scrape = `fetch('http://${clusterIP}:8080/metrics').then((is) => is.text()).then((text) => console.log(text))`;
  const scraped = await stage.cluster.kubectl(
    ...['-n', NAMESPACE, 'exec', 'deployment/hot', '--', 'node', '-e', scrape],
  );
  expect(scraped).toMatch(/^handover_info\{version="\d+\.\d+\.\d+"\} 1$/m);
  expect(scraped).toMatch(/^handover_leading [01]$/m);
});

test('uninstalling leaves Secrets, ConfigMaps and injected bundles byte for byte, and the traffic continues', async () => {
  const before = await everything();
  const traffic = await mesh.during('uninstalled', async () => {
    await kubectl(stage, versions.newer, 'uninstall');
    await noOperator(stage);
    await pause(10_000);
  });
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  await expectUntouched(before);
  await stage.cluster.kubectl('get', 'authorities', 'mesh', '-n', NAMESPACE);
});

test('helm installs it again: the same CA, nothing rewritten, nothing restarted; and the next rotation fails no handshake', async () => {
  const before = await everything();
  const generation = await generationNow();
  const traffic = await mesh.during('installed by helm', async () => {
    say(await helmAsPrinted('install', '--take-ownership', '--wait', '--timeout', '10m'));
    await until(async () => (await leadingImage(stage.kube)) === versions.newer.image, 'it to lead', LONG);
    await rolledOut(stage);
    await atRest(mesh, generation);
    await pause(5_000);
    await expectUntouched(before);
    await mesh.ask('after-helm', '--wait', '--timeout', '14m');
    await atRest(mesh, generation + 1);
  });
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
});

test('helm upgrades it in a namespace of the restricted standard, and nothing is rewritten', async () => {
  const before = await everything();
  const traffic = await mesh.during('upgraded by helm', async () => {
    await stage.cluster.kubectl(...documented('kubectl label namespace'));
    // The pods are new ones, so the standard applies to them.
    say(await helmAsPrinted('upgrade', '--set', 'replicas=1', '--wait', '--timeout', '10m'));
    await stage.cluster.kubectl('-n', OWN, 'rollout', 'restart', 'deployment/handover');
    await rolledOut(stage);
    await until(async () => (await operatorPods(stage.kube)).length === 1, 'one pod to be left', LONG);
    await until(async () => (await leadingImage(stage.kube)) === versions.newer.image, 'it to lead', LONG);
  });
  expect(traffic.failed).toBe(0);
  await expectUntouched(before);
});

test('helm uninstalls it and leaves the same', async () => {
  await mesh.settled();
  const before = await everything();
  const traffic = await mesh.during('uninstalled by helm', async () => {
    await helmAsPrinted('uninstall', '--wait');
    await noOperator(stage);
    await pause(5_000);
  });
  expect(traffic.failed).toBe(0);
  await expectUntouched(before);
  await stage.cluster.kubectl('get', 'authorities', 'mesh', '-n', NAMESPACE);
});

test('removing everything deletes the CAs, and no Secret of users', async () => {
  const ofUsers = async (): Promise<readonly (readonly [string, string])[]> =>
    [...(await everything())].filter(([name]) => !name.includes(` ${OWN}/`));
  const before = await ofUsers();
  const traffic = await mesh.during('removed for good', async () => {
    await stage.cluster.kubectl(...documented('kubectl delete crd'));
    await stage.cluster.kubectl(...documented('kubectl delete namespace'));
    await pause(5_000);
  });
  expect(traffic.failed).toBe(0);
  expect(await ofUsers()).toEqual(before);
  expect(await stage.cluster.kubectl('get', 'crd', '-o', 'name')).not.toContain('handover.dev');
});
