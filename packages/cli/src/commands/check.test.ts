import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { day, hour, instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { beforeEach, describe, expect, test } from 'vitest';
import { goOn, handover, NOW, turning } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

let dir: string;
const begin = async (edit = (yaml: string): string => yaml): Promise<void> => {
  dir = newHome();
  await handover(['init', dir]);
  const file = join(dir, 'handover.yaml');
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
  await handover(['run', dir, '--once']);
};
const check = async (ms = 0, ...args: readonly string[]) => {
  const { code, stdout } = await handover(['check', '--home', `dir:${dir}`, ...args], {
    now: instant(NOW + ms),
  });
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  return { code, line: stdout.trimEnd() };
};
beforeEach(() => begin());

test('check is OK over a whole directory, with figures for graphs', async () => {
  expect(await check()).toEqual({
    code: 0,
    line: 'HANDOVER OK - 1 authority, 1 leaf; nothing runs here, the last at 2030-06-01T00:00:00.000Z | authorities=1 leaves=1 findings=0',
  });
  expect(JSON.parse((await check(0, '--json')).line)).toMatchObject({ state: 'OK', findings: [] });
});

test('check warns of a leaf that was not renewed, and is critical when it is about to expire and when it has expired', async () => {
  await handover(['run', dir, '--once'], { now: instant(NOW + 58 * day) });
  expect((await check(58 * day)).code).toBe(0);
  rmSync(join(dir, 'state/run.json')); // as if another program had renewed what it should: a test below is about who runs here
  expect(await check(70 * day)).toMatchObject({
    code: 1,
    line: expect.stringMatching(
      /^HANDOVER WARNING - default\/internal: default\/secrets\/web expires at 2030-08-30/,
    ),
  });
  expect(await check(84 * day)).toMatchObject({
    code: 2,
    line: expect.stringMatching(/^HANDOVER CRITICAL - /),
  });
  expect(await check(91 * day)).toMatchObject({
    code: 2,
    line: expect.stringContaining('expired at 2030-08-30'),
  });
  expect((await check(70 * day, '--warn', '10d')).code).toBe(0);
  expect((await check(84 * day, '--critical', '1d')).code).toBe(1);
});

test('check says nothing about a leaf of a day that is renewed in time', async () => {
  await begin((yaml) => yaml.replace('lifetime: 90d', 'lifetime: 24h'));
  expect((await check(12 * hour)).code).toBe(0);
  expect((await check(18 * hour)).code).toBe(1);
  expect((await check(23 * hour)).code).toBe(2);
});

test('check says since when nothing has run here, also where the clock leapt meanwhile, and who runs here', async () => {
  expect(await check(61 * day)).toMatchObject({
    code: 1,
    line: expect.stringContaining(
      'nothing has run here for 61 days (since 2030-06-01T00:00:00.000Z); start handover run',
    ),
  });
  const leapt = await handover(['check', '--home', `dir:${dir}`], {
    now: instant(NOW + 61 * day),
    sinceBoot: 1_000_000_000,
  });
  expect(leapt.stdout).toContain('nothing has run here for 61 days, or the clock jumped ahead by that');
  expect(leapt.stdout).not.toContain('in doubt');
  const clock = new TestClock(NOW);
  const live = goOn(['run', dir], { clock });
  await clock.until(() => live.said().includes('ready'));
  const said = await turning(clock, handover(['check', '--json', '--home', `dir:${dir}`], { clock }));
  expect(JSON.parse(said.stdout)).toMatchObject({ state: 'OK', run: { pid: process.pid } });
});

test('check is critical over a damaged file', async () => {
  writeFileSync(join(dir, 'out/default/secrets/web/..data/tls.key'), 'junk');
  expect(await check()).toMatchObject({ code: 2, line: expect.stringContaining('tls.key cannot be read') });
});

test('check is critical over a lost state, and names it', async () => {
  rmSync(join(dir, 'state/authorities'), { recursive: true });
  expect(await check()).toMatchObject({ code: 2, line: expect.stringContaining('blocked: ') });
});

test('check warns of a step that has waited longer than its patience', async () => {
  await begin((yaml) =>
    yaml.replace(
      'reloadWithin: 3m',
      'reloadWithin: 3m\n    patience: 1h\n  consumers: [{name: app, presents: true, verifies: true, reload: restart}]',
    ),
  );
  const rotate = (ms: number) =>
    handover(['rotate', 'internal', '--id', 'x', '--home', `dir:${dir}`], { now: instant(NOW + ms) });
  await rotate(0);
  await rotate(hour / 2);
  expect((await check(hour / 2)).code).toBe(0);
  expect(await check(3 * hour)).toMatchObject({
    code: 1,
    line: expect.stringMatching(
      /^HANDOVER WARNING - default\/internal: blocked: waiting for app to restart with a leaf of CA generation 2; waiting for app to restart with CA generation 2 \|/,
    ),
  });
});

describe('check warns of a hook that fails', () => {
  const RELOAD = 'reload: {command: [sh, -c, "echo no such unit >&2; exit 3"]}';

  test('check warns of a failed hook of a Leaf, with its message', async () => {
    await begin((yaml) => yaml.replace('authority: internal', `authority: internal\n  ${RELOAD}`));
    expect(await check()).toMatchObject({
      code: 1,
      line: expect.stringMatching(
        /^HANDOVER WARNING - default\/internal: the hook of Leaf default\/web fails: sh ended with 3, stderr: "no such unit" \|/,
      ),
    });
  });

  test('check warns of a failed hook of a TrustBundle that belongs to no Authority, with its message', async () => {
    await begin(
      (yaml) => `${yaml}---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: again}
spec:
  sources: [{configMap: {name: internal-trust}}]
  targets: [{configMap: {name: again}}]
  ${RELOAD}
`,
    );
    // Its source is made by the first pass.
    await handover(['run', dir, '--once']);
    expect(await check()).toMatchObject({
      code: 1,
      line: expect.stringMatching(
        /^HANDOVER WARNING - the hook of TrustBundle again fails: sh ended with 3, stderr: "no such unit" \|/,
      ),
    });
    expect((await check(0, 'default/internal')).code).toBe(0);
  });
});

test('check warns of a clock that jumped ahead', async () => {
  const { code, stdout } = await handover(['check', '--home', `dir:${dir}`], {
    now: instant(NOW + 3 * hour),
    sinceBoot: 1_000_000_000,
  });
  expect({ code, stdout }).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('the clock is in doubt'),
  });
});

test('check warns of files of another program', async () => {
  await begin((yaml) => yaml.replace('authority: internal', 'secretName: theirs\n  authority: internal'));
  dir = newHome();
  await handover(['init', dir]);
  mkdirSync(join(dir, 'out/default/configmaps/internal-trust'), { recursive: true });
  writeFileSync(join(dir, 'out/default/configmaps/internal-trust/x'), '');
  await handover(['run', dir, '--once']);
  expect((await check()).line).toContain('holds files that handover did not write');
});

test('check is critical over an invalid resource, and over a file that is no YAML', async () => {
  await begin((yaml) => yaml.replace('lifetime: 90d', 'lifetme: 90d'));
  expect(await check()).toMatchObject({
    code: 2,
    line: expect.stringMatching(/^HANDOVER CRITICAL - RESOURCE_INVALID: .*lifetme/),
  });
  writeFileSync(join(dir, 'more.yaml'), 'foo: [');
  expect(await check()).toMatchObject({
    code: 2,
    line: expect.stringMatching(/^HANDOVER CRITICAL - RESOURCE_INVALID: .*lifetme.*; more\.yaml:1:7: /),
  });
});

test('check is UNKNOWN over a home that cannot be read, and over thresholds in the wrong order', async () => {
  dir = newHome();
  expect(await check()).toMatchObject({
    code: 3,
    line: expect.stringMatching(/^HANDOVER UNKNOWN - HOME_MISSING: /),
  });
  await begin();
  const unknown = await handover(['check', 'default/none', '--home', `dir:${dir}`]);
  expect(unknown).toMatchObject({ code: 3, stdout: expect.stringContaining('AUTHORITY_UNKNOWN') });
  const wrong = await handover(['check', '--warn', '1d', '--critical', '9d', '--home', `dir:${dir}`]);
  expect(wrong).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/^HANDOVER UNKNOWN - USAGE: --critical/),
    stderr: '',
  });
});

test.each([
  [['--warn', 'abc'], 'USAGE: abc is not a duration; write 30d, 36h or 10m'],
  [['--wran', '3d'], "USAGE: unknown option '--wran'; did you mean --warn?; see `handover check --help`"],
])('check says UNKNOWN, and exits 3, over wrong usage such as %j', async (args, says) => {
  expect(await check(0, ...args)).toEqual({ code: 3, line: `HANDOVER UNKNOWN - ${says}` });
  const { code, line } = await check(0, ...args, '--json');
  expect(JSON.parse(line)).toEqual({ state: 'UNKNOWN', error: says });
  expect(code).toBe(3);
});
