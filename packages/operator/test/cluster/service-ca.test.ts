import { X509Certificate } from 'node:crypto';
import { configMaps, type Secret, secrets, services } from '@handover/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundlesOf, INJECTABLES } from './injectables.ts';
import { beyondRights, resource, type Stage, setStage, until } from './stage.ts';

const PREFIX = 'service.beta.openshift.io/';
const text = (secret: Secret | undefined, key: string): string =>
  Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');

let stage: Stage;
let bundle: string;
beforeAll(async () => {
  stage = await setStage();
  await stage.cluster.kubectl('create', 'namespace', 'team');
  stage.start('one', {
    injection: { compat: ['service-ca'], serviceCaAuthority: 'handover-system/service-ca' },
  });
  await stage.cluster.apply(
    resource('Authority', 'service-ca', { issueTo: { namespaceSelector: {} } }, 'handover-system'),
  );
  const held = await until(
    () => stage.kube.get(configMaps, { namespace: 'handover-system', name: 'service-ca-trust' }),
    'the bundle',
  );
  bundle = held.data?.['ca.crt'] ?? '';
}, 120_000);
afterAll(() => stage.stop());

const service = (name: string, secretName: string, more: object = {}, annotations: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name,
    namespace: 'team',
    annotations: { [`${PREFIX}serving-cert-secret-name`]: secretName, ...annotations },
  },
  spec: { ports: [{ port: 443 }], selector: { app: name }, ...more },
});

const issued = (name: string): Promise<Secret> =>
  until(async () => {
    const secret = await stage.kube.get(secrets, { namespace: 'team', name });
    return secret?.data?.['tls.crt'] === undefined ? undefined : secret;
  }, `Secret ${name}`);

const errorOf = async (name: string): Promise<{ error: string | undefined; count: number }> => {
  const found = await stage.kube.get(services, { namespace: 'team', name });
  const annotations = found?.metadata.annotations ?? {};
  return {
    error: annotations[`${PREFIX}serving-cert-generation-error`],
    count: Number(annotations[`${PREFIX}serving-cert-generation-error-num`] ?? 0),
  };
};

test('a Service gets a certificate for its names, and the Secret names its Service and its expiry', async () => {
  await stage.cluster.apply(service('web', 'web-tls'));
  const secret = await issued('web-tls');
  const certificate = new X509Certificate(text(secret, 'tls.crt'));
  expect(certificate.subjectAltName).toBe('DNS:web.team.svc, DNS:web.team.svc.cluster.local');
  const found = await stage.kube.get(services, { namespace: 'team', name: 'web' });
  expect(secret.metadata.annotations).toMatchObject({
    [`${PREFIX}originating-service-name`]: 'web',
    [`${PREFIX}originating-service-uid`]: found?.metadata.uid,
  });
  const expiry = Date.parse(secret.metadata.annotations?.[`${PREFIX}expiry`] ?? '');
  expect(expiry).toBe(Date.parse(certificate.validTo));
  expect(secret.type).toBe('kubernetes.io/tls');
});

test('pods of a headless Service have names of their own', async () => {
  await stage.cluster.apply(service('db', 'db-tls', { clusterIP: 'None' }));
  expect(new X509Certificate(text(await issued('db-tls'), 'tls.crt')).subjectAltName).toBe(
    'DNS:db.team.svc, DNS:db.team.svc.cluster.local, DNS:*.db.team.svc, DNS:*.db.team.svc.cluster.local',
  );
});

test('an annotation that was removed from the Secret is restored', async () => {
  await stage.cluster.kubectl(
    'annotate',
    '-n',
    'team',
    'secret',
    'web-tls',
    `${PREFIX}originating-service-name-`,
  );
  await until(
    async () =>
      (await stage.kube.get(secrets, { namespace: 'team', name: 'web-tls' }))?.metadata.annotations?.[
        `${PREFIX}originating-service-name`
      ] === 'web',
    'the annotation',
  );
});

test('a Secret of another manager is left alone; the Service says why, and gets its certificate once that Secret is gone', async () => {
  await stage.kube.create(
    secrets,
    { metadata: { namespace: 'team', name: 'taken' }, type: 'Opaque', data: { 'tls.crt': 'eA==' } },
    { namespace: 'team' },
  );
  await stage.cluster.apply(service('late', 'taken'));
  const said = await until(async () => {
    const found = await errorOf('late');
    return found.error === undefined ? undefined : found;
  }, 'the error');
  expect(said.error).toContain('is kept by');
  expect(said.count).toBeGreaterThan(0);
  expect(text(await stage.kube.get(secrets, { namespace: 'team', name: 'taken' }), 'tls.crt')).toBe('x');
  await stage.kube.delete(secrets, { namespace: 'team', name: 'taken' });
  await issued('taken');
  await until(async () => (await errorOf('late')).error === undefined, 'no error any more');
});

test('of two Services that want the same Secret one gets it, and the other reports that', async () => {
  await stage.cluster.apply(service('web2', 'web-tls'));
  await until(async () => (await errorOf('web2')).error?.includes('would both write'), 'the error');
  expect((await errorOf('web')).error).toBeUndefined();
});

test('after ten errors a Service is left alone until its error annotations are removed', async () => {
  await stage.cluster.apply(
    service(
      'tired',
      'tired-tls',
      {},
      {
        [`${PREFIX}serving-cert-generation-error`]: 'anything',
        [`${PREFIX}serving-cert-generation-error-num`]: '10',
      },
    ),
  );
  await stage.cluster.apply(service('brisk', 'brisk-tls'));
  await issued('brisk-tls');
  expect(await stage.kube.get(secrets, { namespace: 'team', name: 'tired-tls' })).toBeUndefined();
  await stage.cluster.kubectl(
    'annotate',
    '-n',
    'team',
    'service',
    'tired',
    `${PREFIX}serving-cert-generation-error-`,
    `${PREFIX}serving-cert-generation-error-num-`,
  );
  await issued('tired-tls');
});

describe.each(Object.entries(INJECTABLES))('%s', (_, injectable) => {
  test('inject-cabundle works in upper and lower case', async () => {
    await stage.cluster.apply(
      injectable.make('lower', { [`${PREFIX}inject-cabundle`]: 'true' }),
      injectable.make('upper', { [`${PREFIX}inject-cabundle`]: 'TRUE' }),
      injectable.make('not', { [`${PREFIX}inject-cabundle`]: 'yes' }),
    );
    for (const name of ['lower', 'upper'])
      await until(
        async () => (await bundlesOf(stage, injectable, name)).every((one) => one === bundle),
        `${name} with its bundle`,
      );
    expect((await bundlesOf(stage, injectable, 'not')).every((one) => one === '')).toBe(true);
  });
});

const dataOf = async (name: string): Promise<Readonly<Record<string, string>> | undefined> =>
  (await stage.kube.get(configMaps, { namespace: 'team', name }))?.data;

test('the whole data of an annotated ConfigMap is replaced by the bundle, and stays so', async () => {
  await stage.cluster.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'trust', namespace: 'team', annotations: { [`${PREFIX}inject-cabundle`]: 'True' } },
    data: { old: 'thing', 'service-ca.crt': 'nonsense' },
  });
  const right = { 'service-ca.crt': bundle };
  await until(
    async () => JSON.stringify(await dataOf('trust')) === JSON.stringify(right),
    'the bundle alone',
  );
  await stage.cluster.kubectl(
    'patch',
    '-n',
    'team',
    'configmap',
    'trust',
    '--type=merge',
    '-p',
    '{"data":{"more":"x"}}',
  );
  await until(
    async () => JSON.stringify(await dataOf('trust')) === JSON.stringify(right),
    'the bundle alone again',
  );
});

test('a deleted annotated ConfigMap is not created again', async () => {
  await stage.kube.delete(configMaps, { namespace: 'team', name: 'trust' });
  await stage.cluster.apply(service('canary', 'canary-tls'));
  await issued('canary-tls');
  expect(await dataOf('trust')).toBeUndefined();
});

test('the installed roles allow everything it did', () => {
  expect([...new Set(beyondRights(stage, ['service-ca']))]).toEqual([]);
});
