import {
  chmodSync,
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
import { after, HandoverError, instant, second } from '@handover/material';
import { afterAll, describe, expect, test } from 'vitest';
import { Directories, loaded, visible } from '../../test/directories.ts';
import { accepts, MESH } from '../../test/world.ts';
import { converge, diskFiles, passOnce, readYaml, SteadyClock, statusOf, verifyAuthority } from '../index.ts';
import { ownIdentity } from './process-identity.ts';

const directories = new Directories();
afterAll(() => directories.end());
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
const codeOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof HandoverError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'nothing was refused';
};

describe('What the directory home writes', () => {
  test('is the kubelet’s layout, keys for their owner alone, state for nobody else', async () => {
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

  test('has the mode and owner that its Leaf asks for, also when it asks later', async () => {
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
      MESH.replace('dnsNames: [a.local]', 'files: {owner: nobody-at-all}, dnsNames: [a.local]'),
    );
    expect((await pass(path)).observation.stored.get('default/secrets/a')?.obstacle).toMatch(
      /^there is no user nobody-at-all/,
    );
  });

  test('takes over plain files of somebody else, as generation 0, without a moment of mixed content', async () => {
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
    for (const [who, chain] of visible(path).chains) {
      expect(chain).not.toBe(foreign.chains.get(who));
      expect(accepts(chain, visible(path).bundles.get('secrets/b'), directories.now)).toBe(true);
    }
  });

  test('is put right after an edit by hand or a removal', async () => {
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

  test('is files, put right one by one, beside a bundle that keeps its own', async () => {
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

  test('that follows OpenShift is refused by name, and the last one stays', async () => {
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

describe('One process at a time', () => {
  test('the second is refused and told the pid of the first', async () => {
    const path = directories.make();
    const first = await directories.home(path).lock();
    expect(await codeOf(() => directories.home(path).lock())).toMatch(
      new RegExp(`^HOME_LOCKED: process ${process.pid} is already running on this directory`),
    );
    await first.release();
    const second = await directories.home(path).lock();
    await second.release();
    expect(readdirSync(join(path, 'state')).filter((name) => name.startsWith('lock'))).toEqual([]);
  });

  test('the lock of a process that is gone, or of a pid that is somebody else’s by now, is taken over', async () => {
    for (const holder of [
      { pid: 4_194_305, started: '1' },
      { pid: process.pid, started: 'another time' },
    ]) {
      const path = directories.make();
      mkdirSync(join(path, 'state'), { mode: 0o700 });
      writeFileSync(join(path, 'state/lock'), JSON.stringify({ ...ownIdentity(), ...holder }));
      const lock = await directories.home(path).lock();
      await lock.release();
    }
  });

  test('the lock of another machine is respected while it is fresh', async () => {
    const path = directories.make();
    mkdirSync(join(path, 'state'), { mode: 0o700 });
    writeFileSync(join(path, 'state/lock'), JSON.stringify({ pid: 1, started: '1', host: 'elsewhere' }));
    expect(await codeOf(() => directories.home(path).lock())).toContain('(host elsewhere)');
  });
});

describe('A write that was decided on something older does not land', () => {
  test('neither on the authority nor on an object', async () => {
    const path = directories.make();
    await pass(path);
    const home = directories.home(path);
    const record = await home.authorities.load(MESH_ID);
    if (record === undefined) throw new Error('no authority');
    for (const expected of [undefined, record.state.revision - 1, record.state.revision + 1])
      expect(await codeOf(() => home.authorities.swap(MESH_ID, expected, record))).toMatch(/^CONFLICT/);
    const before = visible(path);
    const stored = await home.objects.read('default/secrets/a');
    const contents = { data: { 'tls.crt': 'x' }, record: stored?.record as never };
    for (const expected of [undefined, '0', 'plain-0'])
      expect(await codeOf(() => home.objects.write('default/secrets/a', expected, () => contents))).toMatch(
        /^CONFLICT/,
      );
    expect(visible(path)).toEqual(before);
  });
});

describe('A directory that cannot be trusted is refused', () => {
  test.each([
    ['', 0o777, /^HOME_WRITABLE_BY_OTHERS: .*mode 0777.*chmod go-w/],
    ['', 0o775, /^HOME_WRITABLE_BY_OTHERS/],
    ['mesh.yaml', 0o666, /^HOME_WRITABLE_BY_OTHERS: .*mesh\.yaml/],
    ['state', 0o770, /^HOME_WRITABLE_BY_OTHERS: .*state/],
    ['state', 0o755, /^HOME_STATE_EXPOSED/],
  ])('when %s has mode %o', async (name, mode, says) => {
    const path = directories.make();
    await pass(path);
    chmodSync(join(path, name), mode);
    expect(await codeOf(() => pass(path))).toMatch(says);
  });

  test('when it is not there, holds nothing, or belongs to somebody else', async () => {
    expect(await codeOf(() => directories.home('/nonexistent/dir').load())).toMatch(/^HOME_MISSING/);
    expect(await codeOf(() => directories.home(directories.make('')).load())).toMatch(/^HOME_EMPTY/);
    const uid = process.getuid?.() ?? 0;
    if (uid !== 0) return;
    const path = directories.make();
    diskFiles.facts(path);
    const foreign = directories.home(
      path,
      {
        ...diskFiles,
        facts: (file) => {
          const facts = diskFiles.facts(file);
          return facts === undefined ? undefined : { ...facts, uid: 1234 };
        },
      },
      { uid: 77 },
    );
    expect(await codeOf(() => foreign.load())).toMatch(/^HOME_FOREIGN_OWNER: .* belongs to user 1234/);
  });
});

describe('State that is not whole is refused, and nothing is written', () => {
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
  ])('%s', async (_name, edit, says) => {
    const text = await damaged(edit);
    expect(text).toMatch(says);
    expect(text).not.toContain('MIG');
  });

  test('older than its objects, as from a backup: everything stops, by name', async () => {
    const path = directories.make();
    await pass(path);
    const old = readFileSync(join(path, 'state/authorities/default/mesh.json'), 'utf8');
    await directories.home(path).requests.ask({ authority: MESH_ID, rotate: 'r' });
    await pass(path);
    writeFileSync(join(path, 'state/authorities/default/mesh.json'), old);
    const { plan } = await pass(path);
    expect(plan.actions).toEqual([]);
    expect(plan.blockedBy.map(({ waitsFor }) => waitsFor).join()).toContain('restored from a backup');
  });

  test('a clock that is behind it is named', async () => {
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

describe('YAML', () => {
  test.each([
    ['a: [1', 'm.yaml:1:', 'YAML_INVALID'],
    ['a: 1\na: 2\n', 'm.yaml:2:1', 'YAML_INVALID'],
    ['ok: 1\n---\n\tbad: tab\n', 'm.yaml:3:', 'YAML_INVALID'],
  ])('%j is refused with its line and column', async (text, place, code) => {
    const says = await codeOf(() => readYaml(text, 'm.yaml'));
    expect(says).toContain(`${code}: ${place}`);
    expect(says).not.toContain('\n');
  });

  test('of many keys is read in time that grows with it, not with its square', () => {
    const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}: 1`).join('\n');
    const spent = (text: string): number => {
      const began = performance.now();
      expect(readYaml(text, 'm.yaml')).toHaveLength(1);
      return performance.now() - began;
    };
    spent(keys(8_000)); // the compiler's first look at the parser
    // Eight times the keys: 8 when it grows with them, 64 with their square. Half a second where 8,000 were too fast to time.
    const few = Math.max(spent(keys(5_000)), 100);
    expect(spent(keys(40_000))).toBeLessThan(5 * 8 * few);
  });

  test.each([
    ['a: {b: 1, c: 2, b: 3}', 'm.yaml:1:17'],
    ['a:\n  - b: 1\n    "b": 2\n', 'm.yaml:3:5'],
  ])('%j says a key twice, wherever it stands, and is refused', async (text, place) => {
    expect(await codeOf(() => readYaml(text, 'm.yaml'))).toBe(
      `YAML_INVALID: ${place}: the key b stands there twice; correct the YAML there`,
    );
  });

  test('that unfolds without end is refused', async () => {
    const bomb = [
      'a0: &a0 [x,x,x,x,x,x,x,x,x]',
      ...Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join()}]`),
    ].join('\n');
    expect(await codeOf(() => readYaml(bomb, 'm.yaml'))).toMatch(/^YAML_INVALID: m\.yaml:1:1/);
  });

  test('with a bad field names file, place and field', async () => {
    const path = directories.make(MESH.replace('1y', 'soon'));
    expect(await codeOf(() => directories.home(path).load())).toMatch(
      /^RESOURCE_INVALID: mesh\.yaml:2:1: Authority mesh: spec\.lifetime: "soon" is not a duration/,
    );
  });
});

describe('Many resources', () => {
  const many = (count: number) =>
    [
      MESH,
      ...Array.from(
        { length: count },
        (_, index) => `
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: leaf-${index}}
spec: {authority: mesh, dnsNames: [leaf-${index}.local]}
`,
      ),
    ].join('---');

  test('are remembered beside the state, and read again as soon as one letter changes', async () => {
    const path = directories.make(many(60));
    const home = directories.home(path);
    const lock = await home.lock();
    await passOnce(home, home.load(), () => {});
    await lock.release();
    const cache = join(path, 'state/resources.json');
    expect((statSync(cache).mode & 0o777).toString(8)).toBe('600');
    expect(directories.home(path).load().leaves).toHaveLength(62);
    writeFileSync(join(path, 'mesh.yaml'), many(60).replace('leaf-7.local', 'leaf-x.local'));
    expect(directories.home(path).load().leaves[9]?.spec.dnsNames).toEqual(['leaf-x.local']);
    writeFileSync(join(path, 'mesh.yaml'), many(60));
    writeFileSync(cache, '{"digest":');
    expect(directories.home(path).load().leaves).toHaveLength(62);
  });
});

describe('The clock', () => {
  test('that was set forward, also between two processes, lets no promise count from before', async () => {
    const state = directories.make();
    let wall = 1_000_000;
    let boot = 50_000;
    const clock = () =>
      new SteadyClock(
        diskFiles,
        state,
        () => wall,
        () => boot,
      );
    const first = clock();
    expect(first.steadySince()).toBeUndefined();
    await first.save();
    wall += 60_000;
    boot += 60_000;
    expect(clock().steadySince()).toBeUndefined();
    wall += 3_600_000;
    const jumped = clock();
    expect(jumped.steadySince()).toBe(wall);
    await jumped.save();
    const at = wall;
    wall += 10_000;
    boot += 10_000;
    expect(clock().steadySince()).toBe(at);
    writeFileSync(join(state, 'clock.json'), 'garbage');
    expect(clock().steadySince()).toBe(wall);
  });
});

describe('Looking', () => {
  test('at status and at the trust matrix writes nothing', async () => {
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

  test('before a distrust tells who would fail', async () => {
    const path = directories.make();
    await pass(path);
    const home = directories.home(path);
    const { pairs } = await verifyAuthority(home, await home.fresh(), MESH_ID, { distrust: [1] });
    expect(pairs.every(({ now }) => now.ok)).toBe(true);
    expect(pairs.every(({ next }) => !next.ok)).toBe(true);
  });
});
