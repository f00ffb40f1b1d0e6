import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HookStatus, Status } from '@handover/engine';
import { instant } from '@handover/material';
import { expect, test } from 'vitest';
import { handover, NOW } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

const API = 'apiVersion: handover.dev/v1alpha1';
const yamlOf = (leaf: string, bundle: string): string =>
  [
    `${API}\nkind: Authority\nmetadata: {name: mesh}\nspec: {rotation: {reloadWithin: 0s}}`,
    `${API}\nkind: Leaf\nmetadata: {name: web}\nspec: {authority: mesh, dnsNames: [web], reload: ${leaf}}`,
    `${API}\nkind: TrustBundle\nmetadata: {name: shared}\nspec: {sources: [{authority: default/mesh}], targets: [{configMap: {name: shared}}], reload: ${bundle}}`,
  ].join('\n---\n');

const homeWith = (script: string, bundle = '{command: [sh, -c, echo bundle >> ran]}'): string => {
  const home = newHome();
  mkdirSync(home, { mode: 0o755 });
  const leaf = `{command: ${JSON.stringify(['sh', '-c', script])}}`;
  writeFileSync(join(home, 'a.yaml'), yamlOf(leaf, bundle), { mode: 0o644 });
  return home;
};

const FAILS = 'echo leaf >> ran; test -e works || { echo "line 3: no such directive" >&2; exit 9; }';
const ranIn = (home: string): readonly string[] =>
  existsSync(join(home, 'ran')) ? readFileSync(join(home, 'ran'), 'utf8').trim().split('\n') : [];

test('reload runs a hook again, prints its result, and its exit code is the result', async () => {
  const home = homeWith(FAILS);
  expect((await handover(['run', home, '--once'])).code).toBe(1);
  expect([...ranIn(home)].sort()).toEqual(['bundle', 'leaf']);
  const failed = await handover(['reload', 'web', '--home', `dir:${home}`]);
  expect(failed).toMatchObject({
    code: 1,
    stderr: '',
    stdout: expect.stringMatching(
      /^hook of Leaf default\/web failed at \S+: sh ended with 9, stderr: "line 3: no such directive"; next try at \S+, or now with handover reload default\/web; its files are written: start the program if it does not run yet\n$/,
    ),
  });
  writeFileSync(join(home, 'works'), '');
  const worked = await handover(['reload', 'default/web', '--home', `dir:${home}`]);
  expect(worked).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^hook of Leaf default\/web ran at /),
  });
  const bundle = await handover(['reload', '--bundle', 'shared', '--home', `dir:${home}`, '--json']);
  expect(JSON.parse(bundle.stdout)).toMatchObject({ hook: 'TrustBundle shared', state: 'done', exitCode: 0 });
  expect(ranIn(home).filter((line) => line === 'leaf')).toHaveLength(3);
  expect(ranIn(home).filter((line) => line === 'bundle')).toHaveLength(2);
});

test('reload refuses arguments that name no hook, or more than one', async () => {
  const home = `dir:${homeWith('true')}`;
  for (const [args, code, line] of [
    [
      ['other'],
      1,
      /^HOOK_UNKNOWN: Leaf default\/other declares no hook; hooks here: Leaf default\/web, TrustBundle shared\n$/,
    ],
    [[], 2, /^USAGE: name one hook/],
    [['web', '--bundle', 'shared'], 2, /^USAGE: name one hook/],
  ] as const)
    expect(await handover(['reload', ...args, '--home', home])).toMatchObject({
      code,
      stderr: expect.stringMatching(line),
    });
  expect(await handover(['reload', 'web', '--home', 'kube'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^USAGE: --home kube names no directory; .*The operator runs no hooks/),
  });
});

test('status, plan and rotate show how a hook ended, as text and as JSON, in another process and after a restart', async () => {
  const home = homeWith(FAILS);
  await handover(['run', home, '--once']);
  const at = `dir:${home}`;
  const line =
    /hook of Leaf default\/web failed at \S+: sh ended with 9, stderr: "line 3: no such directive"; next try at \S+/;
  const expected: Partial<HookStatus> = {
    hook: 'Leaf default/web',
    how: 'command',
    state: 'failed',
    exitCode: 9,
    message: 'sh ended with 9, stderr: "line 3: no such directive"',
    at: new Date(NOW).toISOString(),
    failures: 1,
    nextTry: expect.stringMatching(/^2030-06-01T00:0/) as unknown as string,
  };
  const status = await handover(['status', '--home', at]);
  expect(status.stdout).toMatch(line);
  expect(status.stdout).toMatch(/hook of TrustBundle shared ran at /);
  const json = JSON.parse((await handover(['status', '--home', at, '--json'])).stdout) as Status;
  expect(json.authorities[0]?.hooks).toEqual([expect.objectContaining(expected), expect.anything()]);
  expect(json.trustBundles[0]?.hook).toMatchObject({ hook: 'TrustBundle shared', state: 'done' });
  expect((await handover(['plan', '--home', at])).stdout).toMatch(/^H?hook of Leaf default\/web failed/im);
  expect(JSON.parse((await handover(['plan', '--home', at, '--json'])).stdout)).toMatchObject({
    hooks: [expected, { hook: 'TrustBundle shared' }],
  });
  const rotated = await handover(['rotate', 'default/mesh', '--home', at, '--json']);
  expect(JSON.parse(rotated.stdout)).toMatchObject({ hooks: [{ state: 'failed' }, {}] });
  const late = instant(NOW + 10_000);
  const waited = await handover(['rotate', 'default/mesh', '--wait', '--timeout', '2s', '--home', at], {
    now: late,
  });
  expect(waited.stderr).toContain('hook of Leaf default/web failed: sh ended with 9');
  expect(waited.code).toBe(1);
});

test('the result of a hook on disk can be read by its owner only', async () => {
  const home = homeWith('true');
  await handover(['run', home, '--once']);
  const record = join(home, 'state/reloads/Leaf_default_web.json');
  expect(statSync(record).mode & 0o777).toBe(0o600);
  const before = statSync(record).mtimeMs;
  await handover(['run', home, '--once']);
  expect(statSync(record).mtimeMs).toBe(before);
});
