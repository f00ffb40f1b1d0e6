import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Directories, loaded } from '../../../test/directories.ts';
import { MESH } from '../../../test/world.ts';
import {
  type AuthorityOutcome,
  type ControllerEvent,
  converge,
  diskFiles,
  type Files,
  passOnce,
} from '../../index.ts';
import { CopyNotes } from './copy-notes.ts';

const directories = new Directories();

const pass = async (path: string, files?: Files): Promise<AuthorityOutcome> => {
  const home = directories.home(path, files);
  const lock = await home.lock();
  try {
    return await converge(loaded(home), 'default/mesh');
  } finally {
    await lock.release();
  }
};
const WANTED = MESH.replace(
  'dnsNames: [a.local]',
  'dnsNames: [a.local], outputs: [{name: web.pem, format: combined, file: {path: etc/web.pem}}]',
);
const made = (): string => {
  const home = directories.make(WANTED);
  mkdirSync(join(home, 'etc'), { mode: 0o755 });
  return home;
};
const here = (home: string): string => readFileSync(join(home, 'etc/web.pem'), 'utf8');
const folder = (home: string, name = 'a'): string => join(home, 'out/default/secrets', name);
const obstacles = ({ observation }: AuthorityOutcome): readonly string[] =>
  observation.seen.objects.flatMap(({ obstacle }) => (obstacle === undefined ? [] : [String(obstacle)]));

/** A disk on which nothing happens any more once the copy has been renamed into its place: the process was killed there. */
const killedAfterCopy = (): Files => {
  let isDead = false;
  const dead = <A extends unknown[], R>(work: (...given: A) => Promise<R>) => {
    return async (...given: A): Promise<R> => (isDead ? new Promise<R>(() => {}) : work(...given));
  };
  return {
    ...diskFiles,
    create: dead(diskFiles.create),
    symlink: dead(diskFiles.symlink),
    remove: dead(diskFiles.remove),
    sync: dead(diskFiles.sync),
    rename: dead(async (from, to) => {
      await diskFiles.rename(from, to);
      if (to.endsWith('/etc/web.pem')) isDead = true;
    }),
  };
};

test('a copy whose writer was killed before it wrote the record is taken for handover’s own', async () => {
  const home = made();
  void pass(home, killedAfterCopy());
  await expect.poll(() => readdirSync(join(home, 'etc')), { timeout: 10_000 }).toEqual(['web.pem']);
  rmSync(join(home, 'state/lock'), { recursive: true, force: true });
  const outcome = await pass(home);
  expect(obstacles(outcome)).toEqual([]);
  expect(here(home)).toBe(readFileSync(join(folder(home), 'web.pem'), 'utf8'));
});

test('a copy is taken for handover’s own after the folder of its object is gone, and after its Leaf has another name', async () => {
  const home = made();
  await pass(home);
  rmSync(folder(home), { recursive: true });
  expect(obstacles(await pass(home))).toEqual([]);
  expect(here(home)).toBe(readFileSync(join(folder(home), 'web.pem'), 'utf8'));
  writeFileSync(join(home, 'mesh.yaml'), WANTED.replace('{name: a}', '{name: c}'));
  expect(obstacles(await pass(home))).toEqual([]);
  expect(here(home)).toBe(readFileSync(join(folder(home, 'c'), 'web.pem'), 'utf8'));
});

test('a file of another program in the place of a copy whose folder is gone is refused, and stays', async () => {
  const home = made();
  await pass(home);
  rmSync(folder(home), { recursive: true });
  writeFileSync(join(home, 'etc/web.pem'), 'theirs');
  expect(obstacles(await pass(home))).toEqual([expect.stringContaining('handover did not write this file')]);
  expect(here(home)).toBe('theirs');
});

test('the digest of a copy is noted where only its owner reads it', async () => {
  const home = made();
  await pass(home);
  const [note = '', ...others] = readdirSync(join(home, 'state/copies'));
  expect(others).toEqual([]);
  expect((statSync(join(home, 'state/copies', note)).mode & 0o777).toString(8)).toBe('600');
  expect(readFileSync(join(home, 'state/copies', note), 'utf8')).not.toContain('PRIVATE');
});

test('a file of another program at a path that handover wrote before is kept before it is replaced, and named', async () => {
  const path = made();
  await pass(path);
  // While handover is stopped another program takes the place, with a key of its own.
  rmSync(join(path, 'etc/web.pem'));
  writeFileSync(join(path, 'etc/web.pem'), 'precious', { mode: 0o640 });
  const home = directories.home(path);
  const events: ControllerEvent[] = [];
  const lock = await home.lock();
  await passOnce(home, home.load(), (event) => events.push(event)).finally(() => lock.release());
  expect(here(path)).toBe(readFileSync(join(folder(path), 'web.pem'), 'utf8'));
  const [kept, ...more] = readdirSync(join(path, 'state/copies/replaced'));
  expect(more).toEqual([]);
  const at = join(path, 'state/copies/replaced', kept ?? '');
  expect(readFileSync(at, 'utf8')).toBe('precious');
  expect((statSync(at).mode & 0o777).toString(8)).toBe('600');
  expect(events.filter(({ kind }) => kind === 'repaired')).toEqual([
    {
      kind: 'repaired',
      object: 'default/secrets/a',
      manager: undefined,
      kept: [`${join(path, 'etc/web.pem')} is kept as ${at}`],
    },
  ]);
});

test('at most eight files of a program that fights for a path are kept, and each of them once', async () => {
  const path = directories.make();
  const notes = new CopyNotes(diskFiles, join(path, 'state/copies'));
  const file = join(path, 'web.pem');
  for (let turn = 0; turn < 20; turn++) {
    writeFileSync(file, `turn ${turn % 10}`);
    await notes.keep(file);
  }
  expect(readdirSync(join(path, 'state/copies/replaced'))).toHaveLength(8);
  await notes.note(file, Buffer.from('ours'));
  writeFileSync(file, 'ours');
  notes.takeKept([file]);
  await notes.keep(file);
  expect(notes.takeKept([file])).toEqual([]);
});
