import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codeOf, Directories, loaded } from '../../../test/directories.ts';
import { MESH } from '../../../test/world.ts';
import { type AuthorityOutcome, converge } from '../../index.ts';

/** Only root gives files to another user. */
const asRoot = test.skipIf(process.getuid?.() !== 0);
const directories = new Directories();

const pass = async (path: string): Promise<AuthorityOutcome> => {
  const home = directories.home(path);
  const lock = await home.lock();
  try {
    return await converge(loaded(home), 'default/mesh');
  } finally {
    await lock.release();
  }
};

const asking = (file: string): string =>
  MESH.replace(
    'dnsNames: [a.local]',
    `dnsNames: [a.local], outputs: [{name: web.pem, format: combined, file: ${file}}]`,
  );

const CONSENTS = '{name: a, annotations: {handover.dev/adopt: "true"}}';

/** A home whose Leaf `a` wants its files at `etc/web.pem` of the home, or at `path`. */
const made = (file = '{path: etc/web.pem}'): string => {
  const home = directories.make(asking(file));
  mkdirSync(join(home, 'etc'), { mode: 0o755 });
  return home;
};
const here = (home: string): string => readFileSync(join(home, 'etc/web.pem'), 'utf8');
const there = (home: string): string => readFileSync(join(home, 'out/default/secrets/a/web.pem'), 'utf8');
const obstacles = ({ observation }: AuthorityOutcome): readonly string[] =>
  observation.seen.objects.flatMap(({ obstacle }) => (obstacle === undefined ? [] : [String(obstacle)]));

test('A file at a path of its own holds what the folder holds, is the owner’s alone, and follows a rotation', async () => {
  const home = made();
  await pass(home);
  expect(here(home)).toBe(there(home));
  expect((statSync(join(home, 'etc/web.pem')).mode & 0o777).toString(8)).toBe('600');
  const before = { text: here(home), inode: statSync(join(home, 'etc/web.pem')).ino };
  expect((await pass(home)).plan.actions).toEqual([]);
  expect(statSync(join(home, 'etc/web.pem')).ino).toBe(before.inode);
  await directories.home(home).requests.ask({ authority: 'default/mesh', rotate: 'one' });
  await pass(home);
  directories.now = (directories.now + 60_000) as typeof directories.now;
  await pass(home);
  expect(here(home)).not.toBe(before.text);
  expect(here(home)).toBe(there(home));
});

asRoot('has the owner, group and mode that are asked for', async () => {
  const home = made('{path: etc/web.pem, owner: "65534", group: "65534", mode: "0440"}');
  await pass(home);
  const { mode, uid, gid } = statSync(join(home, 'etc/web.pem'));
  expect([(mode & 0o777).toString(8), uid, gid]).toEqual(['440', 65534, 65534]);
  expect((await pass(home)).plan.actions).toEqual([]);
});

test.each([
  ['changed', (path: string) => writeFileSync(path, 'x')],
  ['deleted', (path: string) => rmSync(path)],
  ['opened to others', (path: string) => chmodSync(path, 0o644)],
])('A file at a path of its own is put right after it was %s', async (_how, damage) => {
  const home = made();
  await pass(home);
  damage(join(home, 'etc/web.pem'));
  await pass(home);
  expect(here(home)).toBe(there(home));
  expect((statSync(join(home, 'etc/web.pem')).mode & 0o777).toString(8)).toBe('600');
  expect((await pass(home)).plan.actions).toEqual([]);
});

test('A file at a path of its own stays when it is no longer asked for', async () => {
  const home = made();
  await pass(home);
  writeFileSync(join(home, 'mesh.yaml'), MESH);
  await pass(home);
  expect(here(home)).toMatch(/PRIVATE KEY/);
});

test('A file at a path of its own never goes through a link: the link is replaced, and what it leads to stays', async () => {
  const home = made();
  await pass(home);
  rmSync(join(home, 'etc/web.pem'));
  writeFileSync(join(home, 'victim'), 'precious');
  symlinkSync(join(home, 'victim'), join(home, 'etc/web.pem'));
  await pass(home);
  expect(lstatSync(join(home, 'etc/web.pem')).isFile()).toBe(true);
  expect(readFileSync(join(home, 'victim'), 'utf8')).toBe('precious');
});

describe('A file that is refused', () => {
  const refused = async (home: string, says: RegExp): Promise<void> => {
    const outcome = await pass(home);
    expect(obstacles(outcome)).toEqual([expect.stringMatching(says)]);
    expect(readFileSync(join(home, 'out/default/secrets/b/tls.crt'), 'utf8')).toMatch(/CERTIFICATE/);
  };

  test('A file in a directory that others can write is refused, and every other object is written', async () => {
    const home = made();
    chmodSync(join(home, 'etc'), 0o777);
    await refused(home, /can be changed by other users \(mode 0777\); chmod go-w /);
  });

  test('A file in a directory with the sticky bit, where others can make files, is refused, and every other object is written', async () => {
    const home = made();
    chmodSync(join(home, 'etc'), 0o1777);
    await refused(
      home,
      /can be changed by other users \(mode 1777\); use a directory that only root or its owner can write$/,
    );
  });

  asRoot('in a directory of another user', async () => {
    const home = made();
    chownSync(join(home, 'etc'), 65534, 65534);
    await refused(home, /belongs to user 65534/);
  });

  asRoot('behind a link into a directory of another user', async () => {
    const home = made();
    mkdirSync(join(home, 'theirs'));
    chownSync(join(home, 'theirs'), 65534, 65534);
    rmSync(join(home, 'etc'), { recursive: true });
    symlinkSync(join(home, 'theirs'), join(home, 'etc'));
    await refused(home, /belongs to user 65534/);
  });

  test('A file in a directory that does not exist is refused with the command that makes it, and every other object is written', async () => {
    const home = made();
    rmSync(join(home, 'etc'), { recursive: true });
    await refused(home, /its directory does not exist; make it: install -d -m 0755 \//);
  });

  test('A file in the place of another program’s is refused unless its resource consents, and every other object is written', async () => {
    const home = made();
    writeFileSync(join(home, 'etc/web.pem'), 'mine');
    await refused(home, /handover did not write this file; move it away, or set handover\.dev\/adopt/);
    expect(here(home)).toBe('mine');
    writeFileSync(join(home, 'mesh.yaml'), asking('{path: etc/web.pem}').replace('{name: a}', CONSENTS));
    await pass(home);
    expect(here(home)).toBe(there(home));
  });

  test.each([
    ['even with consent', asking('{path: etc/web.pem}').replace('{name: a}', CONSENTS), false],
    ['even if Handover wrote there before', asking('{path: etc/web.pem}'), true],
  ])('A file in the place of a pipe is refused, %s', async (_, yaml, wasWritten) => {
    const home = made();
    const path = join(home, 'etc/web.pem');
    if (wasWritten) await pass(home);
    writeFileSync(join(home, 'mesh.yaml'), yaml);
    rmSync(path, { force: true });
    execFileSync('mkfifo', [path]);
    await refused(home, /: a device, pipe or socket is where the file should be; move it away, or choose/);
    expect(lstatSync(path).isFIFO()).toBe(true);
  });

  test('A file in a folder of handover’s own is refused, and every other object is written', async () => {
    await refused(made('{path: out/default/secrets/b/tls.crt}'), /is in a folder of handover's own/);
  });

  test('Two files at one path are refused, and every other object is written', async () => {
    const home = directories.make(
      asking('{path: etc/x}').replace(
        'dnsNames: [b.local]',
        'dnsNames: [b.local], outputs: [{name: b.pem, format: combined, file: {path: etc/x}}]',
      ),
    );
    expect(await codeOf(() => directories.home(home).load())).toMatch(
      /^RESOURCE_CONFLICT: Leaf default\/b and Leaf default\/a would both write .*\/etc\/x; give one/,
    );
  });

  test('A file in the place of a resource is refused, even with consent', async () => {
    const other = made();
    await pass(other);
    for (const name of ['handover.yaml', 'more.yml']) {
      const home = made(`{path: ${join(other, name)}}`);
      expect(obstacles(await pass(home))).toEqual([
        `${join(other, name)}: handover reads the resources of the home ${other} from there; choose another path`,
      ]);
    }
    const own = made('{path: more.yaml}');
    expect(obstacles(await pass(own))).toEqual([
      expect.stringContaining('handover reads the resources of the home'),
    ]);
    expect(existsSync(join(own, 'more.yaml'))).toBe(false);
  });

  test('A file in a folder of another home is refused, also through a link', async () => {
    const other = made();
    await pass(other);
    for (const place of ['out/default/secrets/a', 'state']) {
      const home = made(`{path: ${join(other, place)}/web.pem}`);
      const path = join(other, place, 'web.pem');
      expect(obstacles(await pass(home))).toEqual([
        `${path}: it is in a folder that handover writes itself, of the home ${other}; choose another path`,
      ]);
      const linked = made('{path: link/web2.pem}');
      symlinkSync(join(other, place), join(linked, 'link'));
      expect(obstacles(await pass(linked))).toEqual([
        expect.stringContaining(`it is in a folder that handover writes itself, of the home ${other}`),
      ]);
    }
  });
});
