// Against: real processes in pid namespaces of their own.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Directories } from '../../../test/directories.ts';

const directories = new Directories();
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

    test('Two containers with one hostname do not both run: the error says that the first runs elsewhere, and what to do', async () => {
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
      const home = directories.make();
      // It is paused between two writes: one that is under way ends in its own way.
      const waits = join(home, 'first-waits');
      writeFileSync(waits, '');
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
      rmSync(waits);
      process.kill(first.pid(), 'SIGCONT');
      const [code] = (await once(first.child, 'close')) as [number];
      expect(first.said()).toMatch(/HOME_LOCK_LOST: .*\n$/);
      expect(code).toBe(1);
      expect(written(home)).toBe('second 5');
      expect(statSync(folder).mtimeMs).toBe(before);
      expect(readFileSync(lock, 'utf8')).toContain('"pid":1');
    });
  },
);
