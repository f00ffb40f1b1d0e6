import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PROGRAM, temporaryFolder } from '@handover/test-api-server';
import { expect, onTestFinished } from 'vitest';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** The command that users run is built from dist. */
export const build = (): void => {
  const tsc = path('../../../node_modules/typescript/bin/tsc');
  expect(spawnSync(process.execPath, [tsc, '-b', path('..')]).status).toBe(0);
};

export const isRoot = process.getuid?.() === 0;
/** A user without any rights; most systems name this uid `nobody`. */
export const NOBODY = 65_534;

/** A folder of the test's own below a sticky one, owned by `uid`. */
export const folder = (uid = process.getuid?.() ?? 0, mode = 0o755): string => {
  const made = temporaryFolder();
  chmodSync(made, mode);
  if (isRoot) chownSync(made, uid, uid);
  return made;
};

/** Five times what a run takes at most to end after a signal. */
export const SOON_MS = 25_000;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  said(): string;
  /** Waits for its end; fails after this long. The process has ended in both cases. */
  ended(withinMs: number): Promise<Ended>;
}

/** Starts a real process of `handover`, as another user if asked for. */
export const start = (args: readonly string[], uid?: number): Running => startOf(PROGRAM, args, uid);

/** The same with another build of it. */
export const startOf = (program: string, args: readonly string[], uid?: number): Running => {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: '/',
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const end = once(child, 'close');
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    child,
    said: () => stdout + stderr,
    ended: async (withinMs) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), withinMs);
      const [code, signal] = (await end) as [number | null, NodeJS.Signals | null];
      clearTimeout(timer);
      if (signal === 'SIGKILL')
        expect.fail(`it did not end within ${withinMs} ms, saying: ${stdout}${stderr}`);
      return { code, signal, stdout, stderr };
    },
  };
};

export const handoverAs = (args: readonly string[], uid?: number): Promise<Ended> =>
  start(args, uid).ended(30_000);

/** Waits until it is true; else the test fails. */
export const eventually = async (what: string, isSo: () => boolean, withinMs = 15_000): Promise<void> => {
  const end = performance.now() + withinMs;
  while (!isSo()) {
    if (performance.now() > end) expect.fail(`${what} did not happen within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
};
