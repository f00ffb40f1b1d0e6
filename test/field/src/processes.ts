import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const HANDOVER = fileURLToPath(new URL('../../../packages/cli/bin/handover.js', import.meta.url));

export interface Program {
  readonly child: ChildProcess;
  /** The end of its output so far. */
  said(): string;
  stop(): Promise<void>;
}

/** A program that ends with the test. */
export const startProgram = (command: string, args: readonly string[]): Program => {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const hear = (chunk: Buffer): void => {
    said = (said + chunk.toString()).slice(-20_000);
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const ended = once(child, 'close');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  onTestFinished(stop);
  return { child, said: () => said, stop };
};

export const startHandover = (...args: readonly string[]): Program =>
  startProgram(process.execPath, [HANDOVER, ...args]);

/** `handover …` to its end. */
export const handover = async (
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> => {
  const child = spawn(process.execPath, [HANDOVER, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
};
