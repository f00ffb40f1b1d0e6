import { spawnSync } from 'node:child_process';
import { PROGRAM } from '@handover/test-api-server';
import { beforeAll, expect, test } from 'vitest';
import { build } from '../test/real-process.ts';

beforeAll(build, 120_000);

/** Standard input that never comes and keeps no process alive: `inspect -` waits for it, and the event loop is empty. */
const NEVER = `data:text/javascript,${encodeURIComponent(
  'Object.defineProperty(process, "stdin", { value: { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) } });',
)}`;
const inspected = (...flags: string[]) =>
  spawnSync(process.execPath, ['--import', NEVER, PROGRAM, 'inspect', ...flags, '-'], { encoding: 'utf8' });
const MESSAGE =
  'the command stopped waiting before it had ended; this is a bug in handover; please report it with the command you ran';

test('a process that ends before its command exits 70 with one line, and does not report success', () => {
  expect(inspected()).toMatchObject({ status: 70, stdout: '', stderr: `UNFINISHED: ${MESSAGE}\n` });
});

test('a process that ends before its command with --json prints its error as JSON', () => {
  const { status, stderr } = inspected('--json');
  expect(status).toBe(70);
  expect(JSON.parse(stderr)).toEqual({ error: { code: 'UNFINISHED', message: MESSAGE } });
});
