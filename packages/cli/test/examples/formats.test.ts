import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { directory, handover, started } from './around.ts';
import { program } from './programs.ts';

const PASSWORD = 'a word of many';

const yaml = (haproxy: number, java: number): string => `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: { name: internal }
spec:
  rotation: { reloadWithin: 1s }
  consumers:
    - { name: haproxy, presents: true, leaf: web, probe: { address: "127.0.0.1:${haproxy}" } }
    - { name: java, presents: true, leaf: java, probe: { address: "127.0.0.1:${java}" } }
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: { name: web }
spec:
  authority: internal
  dnsNames: [localhost]
  ipAddresses: [127.0.0.1]
  key: RSA-2048
  outputs:
    - { name: web.pem, format: combined, file: { path: haproxy/web.pem } }
    - { name: web.p12, format: pkcs12, passwordFrom: { file: password } }
    - { name: web.jks, format: jks, passwordFrom: { file: password } }
    - { name: trust.jks, format: jks, content: trust }
    - { name: web.der, format: der }
    - { name: key.der, format: der, content: key }
    - { name: key.pem, format: pem, content: key, keyFormat: pkcs1 }
  reload: { signal: { pidFile: haproxy/pid, signal: SIGUSR2 } }
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: { name: java }
spec:
  authority: internal
  dnsNames: [localhost]
  ipAddresses: [127.0.0.1]
  outputs:
    - { name: java.jks, format: jks, alias: server, passwordFrom: { file: password } }
    - { name: java.p12, format: pkcs12, alias: server, passwordFrom: { file: password } }
    - { name: sec1.pem, format: pem, content: key, keyFormat: pkcs1 }
---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: { name: java-trust }
spec:
  sources: [{ authority: default/internal }]
  targets:
    - configMap:
        name: java-trust
        outputs:
          - { name: trust.p12, format: pkcs12, passwordFrom: { file: password } }
          - { name: trust.jks, format: jks, passwordFrom: { file: password } }
`;

const CONFIG = (dir: string, port: number): string => `
global
  stats socket ${dir}/haproxy/sock mode 600 expose-fd listeners level user
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend web
  bind 127.0.0.1:${port} ssl crt web.pem
  http-request return status 200 content-type text/plain string hello
`;

/** A home with its first certificates. */
const home = async (): Promise<{ dir: string; haproxy: number; java: number }> => {
  const dir = directory();
  const [haproxy, java] = [await freePort(), await freePort()];
  mkdirSync(join(dir, 'haproxy'), { mode: 0o755 });
  writeFileSync(join(dir, 'password'), `${PASSWORD}\n`, { mode: 0o600 });
  writeFileSync(join(dir, 'haproxy/haproxy.cfg'), CONFIG(dir, haproxy));
  writeFileSync(join(dir, 'handover.yaml'), yaml(haproxy, java), { mode: 0o644 });
  await handover('run', dir, '--once');
  return { dir, haproxy, java };
};

const file = (dir: string, leaf: string, name: string): string =>
  join(dir, 'out/default/secrets', leaf, name);
const trustStore = (dir: string, name: string): string =>
  join(dir, 'out/default/configmaps/java-trust', name);

test('keytool and openssl open every format, and find the same certificate and key in each', async () => {
  const { dir } = await home();
  const run = (command: string, ...args: readonly string[]): string =>
    execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'] }).toString();
  const openssl = (...args: readonly string[]): string => run(program('openssl'), ...args);
  const password = ['-passin', `file:${join(dir, 'password')}`];
  const keytool = (path: string, ...more: readonly string[]): string =>
    run(program('default-jdk-headless'), '-list', '-rfc', '-keystore', path, ...more);
  const withPassword = ['-storepass:file', join(dir, 'password')];
  const bodies = (pem: string): readonly string[] =>
    [...pem.matchAll(/-----BEGIN ([A-Z ]+)-----\r?\n([^-]+)/g)].map(
      ([, label, body]) => `${label} ${body?.replace(/\s/g, '')}`,
    );
  for (const leaf of ['web', 'java']) {
    const certificates = bodies(readFileSync(file(dir, leaf, 'tls.crt'), 'utf8'));
    const [key] = bodies(readFileSync(file(dir, leaf, 'tls.key'), 'utf8'));
    // Without -legacy: no RC2, no 3DES, no SHA-1.
    const opened = bodies(openssl('pkcs12', '-in', file(dir, leaf, `${leaf}.p12`), '-nodes', ...password));
    expect(opened).toEqual([...certificates, key]);
    for (const store of [`${leaf}.p12`, `${leaf}.jks`])
      expect(bodies(keytool(file(dir, leaf, store), ...withPassword)), store).toEqual(certificates);
  }
  expect(keytool(file(dir, 'java', 'java.p12'), ...withPassword)).toMatch(
    /Alias name: server\n.*\nEntry type: PrivateKeyEntry/,
  );
  const cas = bodies(readFileSync(trustStore(dir, 'ca.crt'), 'utf8'));
  const wellKnown = ['-storepass', 'changeit'];
  for (const [store, how] of [
    [trustStore(dir, 'trust.p12'), withPassword],
    [trustStore(dir, 'trust.jks'), withPassword],
    [file(dir, 'web', 'trust.jks'), wellKnown],
  ] as const) {
    const listed = keytool(store, ...how);
    expect(bodies(listed), store).toEqual(cas);
    expect(listed).toMatch(/Alias name: ca-[0-9a-f]{16}\n.*\nEntry type: trustedCertEntry/);
  }
  expect(bodies(openssl('x509', '-inform', 'der', '-in', file(dir, 'web', 'web.der')))).toEqual(
    bodies(readFileSync(file(dir, 'web', 'tls.crt'), 'utf8')),
  );
  const [webKey] = bodies(readFileSync(file(dir, 'web', 'tls.key'), 'utf8'));
  const [javaKey] = bodies(readFileSync(file(dir, 'java', 'tls.key'), 'utf8'));
  expect(bodies(openssl('pkey', '-inform', 'der', '-in', file(dir, 'web', 'key.der')))).toEqual([webKey]);
  const pkcs1 = readFileSync(file(dir, 'web', 'key.pem'), 'utf8');
  expect(pkcs1).toMatch(/^-----BEGIN RSA PRIVATE KEY-----\n/);
  expect(bodies(openssl('pkey', '-in', file(dir, 'web', 'key.pem')))).toEqual([webKey]);
  expect(readFileSync(file(dir, 'java', 'sec1.pem'), 'utf8')).toMatch(/^-----BEGIN EC PRIVATE KEY-----\n/);
  expect(bodies(openssl('pkey', '-in', file(dir, 'java', 'sec1.pem')))).toEqual([javaKey]);
});

test('inspect opens what openssl and keytool write, and names what it does not read', async () => {
  const { dir } = await home();
  const password = join(dir, 'password');
  const at = (name: string): string => join(dir, name);
  const run = (command: string, ...args: readonly string[]): void =>
    void execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const pkcs12 = (name: string, ...more: readonly string[]): void =>
    run(
      program('openssl'),
      ...['pkcs12', '-export', '-in', file(dir, 'web', 'tls.crt'), '-inkey', file(dir, 'web', 'tls.key')],
      ...['-name', 'web', '-passout', `file:${password}`, '-out', at(name), ...more],
    );
  pkcs12('modern.p12');
  pkcs12('triple-des.p12', '-certpbe', 'PBE-SHA1-3DES', '-keypbe', 'PBE-SHA1-3DES', '-macalg', 'sha1');
  pkcs12('aes-128.p12', '-certpbe', 'AES-128-CBC', '-macalg', 'sha512');
  for (const type of ['pkcs12', 'jks', 'jceks'])
    run(
      program('default-jdk-headless'),
      ...[
        '-genkeypair',
        '-keystore',
        at(`java.${type}`),
        '-storetype',
        type,
        '-alias',
        'Server',
        '-keyalg',
        'EC',
      ],
      ...['-dname', 'CN=java', '-storepass:file', password, '-keypass:file', password],
    );
  for (const name of ['modern.p12', 'triple-des.p12', 'aes-128.p12', 'java.pkcs12', 'java.jks']) {
    const { code, stdout } = await handover('inspect', at(name), '--password-file', password, '--json');
    const subject = name.startsWith('java') ? 'CN=java' : '';
    const alias = name.startsWith('java') ? 'server' : 'web';
    expect({ code, ...JSON.parse(stdout).files[0] }, name).toMatchObject({
      code: 0,
      passwordFits: true,
      certificates: [{ subject, alias, trusted: false }],
      otherBlocks: [{ label: 'PRIVATE KEY', alias }],
    });
  }
  expect((await handover('inspect', at('modern.p12'))).code).toBe(1);
  const jceks = await handover('inspect', at('java.jceks'), '--json');
  expect({ code: jceks.code, ...JSON.parse(jceks.stdout) }).toMatchObject({
    code: 1,
    errors: [{ code: 'KEYSTORE_UNSUPPORTED' }],
  });
});

/** Lines that the Java peer has written: one a call. */
const javaPeer = (
  dir: string,
  java: number,
  ports: readonly number[],
): { lines: string[]; child: ChildProcess } => {
  const source = fileURLToPath(new URL('java/Peer.java', import.meta.url));
  const stores = [file(dir, 'java', 'java.jks'), 'JKS', String(java), trustStore(dir, 'trust.p12'), 'PKCS12'];
  const child = started(
    spawn('java', ['-Xmx128m', source, join(dir, 'password'), ...stores, ...ports.map(String)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
  const lines: string[] = [];
  if (child.stdout === null) throw new Error('no output');
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return { lines, child };
};

test('HAProxy with one file, a Java server with a JKS and a Java client with a PKCS#12 go through two rotations without a failed handshake', async () => {
  const { dir, haproxy, java } = await home();
  started(
    spawn(program('haproxy'), ['-W', '-C', join(dir, 'haproxy'), '-f', 'haproxy.cfg', '-p', 'pid'], {
      cwd: join(dir, 'haproxy'),
      stdio: 'ignore',
    }),
  );
  const { lines, child } = javaPeer(dir, java, [haproxy, java]);
  await expect
    .poll(() => lines.slice(-2).map((line) => line.split(' ')[1]), { timeout: 60_000 })
    .toEqual(['ok', 'ok']);
  // HAProxy did not run when its file was first written: that hook failed, and handover repeats it.
  expect((await handover('run', dir, '--once')).code).toBe(0);
  const first = lines.length;
  const codes: number[] = [];
  for (const id of ['one', 'two'])
    codes.push((await handover('rotate', 'internal', '--id', id, '--wait', '--home', `dir:${dir}`)).code);
  const soFar = lines.length;
  await expect.poll(() => lines.length, { timeout: 30_000 }).toBeGreaterThan(soFar + 4);
  const { stdout } = await handover('status', '--json', '--home', `dir:${dir}`);
  child.stdin?.end('\n');
  await once(child, 'close');
  const calls = lines.slice(first);
  const failed = calls.filter((line) => !line.endsWith(' ok'));
  expect({ codes, failed }).toEqual({ codes: [0, 0], failed: [] });
  expect(calls.length).toBeGreaterThan(50);
  console.log(`Java client: ${calls.length} handshakes with HAProxy and Java, ${failed.length} failed`);
  expect(JSON.parse(stdout).authorities[0]).toMatchObject({
    phase: 'Stable',
    generations: [{ generation: 3 }],
    consumers: [
      { name: 'haproxy', evidence: 'probed' },
      { name: 'java', evidence: 'probed' },
    ],
  });
});
