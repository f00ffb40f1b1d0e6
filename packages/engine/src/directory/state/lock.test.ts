import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codeOf, Directories, loaded } from '../../../test/directories.ts';
import { converge, diskFiles, passOnce, runDirectory } from '../../index.ts';
import { ownIdentity } from './process-identity.ts';

const directories = new Directories();
const { clock } = directories;

describe('A lock', () => {
  const lockOf = (home: string) => join(home, 'state/lock');
  const stolen = { pid: 1, started: '1', host: 'elsewhere', boot: 'b', pidNamespace: 'n', token: 'theirs' };
  /** What another machine does when it considers us dead. */
  const steal = (home: string): void => {
    writeFileSync(`${lockOf(home)}.new`, JSON.stringify(stolen));
    renameSync(`${lockOf(home)}.new`, lockOf(home));
  };

  /** Says when the lock was last touched, in milliseconds before now. */
  const touch = (home: string, silentMs: number): void => {
    const at = new Date(clock.now() - silentMs);
    utimesSync(lockOf(home), at, at);
  };

  test('A lock that was lost stops a run at once with its own error, and stays with the new holder', async () => {
    const directory = directories.make();
    const home = directories.home(directory);
    const lock = await home.lock();
    await passOnce(home, home.load(), () => {});
    const before = readFileSync(join(directory, 'state/authorities/default/mesh.json'), 'utf8');
    steal(directory);
    await home.requests.ask({ authority: 'default/mesh', rotate: 'r' });
    const says = await codeOf(() =>
      clock.during(
        runDirectory(home, () => {}, new AbortController().signal),
        20_000,
      ),
    );
    expect(says).toMatch(
      /^HOME_LOCK_LOST: lost the lock .*state\/lock .*; make sure that only one process runs on this directory$/,
    );
    expect(await codeOf(() => converge(loaded(home), 'default/mesh'))).toMatch(/^HOME_LOCK_LOST/);
    expect(readFileSync(join(directory, 'state/authorities/default/mesh.json'), 'utf8')).toBe(before);
    await lock.release();
    expect(readFileSync(lockOf(directory), 'utf8')).toContain('theirs');
  });

  test('A lock that was lost is the error of a write that fails because its new holder cleared away', async () => {
    const directory = directories.make();
    let isHeld = false;
    const home = directories.home(directory, {
      ...diskFiles,
      create: async (path, ...rest) => {
        if (!isHeld) return diskFiles.create(path, ...rest);
        steal(directory);
        throw Object.assign(new Error('ENOENT'), { code: 'ENOENT', path });
      },
    });
    const lock = await home.lock();
    isHeld = true;
    expect(await codeOf(() => converge(loaded(home), 'default/mesh'))).toMatch(/^HOME_LOCK_LOST/);
    await lock.release();
  });

  test('A lock that was removed by hand counts as lost', async () => {
    const directory = directories.make();
    const home = directories.home(directory);
    const lock = await home.lock();
    renameSync(lockOf(directory), `${directory}/aside`);
    expect(await codeOf(() => converge(loaded(home), 'default/mesh'))).toMatch(/^HOME_LOCK_LOST/);
    expect(existsSync(join(directory, 'out/default'))).toBe(false);
    await lock.release();
  });

  test('A lock is touched by its holder, and by no other process', async () => {
    const directory = directories.make();
    const home = directories.home(directory, undefined, { lock: { beatMs: 20, staleMs: 60_000 } });
    const lock = await home.lock();
    // File systems round.
    const silentMs = (): number => clock.now() - statSync(lockOf(directory)).mtimeMs;
    expect(silentMs()).toBeCloseTo(0, 1);
    await clock.advance(19);
    expect(silentMs()).toBeCloseTo(19, 1);
    await clock.advance(1);
    expect(silentMs()).toBeCloseTo(0, 1);
    steal(directory);
    touch(directory, 0);
    await clock.advance(100);
    expect(silentMs()).toBeCloseTo(100, 1);
    await lock.release();
  });

  test.each([
    ['another machine', { ...stolen }],
    ['this machine before a reboot', { ...ownIdentity(), boot: 'before', started: '1' }],
    ['another container', { ...ownIdentity(), pidNamespace: 'pid:[1]', started: '1' }],
    ['a version that wrote fewer fields', { pid: process.pid, started: '1', host: hostname() }],
  ])(
    'A lock of %s is respected while it is fresh, and taken over a minute after its last touch',
    async (_name, holder) => {
      const directory = directories.make();
      mkdirSync(join(directory, 'state'), { mode: 0o700 });
      writeFileSync(lockOf(directory), JSON.stringify(holder));
      touch(directory, 59_000);
      expect(await codeOf(() => directories.home(directory).lock())).toMatch(
        /^HOME_LOCKED: process \d+ in another container or on another machine \(host .+\) .* last seen 59 s ago; .* remove .*state\/lock$/,
      );
      await clock.advance(2_000);
      const lock = await directories.home(directory).lock();
      await lock.release();
    },
  );
});

test('a second process on a directory is refused, and the error names the pid of the first', async () => {
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

test('the lock of a dead process, also one whose pid was reused, is taken over by the next', async () => {
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
