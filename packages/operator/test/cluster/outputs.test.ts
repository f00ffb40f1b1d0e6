import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configMaps, type KubeObject, secrets } from '@handover/kube';
import { temporaryFolder } from '@handover/test-api-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beyondRights, condition, resource, type Stage, setStage, until } from './stage.ts';

const scratch = temporaryFolder();
let stage: Stage;
beforeAll(async () => {
  stage = await setStage({ installed: {} });
  stage.start('one');
}, 300_000);
afterAll(() => stage.stop());

const bytesIn = (
  object: KubeObject | undefined,
  field: 'data' | 'binaryData',
  name: string,
): Buffer | undefined => {
  const value = (object?.[field] as Record<string, string> | undefined)?.[name];
  return value === undefined ? undefined : Buffer.from(value, 'base64');
};
const secret = () => stage.kube.get(secrets, { name: 'web', namespace: 'default' });
const configMap = () => stage.kube.get(configMaps, { name: 'java', namespace: 'default' });
const inSecret = async (name: string) => bytesIn(await secret(), 'data', name);

const setPassword = (text: string) =>
  stage.cluster.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'store', namespace: 'default' },
    stringData: { password: text },
  });

/** Serial number of the first certificate; undefined: the password does not open the file. */
const opened = (store: Buffer, password: string): string | undefined => {
  const file = join(scratch, 'store.p12');
  writeFileSync(file, store);
  try {
    const pem = execFileSync(
      'openssl',
      ['pkcs12', '-in', file, '-passin', 'env:STORE', '-nodes', '-clcerts'],
      {
        env: { ...process.env, STORE: password },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    ).toString();
    expect(pem).toContain('PRIVATE KEY');
    return new X509Certificate(pem.slice(pem.indexOf('-----BEGIN CERTIFICATE'))).serialNumber;
  } catch (error) {
    if (error instanceof Error && 'status' in error) return undefined;
    throw error;
  }
};

const leaf = (outputs: readonly object[]) =>
  resource('Leaf', 'web', { authority: 'mesh', dnsNames: ['web.default.svc'], outputs });
const KEYSTORE = { name: 'web.p12', format: 'pkcs12', passwordFrom: { secret: { name: 'store' } } };

test('a Leaf waits for its password, and gets a keystore that openssl opens; another password gives another keystore', async () => {
  await stage.cluster.apply(resource('Authority', 'mesh'), leaf([KEYSTORE]));
  const waiting = await until(async () => {
    const found = await condition(stage, 'Leaf', 'web', 'Ready');
    return found?.message.includes('Secret default/store') ? found : undefined;
  }, 'the reason');
  expect(waiting).toMatchObject({ status: 'False' });
  expect(waiting.message).toContain('Secret default/store does not exist; write the password there');
  expect(await secret()).toBeUndefined();

  await setPassword('first password');
  const store = await until(() => inSecret('web.p12'), 'the keystore');
  const certificate = (await inSecret('tls.crt'))?.toString() ?? '';
  expect(opened(store, 'first password')).toBe(new X509Certificate(certificate).serialNumber);

  await setPassword('second password');
  const next = await until(async () => {
    const found = await inSecret('web.p12');
    return found !== undefined && !found.equals(store) ? found : undefined;
  }, 'another keystore');
  expect(opened(next, 'first password')).toBeUndefined();
  expect(opened(next, 'second password')).toBe(new X509Certificate(certificate).serialNumber);
  expect((await inSecret('tls.crt'))?.toString()).toBe(certificate);
  const text = JSON.stringify([await secret(), stage.events]);
  for (const word of ['first password', 'second password']) expect(text).not.toContain(word);
});

test('keytool opens the JKS keystore in a Secret, and openssl its DER and PKCS#1 files: one certificate, one key', async () => {
  await setPassword('of the keystore');
  const outputs = [
    { name: 'rsa.jks', format: 'jks', alias: 'server', passwordFrom: { secret: { name: 'store' } } },
    { name: 'rsa.der', format: 'der' },
    { name: 'key.der', format: 'der', content: 'key' },
    { name: 'key.pem', format: 'pem', content: 'key', keyFormat: 'pkcs1' },
  ];
  await stage.cluster.apply(
    resource('Leaf', 'rsa', { authority: 'mesh', key: 'RSA-2048', dnsNames: ['rsa.default.svc'], outputs }),
  );
  const held = await until(
    () => stage.kube.get(secrets, { name: 'rsa', namespace: 'default' }),
    'the Secret of the Leaf',
  );
  const files = Object.fromEntries(
    ['tls.crt', 'tls.key', ...outputs.map(({ name }) => name)].map((name) => {
      const file = join(scratch, name);
      writeFileSync(file, bytesIn(held, 'data', name) ?? '');
      return [name, file] as const;
    }),
  );
  const run = (program: string, ...args: readonly string[]): string =>
    execFileSync(program, args, {
      env: { ...process.env, STORE: 'of the keystore' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const openssl = (...args: readonly string[]): string => run('openssl', ...args);
  const certificate = openssl('x509', '-in', files['tls.crt'] ?? '');
  const key = openssl('pkey', '-in', files['tls.key'] ?? '');
  const store = ['-keystore', files['rsa.jks'] ?? '', '-storepass:env', 'STORE'];
  const listed = run('keytool', '-list', '-rfc', '-storetype', 'JKS', ...store);
  expect(listed).toMatch(/Alias name: server\n[\s\S]*Entry type: PrivateKeyEntry/);
  expect(listed.replaceAll('\r', '')).toContain(certificate.trim());
  const copy = [
    '-destkeystore',
    join(scratch, 'copy.p12'),
    '-deststorepass:env',
    'STORE',
    '-srcstorepass:env',
  ];
  run('keytool', '-importkeystore', '-srckeystore', files['rsa.jks'] ?? '', ...copy, 'STORE');
  expect(
    openssl('pkcs12', '-in', join(scratch, 'copy.p12'), '-passin', 'env:STORE', '-nodes', '-nocerts'),
  ).toContain(key.trim());
  expect(openssl('x509', '-inform', 'DER', '-in', files['rsa.der'] ?? '')).toBe(certificate);
  expect(openssl('pkey', '-inform', 'DER', '-in', files['key.der'] ?? '')).toBe(key);
  expect(readFileSync(files['key.pem'] ?? '', 'utf8')).toMatch(/^-----BEGIN RSA PRIVATE KEY-----\n/);
  expect(openssl('pkey', '-in', files['key.pem'] ?? '')).toBe(key);
});

test('an output that is no longer asked for leaves the Secret; the keys of others stay, and are not taken', async () => {
  await stage.cluster.kubectl('patch', 'secret', 'web', '--type=merge', '-p', '{"data":{"mine":"bWluZQ=="}}');
  await stage.cluster.apply(leaf([{ name: 'haproxy.pem', format: 'combined' }]));
  const combined = await until(() => inSecret('haproxy.pem'), 'the combined file');
  expect(combined.toString()).toBe(`${await inSecret('tls.crt')}${await inSecret('tls.key')}`);
  expect(await inSecret('web.p12')).toBeUndefined();
  expect((await inSecret('mine'))?.toString()).toBe('mine');
  await stage.cluster.apply(leaf([{ name: 'mine', format: 'combined' }]));
  await until(
    async () =>
      (await condition(stage, 'Leaf', 'web', 'Ready'))?.message.includes(
        'another program wrote its key mine',
      ),
    'the reason',
  );
  expect((await inSecret('mine'))?.toString()).toBe('mine');
  await stage.cluster.apply(leaf([]));
  await until(async () => (await inSecret('haproxy.pem')) === undefined, 'the file to go');
  expect((await inSecret('mine'))?.toString()).toBe('mine');
});

test('a bundle has its truststores in binaryData, beside the PEM', async () => {
  const outputs = [
    { name: 'trust.jks', format: 'jks' },
    { name: 'trust.p12', format: 'pkcs12' },
  ];
  await stage.cluster.apply(
    resource('TrustBundle', 'java', {
      sources: [{ authority: 'default/mesh' }],
      targets: [
        {
          configMap: {
            name: 'java',
            outputs,
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
          },
        },
      ],
    }),
  );
  const held = await until(async () => {
    const found = await configMap();
    return bytesIn(found, 'binaryData', 'trust.jks') === undefined ? undefined : found;
  }, 'the truststores');
  const { raw } = new X509Certificate((held.data as Record<string, string>)['ca.crt'] ?? '');
  for (const { name } of outputs) expect(bytesIn(held, 'binaryData', name)?.includes(raw)).toBe(true);
  await until(
    async () => (await condition(stage, 'TrustBundle', 'java', 'Ready'))?.status === 'True',
    'Ready',
  );
  const { resourceVersion } = held.metadata;
  await stage.cluster.apply(
    resource('Leaf', 'other', { authority: 'mesh', dnsNames: ['other.default.svc'] }),
  );
  await until(() => stage.kube.get(secrets, { name: 'other', namespace: 'default' }), 'another pass');
  expect((await configMap())?.metadata.resourceVersion).toBe(resourceVersion);
});

test('all that was done was within the rights of an installation', () => {
  expect(beyondRights(stage, [])).toEqual([]);
});
