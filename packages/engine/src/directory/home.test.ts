import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, bytesOf, instant, second } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { codeOf, Directories, loaded, visible } from '../../test/directories.ts';
import { accepts, MESH } from '../../test/world.ts';
import { converge, passOnce, statusOf, verifyAuthority } from '../index.ts';

const directories = new Directories();
const MESH_ID = 'default/mesh';

const pass = async (path: string) => {
  const home = directories.home(path);
  const lock = await home.lock();
  try {
    return await converge(loaded(home), MESH_ID);
  } finally {
    await lock.release();
  }
};

test('The directory home writes folders in the kubelet’s layout; only the owner can read keys and the state', async () => {
  const path = directories.make();
  await pass(path);
  const folder = join(path, 'out/default/secrets/a');
  expect(readlinkSync(join(folder, 'tls.key'))).toBe('..data/tls.key');
  expect(readlinkSync(join(folder, '..data'))).toMatch(/^\.\.20/);
  const mode = (file: string) => (statSync(join(path, file)).mode & 0o777).toString(8);
  expect(mode('out/default/secrets/a/tls.key')).toBe('600');
  expect(mode('out/default/secrets/a/ca.crt')).toBe('644');
  expect(mode('state')).toBe('700');
  expect(mode('state/authorities/default/mesh.json')).toBe('600');
});

test('The directory home writes files with the mode and owner that their Leaf asks for, also when it asks later', async () => {
  const path = directories.make();
  await pass(path);
  const uid = process.getuid?.() ?? 0;
  const files = `files: {mode: "0640", owner: "${uid}"}, dnsNames: [a.local]`;
  writeFileSync(join(path, 'mesh.yaml'), MESH.replace('dnsNames: [a.local]', files));
  const before = visible(path).keys.get('secrets/a');
  await pass(path);
  const key = statSync(join(path, 'out/default/secrets/a/tls.key'));
  expect((key.mode & 0o777).toString(8)).toBe('640');
  expect(key.uid).toBe(uid);
  expect(visible(path).keys.get('secrets/a')).toBe(before);
  expect((await pass(path)).plan.actions).toEqual([]);
  writeFileSync(
    join(path, 'mesh.yaml'),
    MESH.replace('dnsNames: [a.local]', 'files: {owner: no-such-user}, dnsNames: [a.local]'),
  );
  expect((await pass(path)).observation.stored.get('default/secrets/a')?.obstacle).toMatch(
    /^there is no user no-such-user/,
  );
});

test('The directory home takes over plain files of another issuer as CA generation 0, and never shows mixed content', async () => {
  const donor = directories.make();
  await pass(donor);
  const foreign = visible(donor);
  const consenting = MESH.replace('spec: {', 'spec: {adopt: {secret: a}, ').replaceAll(
    'kind: Leaf\nmetadata: {',
    'kind: Leaf\nmetadata: {annotations: {handover.dev/adopt: "true"}, ',
  );
  const path = directories.make(consenting);
  for (const name of ['a', 'b']) {
    const folder = join(path, 'out/default/secrets', name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'tls.crt'), foreign.chains.get(`secrets/${name}`) ?? '');
    writeFileSync(join(folder, 'tls.key'), foreign.keys.get(`secrets/${name}`) ?? '', { mode: 0o600 });
    writeFileSync(join(folder, 'ca.crt'), foreign.bundles.get(`secrets/${name}`) ?? '');
  }
  const { plan } = await pass(path);
  expect(plan.phase).toBe('Introducing');
  expect(visible(path).chains).toEqual(foreign.chains);
  for (const bundle of visible(path).bundles.values())
    expect(accepts(foreign.chains.get('secrets/a'), bundle, directories.now)).toBe(true);
  expect(readlinkSync(join(path, 'out/default/secrets/a/tls.crt'))).toBe('..data/tls.crt');
  directories.now = after(directories.now, 20 * second);
  await pass(path);
  for (const [secret, chain] of visible(path).chains) {
    expect(chain).not.toBe(foreign.chains.get(secret));
    expect(accepts(chain, visible(path).bundles.get('secrets/b'), directories.now)).toBe(true);
  }
});

test('The directory home restores its files after an edit by hand or a removal', async () => {
  const path = directories.make();
  await pass(path);
  const before = visible(path);
  writeFileSync(join(path, 'out/default/configmaps/mesh-trust/ca.crt'), 'edited');
  await pass(path);
  expect(visible(path)).toEqual(before);
  rmSync(join(path, 'out/default/configmaps'), { recursive: true });
  await pass(path);
  expect(visible(path).bundles).toEqual(before.bundles);
});

describe('A TLSProfile in a directory', () => {
  const TRUST = `
---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: both}
spec: {sources: [{authority: default/mesh}], targets: [{configMap: {name: p, namespaceSelector: {}}}]}`;
  const yaml = (type: string) =>
    `{apiVersion: handover.dev/v1alpha1, kind: TLSProfile, metadata: {name: p}, spec: {type: ${type}}}`;
  const passOver = async (path: string): Promise<void> => {
    const home = directories.home(path);
    const lock = await home.lock();
    try {
      await passOnce(home, home.load(), () => {});
    } finally {
      await lock.release();
    }
  };

  test('A TLSProfile in a directory is files, each restored alone, beside a bundle that keeps its own file', async () => {
    const path = directories.make(`${MESH}${TRUST}\n---\n${yaml('Modern')}`);
    const folder = join(path, 'out/default/configmaps/p');
    await passOver(path);
    const names = readdirSync(folder).filter((name) => !name.startsWith('..'));
    expect(names.sort()).toEqual(
      ['ca.crt', 'envoy.yaml', 'go.json', 'nginx.conf', 'node.json', 'openssl.cnf', 'profile.json'].sort(),
    );
    const before = names.map((name) => readFileSync(join(folder, name), 'utf8'));
    writeFileSync(join(folder, 'nginx.conf'), 'ssl_protocols TLSv1;');
    await passOver(path);
    expect(names.map((name) => readFileSync(join(folder, name), 'utf8'))).toEqual(before);
  });

  test('A TLSProfile in a directory that follows OpenShift is refused by name, and the last profile stays', async () => {
    const path = directories.make(yaml('Modern'));
    await passOver(path);
    writeFileSync(join(path, 'mesh.yaml'), yaml('OpenShift'));
    expect(await codeOf(() => passOver(path))).toMatch(/^TLS_PROFILE_NOT_HERE: .*name a profile/);
    const home = directories.home(path);
    const status = await statusOf(loaded(home).fresh);
    expect(status.tlsProfiles[0]).toMatchObject({ type: 'OpenShift', hash: null, written: false });
    const kept = readFileSync(join(path, 'out/default/configmaps/p/profile.json'), 'utf8');
    expect(kept).toContain('VersionTLS13');
  });
});

test('A write based on an older version is refused: for the authority and for an object', async () => {
  const path = directories.make();
  await pass(path);
  const home = directories.home(path);
  const record = await home.authorities.load(MESH_ID);
  if (record === undefined) throw new Error('no authority');
  for (const expected of [undefined, record.state.revision - 1, record.state.revision + 1])
    expect(await codeOf(() => home.authorities.swap(MESH_ID, expected, record))).toMatch(/^CONFLICT/);
  const before = visible(path);
  const stored = await home.objects.read('default/secrets/a');
  const contents = { data: { 'tls.crt': bytesOf('x') }, record: stored?.record as never };
  for (const expected of [undefined, '0', 'plain-0'])
    expect(await codeOf(() => home.objects.write('default/secrets/a', expected, () => contents))).toMatch(
      /^CONFLICT/,
    );
  expect(visible(path)).toEqual(before);
});

describe('A damaged state', () => {
  const damaged = async (edit: (text: string) => string): Promise<string> => {
    const path = directories.make();
    await pass(path);
    const file = join(path, 'state/authorities/default/mesh.json');
    writeFileSync(file, edit(readFileSync(file, 'utf8')));
    const before = visible(path);
    const says = await codeOf(() => pass(path));
    expect(visible(path)).toEqual(before);
    return says;
  };

  test.each([
    ['cut short', (text: string) => text.slice(0, 300), /^STATE_UNREADABLE: .*not JSON/],
    ['something else', () => '{}', /^STATE_UNREADABLE/],
    [
      'of another authority',
      (text: string) => text.replace('default/mesh', 'default/other'),
      /^STATE_FOREIGN/,
    ],
    [
      'without its key',
      (text: string) => text.replace(/"keys": \{[^}]*\}/, '"keys": {}'),
      /^STATE_INCOMPLETE: .*key of generation 1/,
    ],
    [
      'without a certificate',
      (text: string) => text.replace(/"certificates": \[[^\]]*\]/, '"certificates": []'),
      /^STATE_INCOMPLETE/,
    ],
    [
      'with a damaged key',
      (text: string) => text.replace(/BEGIN PRIVATE KEY-----\\n..../, 'BEGIN PRIVATE KEY-----\\nAAAA'),
      /^STATE_UNREADABLE: .*damaged material/,
    ],
  ])('Damaged state is refused, and nothing is written: %s', async (_name, edit, says) => {
    const text = await damaged(edit);
    expect(text).toMatch(says);
    expect(text).not.toContain('MIG');
  });

  test('A state that is older than its objects, as from a backup, stops everything, and the reason names the backup', async () => {
    const path = directories.make();
    await pass(path);
    const old = readFileSync(join(path, 'state/authorities/default/mesh.json'), 'utf8');
    await directories.home(path).requests.ask({ authority: MESH_ID, rotate: 'r' });
    await pass(path);
    writeFileSync(join(path, 'state/authorities/default/mesh.json'), old);
    const { plan } = await pass(path);
    expect(plan.actions).toEqual([]);
    expect(plan.blockedBy.map(({ waitsFor }) => waitsFor).join()).toContain(
      'made from a newer state than revision',
    );
  });

  test('a clock behind the state is an error with its own code', async () => {
    const path = directories.make();
    await pass(path);
    const home = directories.home(path, undefined, {
      clock: { now: () => instant(Date.UTC(2020, 0, 1)), steadySince: () => undefined },
    });
    expect(await codeOf(() => passOnce(home, home.load(), () => {}))).toMatch(
      /^CLOCK_BEHIND: the clock says 2020-/,
    );
  });
});

test('A read-only command such as status or verify writes nothing', async () => {
  const path = directories.make();
  await pass(path);
  const home = directories.home(path);
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  const before = readFileSync(join(path, 'state/authorities/default/mesh.json'), 'utf8');
  const files = visible(path);
  const matrix = await verifyAuthority(home, await home.fresh(), MESH_ID);
  expect(matrix.step.join()).toContain('mint');
  expect(matrix.pairs).toHaveLength(6);
  expect(matrix.pairs.every(({ now, next }) => now.ok && next.ok)).toBe(true);
  const status = await statusOf(loaded(home).fresh);
  expect(status.authorities[0]).toMatchObject({ phase: 'Stable', namespace: 'default', name: 'mesh' });
  expect(readFileSync(join(path, 'state/authorities/default/mesh.json'), 'utf8')).toBe(before);
  expect(visible(path)).toEqual(files);
  expect(existsSync(join(path, 'state/lock'))).toBe(false);
});

test('A read-only command shows before a distrust which handshakes would fail', async () => {
  const path = directories.make();
  await pass(path);
  const home = directories.home(path);
  const { pairs } = await verifyAuthority(home, await home.fresh(), MESH_ID, { distrust: [1] });
  expect(pairs.every(({ now }) => now.ok)).toBe(true);
  expect(pairs.every(({ next }) => !next.ok)).toBe(true);
});
