import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
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
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { codeOf, Directories, loaded } from '../../../test/directories.ts';
import { converge, diskFiles, passOnce, runDirectory } from '../../index.ts';
import { ownIdentity } from './process-identity.ts';

const directories = new Directories();
afterAll(() => directories.end());
const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

const isRoot = process.getuid?.() === 0;
const canUnshare = isRoot && spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0;

describe.skipIf(!canUnshare)(
  'Two containers with one hostname (needs root, and unshare of util-linux)',
  () => {
    beforeAll(() => {
      const tsc = path('../../../../../node_modules/typescript/bin/tsc');
      expect(spawnSync(process.execPath, [tsc, '-b', path('../../..')]).status).toBe(0);
    }, 120_000);

    const STALE_MS = 1_500;
    /** Longer than a busy machine keeps a process from its next beat: a holder that is late for longer loses the lock rightly. */
    const LONG_MS = 600_000;
    interface Holder {
      readonly child: ChildProcess;
      readonly said: () => string;
      readonly says: (what: string) => Promise<void>;
      /** Its pid in our namespace. */
      readonly pid: () => number;
    }
    /** A process in a pid namespace of its own, where it has pid 1, as in a container. */
    const contained = (home: string, name: string, most: number, staleMs = STALE_MS): Holder => {
      const child = spawn(
        'unshare',
        [
          '--pid',
          '--fork',
          '--kill-child',
          '--mount-proc',
          process.execPath,
          path('../../../test/lock-holder.mjs'),
        ].concat([home, name, '100', String(staleMs), String(most)]),
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      onTestFinished(() => void child.kill('SIGKILL'));
      let said = '';
      const heard: (() => void)[] = [];
      child.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        for (const hear of heard.splice(0)) hear();
      });
      child.on('close', () => {
        for (const hear of heard.splice(0)) hear();
      });
      return {
        child,
        said: () => said,
        says: async (what) => {
          while (!said.includes(what)) {
            if (child.exitCode !== null) expect.fail(`${name} ended, saying ${said}`);
            await new Promise<void>((hear) => heard.push(hear));
          }
        },
        pid: () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim()),
      };
    };
    const written = (home: string): string =>
      readFileSync(join(home, 'out/default/secrets/x/ca.crt'), 'utf8');

    test('do not both run: the error says that the first runs elsewhere, and what to do', async () => {
      const home = directories.make();
      const first = contained(home, 'first', 1_000_000, LONG_MS);
      await first.says('wrote');
      const second = contained(home, 'second', 1, LONG_MS);
      await second.says('\n');
      expect(second.said()).toMatch(
        new RegExp(
          `^HOME_LOCKED: process 1 in another container or on another machine \\(host ${hostname()}\\) runs on this directory, last seen \\d+ s ago; ` +
            `stop it; if it no longer exists, wait until it has not been seen for 600 s, or remove ${home}/state/lock\n$`,
        ),
      );
      expect(written(home)).toMatch(/^first /);
    });

    test('a process that was paused for too long loses the lock, and writes nothing when it resumes', async () => {
      for (let round = 0; round < 3; round++) {
        const home = directories.make();
        const first = contained(home, 'first', 1_000_000);
        await first.says('wrote');
        process.kill(first.pid(), 'SIGSTOP');
        const lock = join(home, 'state/lock');
        while (Date.now() - statSync(lock).mtimeMs <= STALE_MS)
          await new Promise((resolve) => setTimeout(resolve, 50));
        const second = contained(home, 'second', 5);
        await second.says('done');
        const folder = join(home, 'out/default/secrets/x');
        const before = statSync(folder).mtimeMs;
        process.kill(first.pid(), 'SIGCONT');
        const [code] = (await once(first.child, 'close')) as [number];
        expect(first.said()).toMatch(/HOME_LOCK_LOST: .*\n$/);
        expect(code).toBe(1);
        expect(written(home)).toBe('second 5');
        expect(statSync(folder).mtimeMs).toBe(before);
        expect(readFileSync(lock, 'utf8')).toContain('"pid":1');
        second.child.kill('SIGKILL');
      }
    });
  },
);

describe('A lock', () => {
  const lockOf = (home: string) => join(home, 'state/lock');
  const stolen = { pid: 1, started: '1', host: 'elsewhere', boot: 'b', pidNamespace: 'n', token: 'theirs' };
  /** What another machine does when it considers us dead. */
  const steal = (home: string): void => {
    writeFileSync(`${lockOf(home)}.new`, JSON.stringify(stolen));
    renameSync(`${lockOf(home)}.new`, lockOf(home));
  };

  test('that was lost stops a run at once with its own error, and stays with the new holder', async () => {
    const directory = directories.make();
    const home = directories.home(directory);
    const lock = await home.lock();
    await passOnce(home, home.load(), () => {});
    const before = readFileSync(join(directory, 'state/authorities/default/mesh.json'), 'utf8');
    steal(directory);
    await home.requests.ask({ authority: 'default/mesh', rotate: 'r' });
    const says = await codeOf(() => runDirectory(home, () => {}, AbortSignal.timeout(20_000)));
    expect(says).toMatch(
      /^HOME_LOCK_LOST: lost the lock .*state\/lock .*; make sure that only one process runs on this directory$/,
    );
    expect(await codeOf(() => converge(loaded(home), 'default/mesh'))).toMatch(/^HOME_LOCK_LOST/);
    expect(readFileSync(join(directory, 'state/authorities/default/mesh.json'), 'utf8')).toBe(before);
    await lock.release();
    expect(readFileSync(lockOf(directory), 'utf8')).toContain('theirs');
  });

  test('that was lost is the error of a write that fails because its new holder cleared away', async () => {
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

  test('that was removed by hand counts as lost', async () => {
    const directory = directories.make();
    const home = directories.home(directory);
    const lock = await home.lock();
    renameSync(lockOf(directory), `${directory}/aside`);
    expect(await codeOf(() => converge(loaded(home), 'default/mesh'))).toMatch(/^HOME_LOCK_LOST/);
    expect(existsSync(join(directory, 'out/default'))).toBe(false);
    await lock.release();
  });

  test('is touched by its holder, and by no other process', async () => {
    const directory = directories.make();
    const home = directories.home(directory, undefined, { lock: { beatMs: 20, staleMs: 60_000 } });
    const lock = await home.lock();
    const old = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000); // file systems round
    utimesSync(lockOf(directory), old, old);
    while (statSync(lockOf(directory)).mtimeMs === old.getTime())
      await new Promise((resolve) => setTimeout(resolve, 5));
    steal(directory);
    utimesSync(lockOf(directory), old, old);
    await new Promise((resolve) => setTimeout(resolve, 100)); // five beats that must not happen
    expect(statSync(lockOf(directory)).mtimeMs).toBe(old.getTime());
    await lock.release();
  });

  test.each([
    ['another machine', { ...stolen }],
    ['this machine before a reboot', { ...ownIdentity(), boot: 'before', started: '1' }],
    ['another container', { ...ownIdentity(), pidNamespace: 'pid:[1]', started: '1' }],
    ['a version that wrote fewer fields', { pid: process.pid, started: '1', host: hostname() }],
  ])(
    'of %s is respected while it is fresh, and taken over a minute after its last touch',
    async (_name, holder) => {
      const directory = directories.make();
      mkdirSync(join(directory, 'state'), { mode: 0o700 });
      writeFileSync(lockOf(directory), JSON.stringify(holder));
      expect(await codeOf(() => directories.home(directory).lock())).toMatch(
        /^HOME_LOCKED: process \d+ in another container or on another machine .* remove .*state\/lock$/,
      );
      const silent = new Date(Date.now() - 61_000);
      utimesSync(lockOf(directory), silent, silent);
      const lock = await directories.home(directory).lock();
      await lock.release();
    },
  );
});

describe('One process at a time', () => {
  test('the second process is refused, and the error names the pid of the first', async () => {
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

  test('the lock of a dead process, also one whose pid was reused, is taken over', async () => {
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
