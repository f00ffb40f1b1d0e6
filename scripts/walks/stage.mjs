// What the four walks have in common: a folder, programs that are walked, and waits with an end.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PRELOAD = new URL('preload.mjs', import.meta.url).href;
export const HANDOVER = fileURLToPath(new URL('../../packages/cli/bin/handover.js', import.meta.url));

export class Stage {
  folder = mkdtempSync(join(tmpdir(), 'handover-walk-'));
  #ends = [];

  /** Ends with the stage, last one first. */
  after(end) {
    this.#ends.unshift(end);
  }

  /** A Node program that can be walked. */
  program(...command) {
    const file = join(this.folder, `walk-${this.#ends.length}.json`);
    const child = spawn(process.execPath, ['--import', PRELOAD, ...command], {
      stdio: 'pipe',
      env: { ...process.env, WALK_FILE: file, NODE_NO_WARNINGS: '1' },
    });
    child.stderr.resume();
    this.after(() => child.kill('SIGKILL'));
    return { child, file };
  }

  /** Every function that the program runs during `work`. */
  async walk({ child, file }, work) {
    rmSync(file, { force: true });
    child.kill('SIGUSR2');
    await sleep(300);
    await work();
    child.kill('SIGUSR2');
    await this.until(() => existsSync(file), 10, 'the functions that ran');
    return JSON.parse(readFileSync(file, 'utf8'));
  }

  async until(look, seconds, what) {
    for (const end = Date.now() + seconds * 1_000; Date.now() < end; await sleep(20)) {
      const found = await look();
      if (found) return found;
    }
    throw new Error(`waited ${seconds} s in vain for ${what}`);
  }

  async end() {
    for (const end of this.#ends) await end();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Other work of a program runs now and then: the shortest of several walks has none of it. */
export const shortest = async (times, walk) => {
  const walks = [];
  for (let left = times; left > 0; left--) walks.push(await walk());
  const length = (ran) => ran.reduce((sum, { functions }) => sum + functions.length, 0);
  return walks.sort((a, b) => length(a) - length(b))[0];
};
