import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PrivateKey, parseCertificate, parseCertificates } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { codeOf, Directories, loaded } from '../../../test/directories.ts';
import { MESH } from '../../../test/world.ts';
import { type AuthorityOutcome, converge, passOnce } from '../../index.ts';

const directories = new Directories();
const MESH_ID = 'default/mesh';

const pass = async (path: string): Promise<AuthorityOutcome> => {
  const home = directories.home(path);
  const lock = await home.lock();
  try {
    return await converge(loaded(home), MESH_ID);
  } finally {
    await lock.release();
  }
};

const PASSWORD = 'correct horse';
const withOutputs = (outputs: string, more = ''): string =>
  `${MESH.replace('dnsNames: [a.local]', `dnsNames: [a.local], outputs: [${outputs}]`)}${more}`;
const KEYSTORE = '{name: web.p12, format: pkcs12, passwordFrom: {file: password}}';

/** A home with a password file, and what its Leaf `a` asks for. */
const made = (outputs: string, more?: string): string => {
  const path = directories.make(withOutputs(outputs, more));
  writeFileSync(join(path, 'password'), `${PASSWORD}\n`, { mode: 0o600 });
  return path;
};
const change = (path: string, outputs: string): void =>
  writeFileSync(join(path, 'mesh.yaml'), withOutputs(outputs));
const file = (path: string, name: string): Buffer => readFileSync(join(path, 'out/default/secrets/a', name));
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const obstacles = ({ observation }: AuthorityOutcome): readonly string[] =>
  observation.seen.objects.flatMap(({ obstacle }) => (obstacle === undefined ? [] : [String(obstacle)]));

test('Other formats of a Leaf lie beside the PEM, with the mode of the key, and are written once', async () => {
  const path = made(
    `${KEYSTORE}, {name: web.jks, format: jks, passwordFrom: {file: password}}, {name: haproxy.pem, format: combined},
       {name: cert.der, format: der}, {name: sec1.pem, format: pem, content: key, keyFormat: pkcs1}, {name: trust.p12, format: pkcs12, content: trust}`,
  );
  await pass(path);
  const names = ['web.p12', 'web.jks', 'haproxy.pem', 'cert.der', 'sec1.pem', 'trust.p12'];
  for (const name of names) expect(modeOf(join(path, 'out/default/secrets/a', name)), name).toBe('600');
  const [leaf] = parseCertificates(file(path, 'tls.crt')).certificates;
  expect(file(path, 'haproxy.pem').toString()).toBe(`${file(path, 'tls.crt')}${file(path, 'tls.key')}`);
  expect(parseCertificate(file(path, 'cert.der')).fingerprint).toBe(leaf?.fingerprint);
  expect(file(path, 'sec1.pem').toString()).toMatch(/^-----BEGIN EC PRIVATE KEY-----\n/);
  expect(leaf !== undefined && PrivateKey.parse(file(path, 'sec1.pem')).matches(leaf)).toBe(true);
  const before = names.map((name) => file(path, name));
  expect((await pass(path)).plan.actions).toEqual([]);
  expect(names.map((name) => file(path, name))).toEqual(before);
});

test('Other formats of a Leaf follow the resource: an added file comes, a removed one goes, and the certificate stays', async () => {
  const path = made('');
  await pass(path);
  const before = file(path, 'tls.crt');
  change(path, '{name: haproxy.pem, format: combined}');
  await pass(path);
  expect(file(path, 'haproxy.pem').includes(before)).toBe(true);
  change(path, '{name: other.pem, format: combined}');
  await pass(path);
  expect(existsSync(join(path, 'out/default/secrets/a/haproxy.pem'))).toBe(false);
  expect(file(path, 'other.pem').includes(before)).toBe(true);
  expect(file(path, 'tls.crt')).toEqual(before);
  expect((await pass(path)).plan.actions).toEqual([]);
});

test('Other formats of a Leaf are no repair when the resource changes: no other program is blamed', async () => {
  const path = made('');
  await pass(path);
  change(path, '{name: haproxy.pem, format: combined}');
  const home = directories.home(path);
  const events: string[] = [];
  await passOnce(home, home.load(), ({ kind }) => events.push(kind));
  expect(file(path, 'haproxy.pem').length).toBeGreaterThan(0);
  expect(events).not.toContain('repaired');
  writeFileSync(join(path, 'out/default/secrets/a/..data/haproxy.pem'), 'x');
  await passOnce(home, home.load(), ({ kind }) => events.push(kind));
  expect(events).toContain('repaired');
});

test('Other formats of a Leaf are made anew when the password changes, with the same certificate', async () => {
  const path = made(KEYSTORE);
  await pass(path);
  const before = { store: file(path, 'web.p12'), certificate: file(path, 'tls.crt') };
  writeFileSync(join(path, 'password'), 'another password\n');
  await pass(path);
  expect(file(path, 'web.p12')).not.toEqual(before.store);
  expect(file(path, 'tls.crt')).toEqual(before.certificate);
  expect((await pass(path)).plan.actions).toEqual([]);
});

test('Other formats of a Leaf are put right when another program changes one of them', async () => {
  const path = made(KEYSTORE);
  await pass(path);
  const before = file(path, 'web.p12');
  writeFileSync(join(path, 'out/default/secrets/a/..data/web.p12'), 'x');
  await pass(path);
  expect(file(path, 'web.p12')).toEqual(before);
});

test('Other formats of a Leaf do not replace a file of another program without consent', async () => {
  const path = made('');
  await pass(path);
  writeFileSync(join(path, 'out/default/secrets/a/haproxy.pem'), 'mine');
  change(path, '{name: haproxy.pem, format: combined}');
  expect(obstacles(await pass(path)).join()).toMatch(
    /haproxy\.pem\); move them away, or set handover\.dev\/adopt/,
  );
  expect(file(path, 'haproxy.pem').toString()).toBe('mine');
});

test.each([
  ['does not exist', undefined, 0o600, /password does not exist; write the password there, with mode 0600/],
  ['is readable by every user', PASSWORD, 0o644, /every user can read it; chmod o-r/],
  ['is writable by a group', PASSWORD, 0o660, /can be changed by other users/],
  ['is empty', '\n', 0o600, /holds no usable password; write one line of 6 to 128/],
  ['has two lines', `${PASSWORD}\nmore\n`, 0o600, /holds no usable password/],
])(
  'A password file that %s holds up its own Leaf alone, and no message has the password',
  async (_what, text, mode, says) => {
    const path = directories.make(withOutputs(KEYSTORE));
    if (text !== undefined) {
      writeFileSync(join(path, 'password'), text);
      chmodSync(join(path, 'password'), mode);
    }
    const outcome = await pass(path);
    expect(obstacles(outcome)).toEqual([expect.stringMatching(says)]);
    expect(JSON.stringify(outcome)).not.toContain(PASSWORD);
    expect(existsSync(join(path, 'out/default/secrets/a/tls.crt'))).toBe(false);
    expect(existsSync(join(path, 'out/default/secrets/b/tls.crt'))).toBe(true);
    const home = directories.home(path);
    expect(await codeOf(() => passOnce(home, home.load(), () => {}))).toMatch(says);
  },
);

const TRUST = `---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: java}
spec:
  sources: [{authority: default/mesh}]
  targets: [{configMap: {name: java, outputs: [{name: trust.jks, format: jks}, {name: trust.p12, format: pkcs12}]}}]
`;

test('A truststore holds what its bundle holds, through a rotation', async () => {
  const path = made('', TRUST);
  await pass(path);
  const at = (name: string): Buffer => readFileSync(join(path, 'out/default/configmaps/java', name));
  const aliases = (): number => at('trust.jks').readUInt32BE(8);
  expect(modeOf(join(path, 'out/default/configmaps/java/trust.jks'))).toBe('644');
  expect(aliases()).toBe(1);
  const home = directories.home(path);
  await home.requests.ask({ authority: MESH_ID, rotate: 'one' });
  await pass(path);
  expect(parseCertificates(at('ca.crt')).certificates).toHaveLength(2);
  expect(aliases()).toBe(2);
  for (const { der } of parseCertificates(at('ca.crt')).certificates) {
    expect(at('trust.jks').includes(Buffer.from(der))).toBe(true);
    expect(at('trust.p12').includes(Buffer.from(der))).toBe(true);
  }
});

describe('A Leaf that keeps its key', () => {
  const REUSE = MESH.replace('dnsNames: [a.local]', 'dnsNames: [a.local], reuseKey: true');
  const rotated = async (path: string): Promise<void> => {
    const home = directories.home(path);
    await home.requests.ask({ authority: MESH_ID, rotate: 'one' });
    await pass(path);
    directories.now = (directories.now + 60_000) as typeof directories.now;
    await pass(path);
  };

  test('A Leaf that keeps its key has another certificate and the same key after a rotation; one that does not has another key', async () => {
    const path = directories.make(REUSE);
    await pass(path);
    const before = { key: file(path, 'tls.key'), certificate: file(path, 'tls.crt') };
    const other = readFileSync(join(path, 'out/default/secrets/b/tls.key'));
    await rotated(path);
    expect(file(path, 'tls.crt')).not.toEqual(before.certificate);
    expect(file(path, 'tls.key')).toEqual(before.key);
    expect(readFileSync(join(path, 'out/default/secrets/b/tls.key'))).not.toEqual(other);
  });

  test('A Leaf that keeps its key has another certificate of the same CA and the same key after a renewal', async () => {
    const path = directories.make(REUSE);
    await pass(path);
    const before = { key: file(path, 'tls.key'), certificate: file(path, 'tls.crt') };
    const other = readFileSync(join(path, 'out/default/secrets/b/tls.key'));
    const bundle = file(path, 'ca.crt');
    directories.now = (directories.now + 61 * 86_400_000) as typeof directories.now;
    await pass(path);
    expect(file(path, 'tls.crt')).not.toEqual(before.certificate);
    expect(file(path, 'tls.key')).toEqual(before.key);
    expect(readFileSync(join(path, 'out/default/secrets/b/tls.key'))).not.toEqual(other);
    expect(file(path, 'ca.crt')).toEqual(bundle);
  });

  test('A Leaf that keeps its key gets a new key after a distrust', async () => {
    const path = directories.make(REUSE);
    await pass(path);
    const first = file(path, 'tls.key');
    await directories.home(path).requests.ask({ authority: MESH_ID, distrust: 1 });
    await pass(path);
    expect(file(path, 'tls.key')).not.toEqual(first);
  });

  test('A Leaf that keeps its key gets a new key when another algorithm is asked for', async () => {
    const path = directories.make(REUSE);
    await pass(path);
    const first = file(path, 'tls.key');
    writeFileSync(
      join(path, 'mesh.yaml'),
      REUSE.replace('reuseKey: true', 'reuseKey: true, key: ECDSA-P384'),
    );
    await pass(path);
    expect(file(path, 'tls.key')).not.toEqual(first);
  });
});
