import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { bundleRuntime, run } from '../../test/bundle.ts';
import { Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { isPreload } from './register.ts';

const one = new MockCa('one');
let dir: string;
let scope: Scope;

beforeAll(async () => {
  ({ dir } = await bundleRuntime());
});
beforeEach(() => {
  scope = new Scope();
});

/** Prints whether its TLS is followed: Node's own function is native to node:tls. */
const CHILD = `console.log(process.argv[2] + ' ' + (require('node:tls').createSecureContext.name === 'made') + ' ' + /register/.test(process.env.NODE_OPTIONS));`;

/** A program that starts the child in every way, and prints what each says. */
const PROGRAM = `
import { exec, execFile, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
const child = process.argv[2];
const said = async (started) => {
  started.stdout.pipe(process.stdout);
  await once(started, 'close');
};
const { HANDOVER_CA: _, ...without } = process.env;
await said(spawn(process.execPath, [child, 'spawn']));
await said(exec(process.execPath + ' ' + child + ' exec'));
await said(execFile(process.execPath, [child, 'execFile']));
await said(fork(child, ['fork'], { stdio: 'pipe' }));
await said(spawn(process.execPath, [child, 'own-options'], { env: { ...process.env, NODE_OPTIONS: '--no-warnings' } }));
await said(spawn(process.execPath, [child, 'without'], { env: without }));
process.stdout.write(spawnSync(process.execPath, [child, 'sync'], { encoding: 'utf8' }).stdout);
`;

test('programs that a program under --import starts follow the files too, but not those that it waits for, or starts without the variables', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const child = join(dir, 'child.cjs');
  writeFileSync(child, CHILD);
  const ended = await run(dir, PROGRAM, {
    args: [child],
    flags: ['--import', join(dir, 'register.mjs')],
    env: { HANDOVER_CA: volume.path('ca.crt') },
  });
  expect(ended.stderr).toBe('');
  expect(ended.stdout.trim().split('\n')).toEqual([
    'spawn true true',
    'exec true true',
    'execFile true true',
    'fork true true',
    'own-options true true',
    'without false false',
    'sync false false',
  ]);
});

test('a program that has register in its own bundle does not run again in each child', () => {
  const file = join(dir, 'app.mjs');
  writeFileSync(file, '');
  const url = pathToFileURL(file).href;
  expect(isPreload(url, [])).toBe(false);
  expect(isPreload(url, ['--import', 'tsx', '--import=@other/register'])).toBe(false);
  const link = join(dir, 'link.mjs');
  symlinkSync(file, link);
  for (const args of [['--import', file], [`--import=${link}`], [`--import=${url}`]])
    expect(isPreload(url, args)).toBe(true);
  const installed = 'file:///app/node_modules/@handover/runtime/dist/register.js';
  expect(isPreload(installed, [])).toBe(true);
});
