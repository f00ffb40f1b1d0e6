import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { project } from './src/project.ts';
import { start } from './src/run.ts';
import { Files, WORLD } from './src/world.ts';

const cwd = project('runtimes', ['bun@1.4.4', 'deno@2.9.6', 'undici@7.30.2']);
const source = fileURLToPath(new URL('./consumers/other-runtimes.mjs', import.meta.url));
copyFileSync(source, join(cwd, 'other-runtimes.mjs'));

const under = async (name: string, ...args: readonly string[]) => {
  const folder = mkdtempSync(join(cwd, 'files-'));
  const program = join(cwd, 'node_modules/.bin', name);
  const ended = await start(cwd, program, [...args, 'other-runtimes.mjs', folder], WORLD).ended;
  expect(ended).toMatchObject({ code: 0 });
  return JSON.parse(ended.stdout) as unknown;
};

const REFUSED = expect.stringMatching(/^refused UNABLE_TO_VERIFY_LEAF_SIGNATURE$/);
const CLIENTS = (outcome: unknown) => ({ httpsAgent: outcome, tlsOptions: outcome, secureContext: outcome });
const UNSUPPORTED = 'RUNTIME_UNSUPPORTED';

/** Token, TLS profile, and what each place of a status shows, before and after the swap. */
const HELD = [
  { token: 'first', profile: 'TLSv1.2' },
  { token: 'second', profile: 'TLSv1.3' },
].map((one, index) => {
  const loads = ['trust', 'identity', 'token', 'tls-profile'].map((kind) => `${kind} ${index + 1}`);
  return { ...one, port: loads, socket: loads, file: loads };
});

test('on Deno all but fetch follows the files', async () => {
  const all = (outcome: unknown) => ({ ...CLIENTS(outcome), fetch: UNSUPPORTED, dispatcher: outcome });
  expect(await under('deno', 'run', '-A')).toEqual({
    before: { 0: all('taken'), 1: all(REFUSED) },
    after: { 0: all(REFUSED), 1: all('taken') },
    serve: 'shows 0, then 1',
    held: HELD,
  });
});

test('on Bun clients of node:https and node:tls follow the files, and the rest says that it does not', async () => {
  const all = (outcome: unknown) => ({ ...CLIENTS(outcome), fetch: UNSUPPORTED, dispatcher: UNSUPPORTED });
  expect(await under('bun')).toEqual({
    before: { 0: all('taken'), 1: all(REFUSED) },
    after: { 0: all(REFUSED), 1: all('taken') },
    serve: UNSUPPORTED,
    held: HELD,
  });
});

// Their servers keep their first certificate, while a status would show the newest.
test.each([
  ['bun', ['run']],
  ['bun', ['run', '--preload', '@handover/runtime/register']],
  ['deno', ['run', '-A']],
  ['deno', ['run', '-A', '--preload', './node_modules/@handover/runtime/dist/register.js']],
])(
  'register ends a program on %s %s before it starts, unless no variable names a file',
  async (name, args) => {
    const preloads = args.includes('--preload');
    writeFileSync(
      join(cwd, 'register.mjs'),
      `${preloads ? '' : "await import('@handover/runtime/register');"} console.log('started');`,
    );
    const under = (env: Readonly<Record<string, string>>) =>
      start(cwd, join(cwd, 'node_modules/.bin', name), [...args, 'register.mjs'], env).ended;
    expect(await under(new Files(cwd).env)).toEqual({
      code: 1,
      stdout: '',
      stderr: `@handover/runtime/register: RUNTIME_UNSUPPORTED: register does not work on ${name}; use openTrust and openIdentity\n`,
    });
    expect(await under({})).toMatchObject({ code: 0, stdout: 'started\n' });
  },
);
