import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { ERROR_LINE, handover } from '../test/capture.ts';

const root = temporaryFolder({ inMemory: true });
const home = join(root, 'ca');
beforeAll(async () => {
  mkdirSync(home, { mode: 0o755 });
  const yaml = 'apiVersion: handover.dev/v1alpha1\nkind: Authority\nmetadata: { name: internal }\nspec: {}\n';
  writeFileSync(join(home, 'ca.yaml'), yaml, { mode: 0o644 });
  expect((await handover(['run', home, '--once'])).code).toBe(0);
});
afterEach(() => vi.unstubAllEnvs());

const SHOWN = { code: 0, stdout: expect.stringContaining('default/internal') };

test.each(['status', 'plan', 'verify', 'check'])(
  '%s takes a directory in place of --home',
  async (command) => {
    const ran = await handover([command, home, '--json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(await handover([command, '--json', '--home', `dir:${home}`])).toMatchObject({
      stdout: ran.stdout,
    });
  },
);

test('a directory beside --home is the name of an authority, as before', async () => {
  const { code, stderr } = await handover(['status', home, '--home', `dir:${home}`]);
  expect(code).toBe(1);
  expect(stderr).toContain('AUTHORITY_UNKNOWN');
});

test('--home takes a path without dir:', async () => {
  expect(await handover(['status', '--home', home])).toMatchObject(SHOWN);
});

test.each([
  ['dir:', ''],
  ['', ''],
])('HANDOVER_HOME is the home of every command that names none (%s)', async (scheme) => {
  vi.stubEnv('HANDOVER_HOME', `${scheme}${home}`);
  expect(await handover(['status'])).toMatchObject(SHOWN);
  expect(await handover(['status', 'default/internal'])).toMatchObject(SHOWN);
  expect((await handover(['run', '--once'])).code).toBe(0);
  // What is named outweighs it, a directory in place of --home too.
  expect((await handover(['status', root])).stderr).toMatch(/^HOME_EMPTY/);
  expect((await handover(['status', '--home', `dir:${root}/none`])).stderr).toMatch(/^HOME_MISSING/);
});

test.each([
  ['', /^USAGE: there is no directory to run; name it, such as \/etc\/handover, or set HANDOVER_HOME/],
  ['kube', /^USAGE: --home kube names no directory; write dir:PATH/],
])('run without a directory and with HANDOVER_HOME="%s" says what to do', async (value, says) => {
  vi.stubEnv('HANDOVER_HOME', value);
  const { code, stderr } = await handover(['run']);
  expect(code).toBe(2);
  expect(stderr).toMatch(ERROR_LINE);
  expect(stderr).toMatch(says);
});
