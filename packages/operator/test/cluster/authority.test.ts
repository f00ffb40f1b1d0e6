import { X509Certificate } from 'node:crypto';
import { configMaps, namespaces, secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { namespaceObject } from '@handover/test-api-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { condition, resource, type Stage, setStage, until } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
  stage.start('one');
}, 120_000);
afterAll(() => stage.stop());

const leaf = (name: string, spec: object = {}, namespace = 'default') =>
  resource(
    'Leaf',
    name,
    { authority: 'default/mesh', secretName: name, dnsNames: [`${name}.${namespace}.svc`], ...spec },
    namespace,
  );

const certificate = (text: string | undefined): X509Certificate => new X509Certificate(text ?? '');
const secretText = async (name: string, key: string, namespace = 'default'): Promise<string> => {
  const secret = await until(() => stage.kube.get(secrets, { namespace, name }), `Secret ${name}`);
  return Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
};
const bundle = async (): Promise<string> =>
  (await until(() => stage.kube.get(configMaps, { namespace: 'default', name: 'mesh-trust' }), 'the bundle'))
    .data?.['ca.crt'] ?? '';

test('an Authority and a Leaf become a bundle and a Secret of type kubernetes.io/tls without an owner reference', async () => {
  await stage.cluster.apply(resource('Authority', 'mesh'), leaf('server'));
  const secret = await until(
    () => stage.kube.get(secrets, { namespace: 'default', name: 'server' }),
    'the Secret',
  );
  expect(secret.type).toBe('kubernetes.io/tls');
  expect(secret.metadata.ownerReferences).toBeUndefined();
  expect(secret.metadata.labels?.['app.kubernetes.io/managed-by']).toBe('handover');
  const ca = certificate(await bundle());
  const shown = certificate(await secretText('server', 'tls.crt'));
  expect(shown.checkIssued(ca)).toBe(true);
  expect(await secretText('server', 'ca.crt')).toBe(await bundle());
  await stage.cluster.kubectl(
    'wait',
    '--for=condition=Ready',
    'authority/mesh',
    'leaf/server',
    '--timeout=30s',
  );
});

test('only Secrets of the operator and of leaves hold keys', async () => {
  const states = await stage.kube.list(secrets, {
    namespace: 'handover-system',
    labelSelector: 'handover.dev/authority-state=true',
  });
  expect(states.items).toHaveLength(1);
  const shown = await stage.cluster.kubectl(
    'get',
    'authorities,leaves,trustbundles,configmaps,events',
    '-A',
    '-o',
    'yaml',
  );
  expect(shown).not.toContain('PRIVATE KEY');
});

test('a Leaf of another namespace is refused until issueTo allows it, and then by its own names only', async () => {
  await stage.cluster.apply(namespaceObject('team', { team: 'yes' }));
  await stage.cluster.apply(leaf('far', {}, 'team'));
  await until(
    async () => (await condition(stage, 'Leaf', 'far', 'Ready', 'team'))?.reason === 'Refused',
    'the refusal',
  );
  expect(await stage.kube.get(secrets, { namespace: 'team', name: 'far' })).toBeUndefined();
  await stage.cluster.apply(
    resource('Authority', 'mesh', { issueTo: { namespaceSelector: { matchLabels: { team: 'yes' } } } }),
  );
  expect(certificate(await secretText('far', 'tls.crt', 'team')).subjectAltName).toBe('DNS:far.team.svc');
  await stage.cluster.apply(leaf('thief', { dnsNames: ['server.default.svc'] }, 'team'));
  const refused = await until(async () => condition(stage, 'Leaf', 'thief', 'Ready', 'team'), 'a condition');
  expect(refused.message).toContain('spec.dnsNames: "server.default.svc" is not allowed');
  await stage.cluster.apply(
    leaf('masters', { subject: { commonName: 'admin', organizations: ['system:masters'] } }, 'team'),
  );
  const masters = await until(
    async () => condition(stage, 'Leaf', 'masters', 'Ready', 'team'),
    'the other condition',
  );
  expect(masters).toMatchObject({ status: 'False', reason: 'Refused' });
  expect(masters.message).toMatch(/^authority default\/mesh refuses it: spec\.subject\./);
});

test('a Secret of another manager is not touched, and the Leaf names the manager; with its owner’s consent it is taken over', async () => {
  await stage.kube.create(
    secrets,
    {
      metadata: {
        name: 'theirs',
        namespace: 'default',
        annotations: { 'cert-manager.io/certificate-name': 'web' },
      },
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': 'eA==', 'tls.key': 'eA==' },
    },
    { namespace: 'default' },
  );
  await stage.cluster.apply(leaf('theirs'));
  const said = await until(async () => condition(stage, 'Leaf', 'theirs', 'Ready'), 'a condition');
  expect(said).toMatchObject({ status: 'False', reason: 'SecretNotOurs' });
  expect(said.message).toContain("cert-manager's Certificate web");
  expect(await secretText('theirs', 'tls.crt')).toBe('x');
  await stage.cluster.kubectl('annotate', 'leaf/theirs', 'handover.dev/adopt=true');
  await until(
    async () => (await secretText('theirs', 'tls.crt')).includes('BEGIN CERTIFICATE'),
    'the takeover',
  );
});

test('data keys that others add to our Secret stay, and a deleted or changed Secret is restored', async () => {
  const before = await secretText('server', 'tls.crt');
  await stage.cluster.kubectl(
    'patch',
    'secret',
    'server',
    '--type=merge',
    '-p',
    JSON.stringify({ data: { 'more.txt': 'aGVsbG8=', 'ca.crt': 'eA==' } }),
  );
  await until(async () => (await secretText('server', 'ca.crt')) === (await bundle()), 'the repair');
  expect(await secretText('server', 'more.txt')).toBe('hello');
  expect(await secretText('server', 'tls.crt')).toBe(before);
  await stage.kube.delete(secrets, { namespace: 'default', name: 'server' });
  expect(certificate(await secretText('server', 'tls.crt')).checkIssued(certificate(await bundle()))).toBe(
    true,
  );
});

test('a Secret that lost its label is still ours', async () => {
  await stage.cluster.kubectl('label', 'secret', 'server', 'handover.dev/managed-');
  const found = await until(async () => {
    const secret = await stage.kube.get(secrets, { namespace: 'default', name: 'server' });
    return secret?.metadata.labels?.['handover.dev/managed'] === 'true' ? secret : undefined;
  }, 'the label');
  expect(found.metadata.name).toBe('server');
});

test('of two resources that want the same object the older one gets it, and the other reports that', async () => {
  await stage.cluster.apply(leaf('second', { secretName: 'server' }));
  const said = await until(async () => condition(stage, 'Leaf', 'second', 'Ready'), 'a condition');
  expect(said).toMatchObject({ status: 'False', reason: 'Invalid' });
  expect(said.message).toContain('would both write default/secrets/server');
});

test('a TrustBundle follows namespaces that appear, disappear or change their labels', async () => {
  await stage.cluster.apply(
    resource(
      'TrustBundle',
      'everywhere',
      {
        sources: [{ authority: 'default/mesh' }],
        targets: [{ configMap: { name: 'mesh-ca', namespaceSelector: { matchLabels: { trust: 'mesh' } } } }],
      },
      undefined,
    ),
  );
  await stage.cluster.apply(namespaceObject('late', { trust: 'mesh' }));
  const copied = await until(
    () => stage.kube.get(configMaps, { namespace: 'late', name: 'mesh-ca' }),
    'the copy',
  );
  expect(copied.data?.['ca.crt']).toBe(await bundle());
  await stage.cluster.kubectl('label', 'namespace', 'team', 'trust=mesh');
  await until(() => stage.kube.get(configMaps, { namespace: 'team', name: 'mesh-ca' }), 'the second copy');
  expect(await stage.kube.get(namespaces, { name: 'late' })).toBeDefined();
});

test('deleting an Authority or its CRD deletes no object of users', async () => {
  await stage.kube.delete(RESOURCE_KINDS.Leaf, { namespace: 'default', name: 'server' });
  await stage.kube.delete(RESOURCE_KINDS.Authority, { namespace: 'default', name: 'mesh' });
  await until(
    async () =>
      (await stage.kube.get(RESOURCE_KINDS.Authority, { namespace: 'default', name: 'mesh' })) === undefined,
    'the deletion',
  );
  expect(await secretText('server', 'tls.crt')).toContain('BEGIN CERTIFICATE');
  expect(await bundle()).toContain('BEGIN CERTIFICATE');
});
