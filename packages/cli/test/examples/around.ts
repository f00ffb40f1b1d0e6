import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
export const BIN = path('../../bin/handover.js');
export const examplePath = (name: string): string => path(`../../../../examples/${name}`);
export const example = (name: string): string => readFileSync(examplePath(name), 'utf8');

const children: ChildProcess[] = [];
const directories: string[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  }
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** A program that ends with the test. */
export const started = (child: ChildProcess): ChildProcess => {
  children.push(child);
  return child;
};

export const directory = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'handover-example-'));
  chmodSync(made, 0o755);
  directories.push(made);
  return made;
};

export const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
};

/** Runs the built command to its end. */
export const handover = async (...args: readonly string[]): Promise<{ code: number; stdout: string }> => {
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
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
