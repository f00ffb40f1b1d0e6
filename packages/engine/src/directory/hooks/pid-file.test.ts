import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  lchownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Directories } from '../../../test/directories.ts';
import { diskFiles, type Hook } from '../../index.ts';
import { inProcessFiles } from '../disk/untrusted-files.ts';
import { runHook } from './hook-ways.ts';
import { processIn } from './pid-file.ts';
import { ProcessGroups } from './process-group.ts';

const me = process.getuid?.() ?? 0;
const SERVICE = 65_534;
const THIRD = 1_234;
const scratch = temporaryFolder();
chmodSync(scratch, 0o755);
const programs: ChildProcess[] = [];
const directories = new Directories();
afterAll(() => {
  for (const program of programs) program.kill('SIGKILL');
});

const programOf = async (uid: number): Promise<number> => {
  const as = uid === me ? {} : { uid, gid: uid };
  const program = spawn(process.execPath, ['-e', "process.stdin.resume(); console.log('up')"], {
    cwd: '/',
    ...as,
  });
  programs.push(program);
  await once(program.stdout, 'data');
  return program.pid ?? 0;
};

let files = 0;
/** A pid file in a folder, both of the given owner. */
const pidFile = (pid: number | string, owner = me, mode = 0o644): string => {
  const folder = join(scratch, `f${++files}`);
  mkdirSync(folder, { mode: 0o755 });
  const path = join(folder, 'pid');
  writeFileSync(path, `${pid}\nmore\n`);
  chmodSync(path, mode);
  if (owner !== me) for (const made of [path, folder]) chownSync(made, owner, owner);
  return path;
};

const said = async (path: string): Promise<string> => {
  try {
    return `signals ${await processIn(inProcessFiles(directories.clock), path, me)}`;
  } catch (error) {
    if (error instanceof HandoverError) return `${error.code}: ${error.message}`;
    throw error;
  }
};

describe.skipIf(me !== 0 || process.platform !== 'linux')(
  'A pid file of a service (needs root on Linux)',
  () => {
    let ofRoot: number;
    let ofService: number;
    let ofThird: number;
    beforeAll(async () => {
      [ofRoot, ofService, ofThird] = (await Promise.all([0, SERVICE, THIRD].map(programOf))) as [
        number,
        number,
        number,
      ];
    });

    test('A pid file of a service names a process of that service', async () => {
      expect(await said(pidFile(ofService, SERVICE))).toBe(`signals ${ofService}`);
    });

    test('A pid file of a service cannot name a process of root or of a third user', async () => {
      for (const pid of [ofRoot, ofThird])
        expect(await said(pidFile(pid, SERVICE))).toMatch(
          new RegExp(`^PID_FILE_REFUSED: .* belongs to user 65534, and process ${pid} to user (0|1234);`),
        );
    });

    test('A pid file of root, which only root can write, names any process', async () => {
      for (const pid of [ofRoot, ofService]) expect(await said(pidFile(pid))).toBe(`signals ${pid}`);
    });

    test('A pid file of root in a folder of the service is refused: the service could have put it there', async () => {
      const path = pidFile(ofRoot);
      chownSync(join(path, '..'), SERVICE, SERVICE);
      expect(await said(path)).toMatch(/^PID_FILE_REFUSED: .*f\d+ belongs to user 65534/);
    });

    test('A pid file of root that a link of the service leads to is refused', async () => {
      const original = pidFile(ofRoot);
      const theirs = join(pidFile(ofService, SERVICE), '..');
      symlinkSync(join(original, '..'), join(theirs, 'run'));
      lchownSync(join(theirs, 'run'), SERVICE, SERVICE);
      expect(await said(join(theirs, 'run/pid'))).toMatch(/^PID_FILE_REFUSED: .* belongs to user 65534/);
    });

    test('A pid file of the service that a link of a third user leads to is refused', async () => {
      const original = pidFile(ofService, SERVICE);
      const theirs = join(pidFile(ofThird, THIRD), '..');
      symlinkSync(join(original, '..'), join(theirs, 'run'));
      lchownSync(join(theirs, 'run'), THIRD, THIRD);
      expect(await said(join(theirs, 'run/pid'))).toMatch(/^PID_FILE_REFUSED: .* belongs to user 1234/);
    });

    test('A pid file of a service that is replaced before its path is checked is refused', async () => {
      const path = pidFile(ofRoot);
      const other = pidFile(ofRoot);
      const swapping: typeof diskFiles = {
        ...diskFiles,
        facts: (at) => {
          if (at === path) renameSync(other, path);
          return diskFiles.facts(at);
        },
      };
      await expect(processIn(inProcessFiles(directories.clock, swapping), path, me)).rejects.toThrow(
        /was replaced while handover read it/,
      );
    });

    test('A pid file of a service with a relative path is read and checked in the home', async () => {
      const path = pidFile(ofRoot, SERVICE);
      const home = directories.home(directories.make(), undefined, { uid: me });
      mkdirSync(join(home.path, 'app'));
      for (const name of ['app/pid', 'app']) {
        if (name === 'app/pid') cpSync(path, join(home.path, name));
        chownSync(join(home.path, name), SERVICE, SERVICE);
      }
      const hook: Hook = {
        name: 'Leaf default/a',
        reload: { signal: { pidFile: 'app/pid', signal: 'SIGTERM' } },
        objects: [],
        authorities: [],
      };
      const hookTools = {
        clock: directories.clock,
        files: diskFiles,
        far: inProcessFiles(directories.clock),
        cwd: home.path,
        uid: me,
        groups: new ProcessGroups(),
      };
      expect(await runHook(hookTools, hook, {}, new AbortController().signal)).toEqual({
        result: 'no_process',
        message: expect.stringContaining(
          `pid file ${home.path}/app/pid belongs to user 65534, and process ${ofRoot} to user 0`,
        ),
      });
    });

    test('A pid file of root that the service can write, or that has a second hard link or is a link, is refused', async () => {
      expect(await said(pidFile(ofRoot, 0, 0o666))).toMatch(/^PID_FILE_REFUSED: .* chmod go-w /);
      expect(await said(pidFile(ofService, SERVICE, 0o664))).toMatch(/^PID_FILE_REFUSED: .* chmod go-w /);
      const original = pidFile(ofRoot);
      const second = join(original, '../second');
      linkSync(original, second);
      expect(await said(second)).toMatch(/^PID_FILE_REFUSED: .* has a second hard link/);
      const link = join(original, '../link');
      symlinkSync(pidFile(ofRoot), link);
      expect(await said(link)).toMatch(/^PID_FILE_REFUSED: .* is a link/);
    });

    const kernelThread = readdirSync('/proc').find((name) => {
      if (!/^\d+$/.test(name)) return false;
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
        return (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[6]) & 0x0020_0000) !== 0;
      } catch {
        return false;
      }
    });
    test.skipIf(kernelThread === undefined)(
      'A pid file of a service cannot name a kernel thread (needs one in /proc)',
      async () => {
        expect(await said(pidFile(Number(kernelThread)))).toMatch(/^PID_FILE_REFUSED: .* a kernel thread/);
      },
    );
  },
);

test.each([
  ['1', 'init'],
  [String(process.pid), 'handover itself'],
  ['0', 'holds no pid'],
  ['-1', 'holds no pid'],
  ['-9', 'holds no pid'],
  ['1e3', 'holds no pid'],
  ['99999999999', 'holds no pid'],
  ['', 'holds no pid'],
  ['4194305', 'is not running'],
])('a pid file with %j signals no process', async (text, why) => {
  expect(await said(pidFile(text))).toMatch(new RegExp(`^PID_FILE_REFUSED: no signal was sent: .*${why}`));
});

test('a missing pid file is named', async () => {
  expect(await said(join(scratch, 'none'))).toMatch(/^PID_FILE_REFUSED: .*none does not exist/);
});
