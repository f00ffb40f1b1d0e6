import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PROGRAM, temporaryFolder } from '@handover/test-api-server';
import { afterEach } from 'vitest';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
export const examplePath = (name: string): string => path(`../../../../examples/${name}`);
export const example = (name: string): string => readFileSync(examplePath(name), 'utf8');

const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  }
});

/** A program that ends with the test. */
export const started = (child: ChildProcess): ChildProcess => {
  children.push(child);
  return child;
};

/** A folder that every user may read. */
export const directory = (): string => {
  const made = temporaryFolder();
  chmodSync(made, 0o755);
  return made;
};

/** Runs the built command to its end. */
export const handover = async (...args: readonly string[]): Promise<{ code: number; stdout: string }> => {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, stdout };
};

/** Rotates twice, or once for each of `ids`, while repeating `call`; returns every problem that it found. */
export const rotatedTwice = async (
  dir: string,
  call: () => Promise<string | undefined>,
  ids: readonly string[] = ['one', 'two'],
): Promise<{ codes: readonly number[]; calls: number; problems: readonly string[] }> => {
  const problems: string[] = [];
  let calls = 0;
  const stop = new AbortController();
  const calling = (async () => {
    while (!stop.signal.aborted) {
      const problem = await call();
      calls++;
      if (problem !== undefined) problems.push(problem);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const codes: number[] = [];
  for (const id of ids)
    codes.push((await handover('rotate', 'internal', '--id', id, '--wait', '--home', `dir:${dir}`)).code);
  // Also catches a failure of a program that is slow to load the last change.
  const soFar = calls;
  while (calls < soFar + 3) await new Promise((resolve) => setTimeout(resolve, 50));
  stop.abort();
  await calling;
  return { codes, calls, problems };
};
