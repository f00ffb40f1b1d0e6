import { expect, test } from 'vitest';
import { EXCEPTIONS, idleExceptions, realTimeIn } from './real-time.mjs';

const SOURCE = 'packages/engine/src/snapshot/some-file.ts';
const lines = (text, path = SOURCE) => realTimeIn(path, text).map(({ line }) => line);

test.each([
  'const timer = setTimeout(end, 10);',
  'const timer = setInterval(look, 10);',
  'const began = Date.now();',
  'const name = new Date().toISOString();',
  'const began = performance.now();',
  'fetch(url, { signal: AbortSignal.timeout(10) });',
  "import { setTimeout as pause } from 'node:timers/promises';",
  "import * as timers from 'timers';",
  'const began = process.hrtime.bigint();',
])('the check of real time finds it in: %s', (line) => {
  expect(lines(`// a file\n${line}\n`)).toEqual([2]);
});

test.each([
  'socket.setTimeout(0);',
  "import { setImmediate } from 'node:timers';",
  'this.#clock.after(10, end);',
  'const at = new Date(now).toISOString();',
  '// setTimeout fires at once for anything longer.',
  ' * by `performance.now()`',
  'call(); // not Date.now()',
])('the check of real time finds none in: %s', (line) => {
  expect(lines(line)).toEqual([]);
});

test('the check of real time finds waits of unit tests', () => {
  const text = 'const began = Date.now();\nawait new Promise((tick) => setTimeout(tick, 100));';
  expect(lines(text, 'packages/engine/src/a.test.ts')).toEqual([2]);
  expect(lines(text, 'packages/engine/src/a.system.test.ts')).toEqual([]);
});

test('the check of real time finds polls of unit tests, but for those of the runtime, whose files and sockets are the kernel’s', () => {
  const poll = "await eventually(() => said.includes('ready'));";
  expect(lines(poll, 'packages/cli/src/a.test.ts')).toEqual([1]);
  expect(lines(poll, 'packages/runtime/src/a.test.ts')).toEqual([]);
  expect(lines(poll, 'packages/cli/src/a.system.test.ts')).toEqual([]);
  const until = 'await eventually(() => socket.destroyed || Date.now() > until);';
  expect(lines(until, 'packages/runtime/src/a.test.ts')).toEqual([1]);
});

test('the check of real time leaves the adapter, the dates of tests and other files than sources alone', () => {
  const text = 'const began = Date.now();';
  for (const path of [
    'packages/runtime/src/clock.ts',
    'packages/engine/src/a.test.ts',
    'packages/engine/test/world.ts',
  ])
    expect(lines(text, path)).toEqual([]);
  expect(lines(text, 'test/api-server/src/versions.ts')).toEqual([1]);
});

test('the check of real time names exceptions that are not needed any more', () => {
  const [first] = Object.keys(EXCEPTIONS);
  expect(idleExceptions(() => 'clock.after(10, end);')).toEqual(Object.keys(EXCEPTIONS));
  expect(idleExceptions((path) => (path === first ? undefined : 'setTimeout(end, 10);'))).toEqual(
    [first].flatMap((one) => one ?? []),
  );
});
