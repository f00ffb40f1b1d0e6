import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Directories, visible } from '../../test/directories.ts';
import { type DirectoryHome, diskFiles, type Files, passOnce, statusOf } from '../index.ts';
import { homeFileError } from './disk/files.ts';

const directories = new Directories();

/** Names its Leaf in a file of the home. */
const TELL = `{command: [sh, -c, 'echo "$HANDOVER_LEAF" >> told']}`;

const yaml = (files = '', more = ''): string => `apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: mesh}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: bad}
spec: {authority: mesh, dnsNames: [bad]${files}, reload: ${TELL}}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: good}
spec: {authority: mesh, dnsNames: [good], reload: ${TELL}}
${more}`;

const refusing = (code: string, verb: 'read' | 'write'): Files => {
  const refuse = (path: string): void => {
    if (path.includes('secrets/bad/..2') && path.endsWith('.key'))
      throw homeFileError(Object.assign(new Error(code), { code }), verb, path);
  };
  return {
    ...diskFiles,
    read: (path) => {
      if (verb === 'read') refuse(path);
      return diskFiles.read(path);
    },
    create: async (path, content, ownership) => {
      if (verb === 'write') refuse(path);
      return diskFiles.create(path, content, ownership);
    },
  };
};

/** A home, and the Leaves whose programs were told since it was opened. */
const open = (path: string, files: Files = diskFiles): { home: DirectoryHome; told: () => string[] } => {
  const log = join(path, 'told');
  const all = (): string[] => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  const before = all().length;
  return { home: directories.home(path, files), told: () => all().slice(before).sort() };
};

const pass = async ({ home }: { home: DirectoryHome }): Promise<string> => {
  const lock = await home.lock();
  try {
    await passOnce(home, home.load(), () => {});
    return 'done';
  } catch (error) {
    return (error as Error).message;
  } finally {
    await lock.release();
  }
};

const issued = (path: string): string[] => [...visible(path).chains.keys()].sort();
const without = (path: string, leaf: string): void =>
  rmSync(join(path, 'out/default/secrets', leaf), { recursive: true });

test('other leaves of the authority are issued while one leaf has a file that its owner made too large: it is restored', async () => {
  const path = directories.make(yaml());
  await pass(open(path));
  const file = join(path, 'out/default/secrets/bad/ca.crt');
  truncateSync(file, 5 * 1024 * 1024);
  without(path, 'good');
  const again = open(path);
  expect(await pass(again)).toBe('done');
  expect(again.told()).toContain('default/good');
  expect(visible(path).bundles.get('secrets/bad')).toBe(visible(path).bundles.get('secrets/good'));
});

test('other leaves of the authority are issued while one leaf cannot be read because its owner holds a lease on a file', async () => {
  const path = directories.make(yaml());
  await pass(open(path));
  without(path, 'good');
  const again = open(path, refusing('EAGAIN', 'read'));
  expect(await pass(again)).toMatch(/^default\/secrets\/bad: cannot read .*tls.key: system error EAGAIN/);
  expect(issued(path)).toEqual(['secrets/bad', 'secrets/good']);
  expect(again.told()).toEqual(['default/good']);
});

test('other leaves of the authority are issued while one leaf names an owner that does not exist, or no longer exists', async () => {
  const unknown = yaml(', files: {owner: nosuchuser}');
  for (const before of [undefined, yaml()]) {
    const path = directories.make(before ?? unknown);
    if (before !== undefined) {
      await pass(open(path));
      without(path, 'good');
      writeFileSync(join(path, 'mesh.yaml'), unknown);
    }
    const again = open(path);
    expect(await pass(again)).toMatch(/^default\/secrets\/bad: there is no user nosuchuser in /);
    expect(issued(path)).toContain('secrets/good');
    expect(again.told()).toContain('default/good');
  }
});

test('other leaves of the authority are issued while one leaf cannot be written', async () => {
  const path = directories.make(yaml());
  const again = open(path, refusing('EPERM', 'write'));
  expect(await pass(again)).toMatch(/^cannot write .*bad.*: not permitted; only root may give files/);
  expect(issued(path)).toEqual(['secrets/good']);
  expect(again.told()).toEqual(['default/good']);
});

test('other leaves of the authority are issued while one leaf or a bundle uses a name that handover reserves', async () => {
  const bundle = `---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: tb}
spec: {sources: [{authority: default/mesh}], targets: [{configMap: {name: x, key: .handover.json}}]}
`;
  const path = directories.make(yaml('', bundle));
  const again = open(path);
  expect(await pass(again)).toMatch(/^default\/configmaps\/x\/.handover.json: the name .handover.json is/);
  expect(again.told()).toEqual(['default/bad', 'default/good']);
});

test('a program is told to reload files that were deleted and written again', async () => {
  const path = directories.make(yaml());
  const home = open(path);
  await pass(home);
  without(path, 'good');
  await pass(home);
  expect(home.told().filter((id) => id === 'default/good')).toHaveLength(2);
});

test('an object that cannot be written is not reissued in each pass, until something changes', async () => {
  const path = directories.make(yaml());
  const again = open(path, refusing('EPERM', 'write'));
  for (let passes = 0; passes < 5; passes++) await pass(again);
  const log = join(path, 'state/log/issued.jsonl');
  const count = (): number =>
    Buffer.from(diskFiles.read(log) ?? [])
      .toString('utf8')
      .split('\n')
      .filter((line) => line.includes('"name":"bad"')).length;
  expect(count()).toBe(2);
  again.home.objects.tryAgain();
  await pass(again);
  expect(count()).toBeGreaterThan(2);
});

test('a failed write leaves no key behind', async () => {
  const path = directories.make(yaml());
  const folder = join(path, 'out/default/secrets/bad');
  const snapshots = (): string[] => readdirSync(folder).filter((name) => name.startsWith('..2'));
  const broken: Files = {
    ...diskFiles,
    create: async (file, content, ownership) => {
      await diskFiles.create(file, content, ownership);
      if (file.includes('secrets/bad/') && file.endsWith('.handover.json'))
        throw homeFileError(Object.assign(new Error(), { code: 'ENOSPC' }), 'write', file);
    },
  };
  const home = open(path, broken);
  expect(await pass(home)).toMatch(/the disk is full/);
  expect(snapshots()).toEqual([]);
  expect(await pass(open(path))).toBe('done');
  expect(snapshots()).toHaveLength(1);
  const unlinkable: Files = {
    ...diskFiles,
    rename: async (from, to) => {
      if (to === `${folder}/..data`)
        throw homeFileError(Object.assign(new Error(), { code: 'EIO' }), 'replace', to);
      return diskFiles.rename(from, to);
    },
  };
  writeFileSync(join(folder, 'tls.crt'), '');
  expect(await pass(open(path, unlinkable))).toMatch(/EIO/);
  expect(snapshots()).toHaveLength(1);
  expect(existsSync(join(folder, 'tls.key'))).toBe(true);
});

test('a write that fails for lack of space reaches status and a command beside the run, until it succeeds', async () => {
  const path = directories.make(yaml());
  const full: Files = {
    ...diskFiles,
    create: async (file, content, ownership) => {
      if (!file.includes('/state/lock'))
        throw homeFileError(Object.assign(new Error(), { code: 'ENOSPC' }), 'write', file);
      return diskFiles.create(file, content, ownership);
    },
  };
  expect(await pass(open(path))).toBe('done');
  writeFileSync(join(path, 'out/default/secrets/bad/tls.crt'), '');
  expect(await pass(open(path, full))).toMatch(/the disk is full/);
  const beside = async () => (await statusOf(open(path).home.fresh)).run;
  expect(await beside()).toMatchObject({
    pid: null,
    problems: [
      { code: 'OBJECT_OBSTACLE', message: expect.stringContaining('the disk is full; free some space') },
    ],
  });
  expect(await pass(open(path))).toBe('done');
  expect(await beside()).toMatchObject({ problems: [] });
});

test('files that their owner overwrites again and again stay as they are after the sixth time, until something changes', async () => {
  const path = directories.make(yaml());
  const home = open(path);
  await pass(home);
  const file = join(path, 'out/default/secrets/bad/tls.crt');
  const spoil = async (): Promise<string> => {
    writeFileSync(file, 'spoiled');
    return pass(home);
  };
  for (let time = 0; time < 6; time++) expect(await spoil()).toBe('done');
  without(path, 'good');
  expect(await spoil()).toMatch(/^default\/secrets\/bad: Contended: another program keeps changing/);
  expect(issued(path)).toEqual(['secrets/bad', 'secrets/good']);
  expect(visible(path).chains.get('secrets/bad')).toBe('spoiled');
  home.home.objects.tryAgain();
  expect(await pass(home)).toBe('done');
  expect(await pass(home)).toBe('done');
});
