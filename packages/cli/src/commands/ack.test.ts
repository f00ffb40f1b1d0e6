import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hour, instant } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { handover, NOW } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

let dir: string;
const at = (ms: number, ...args: readonly string[]) =>
  handover([...args, '--home', `dir:${dir}`], { now: instant(NOW + ms) });
const rotate = (ms: number, id = 'x') => at(ms, 'rotate', 'internal', '--id', id);
const status = async (ms: number) =>
  JSON.parse((await at(ms, 'status', 'default/internal', '--json')).stdout).authorities[0];
const BILLING = 'consumers: [{name: billing, presents: true, verifies: true, reload: restart}]';
const begin = async (consumers = BILLING): Promise<void> => {
  dir = newHome();
  await handover(['init', dir]);
  const file = join(dir, 'handover.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('  lifetime: 5y', `  lifetime: 5y\n  ${consumers}`));
  await handover(['run', dir, '--once']);
};
beforeEach(() => begin());

test('a program that has to be restarted holds a rotation up until a person acknowledges the restart', async () => {
  await rotate(0);
  await rotate(hour);
  await rotate(2 * hour);
  expect(await status(2 * hour)).toMatchObject({
    phase: 'Activating',
    blockedBy: [
      { consumer: 'billing', waitsFor: expect.stringContaining('with a leaf of') },
      { consumer: 'billing', waitsFor: expect.stringContaining('with CA generation') },
    ],
  });
  const said = await at(2 * hour + 1, 'ack', 'billing');
  expect(said).toMatchObject({ code: 0, stderr: '' });
  expect(said.stdout).toMatch(
    /^billing of default\/internal was restarted before 2030-06-01T02:00:00\.001Z, by the word of /,
  );
  const shown = await status(2 * hour + 2);
  expect(shown.consumers[0]).toMatchObject({
    evidence: 'confirmed',
    at: '2030-06-01T02:00:00.001Z',
    remark: expect.stringMatching(/^restarted before .*, by the word of /),
  });
  await rotate(3 * hour);
  const done = await status(3 * hour);
  expect(done).toMatchObject({ phase: 'Stable', generations: [{ generation: 2 }] });
  expect(JSON.stringify(done.history)).toContain('"by":"confirmed"');
  expect(statSync(join(dir, 'state/acks/default/internal.json')).mode & 0o777).toBe(0o600);
});

test('an acknowledgement does not count for files that were written after it', async () => {
  await at(0, 'ack', 'billing');
  await rotate(0);
  await rotate(hour);
  await rotate(2 * hour);
  expect(await status(2 * hour)).toMatchObject({ phase: 'Activating' });
  await at(2 * hour + 1, 'ack', 'billing');
  await rotate(3 * hour);
  expect((await status(3 * hour)).phase).toBe('Stable');
  for (const hours of [3, 4, 5, 6]) await rotate(hours * hour, 'y');
  expect(await status(6 * hour)).toMatchObject({
    phase: 'Activating',
    blockedBy: [
      { consumer: 'billing', waitsFor: expect.stringContaining('with a leaf of') },
      { consumer: 'billing', waitsFor: expect.stringContaining('with CA generation') },
    ],
  });
});

test('an acknowledgement that was dated by a clock that was ahead does not count once the clock is set back', async () => {
  const minutes = 60_000;
  await rotate(0);
  await at(50 * minutes, 'ack', 'billing');
  const back = (ms: number, ...args: readonly string[]) =>
    handover(args, { now: instant(NOW + ms), sinceBoot: 1_000_000_000 + ms + 45 * minutes });
  await back(5 * minutes, 'run', dir, '--once');
  for (const minute of [10, 20, 55, 60])
    await back(minute * minutes, 'rotate', 'internal', '--id', 'x', '--home', `dir:${dir}`);
  const { stdout } = await back(60 * minutes, 'status', '--json', '--home', `dir:${dir}`);
  expect(JSON.parse(stdout).authorities[0]).toMatchObject({
    phase: 'Activating',
    consumers: [{ evidence: null }],
  });
});

/** The Leaf of the program has this hook. */
const hook = async (reload: string): Promise<void> => {
  const file = join(dir, 'handover.yaml');
  const yaml = readFileSync(file, 'utf8').replace(/\n {2}reload: .*/, '');
  writeFileSync(file, yaml.replace('  lifetime: 90d', `  lifetime: 90d\n  reload: ${reload}`));
  await handover(['run', dir, '--once']);
};
const acks = (): boolean => existsSync(join(dir, 'state/acks/default/internal.json'));

test('ack is refused for a program whose hook fails, until the hook works', async () => {
  await hook('{command: ["false"]}');
  const refused = await at(0, 'ack', 'billing');
  expect(refused.stderr).toMatch(
    /^ACK_HOOK: the hook of Leaf default\/web failed at .*: false ended with 1, and as long as it fails the files of billing count as not loaded; mend the hook, run handover reload default\/web, then restart the program and repeat this command\n$/,
  );
  expect(refused.code).toBe(1);
  expect(acks()).toBe(false);
  await hook('{command: ["true"]}');
  expect(await at(0, 'ack', 'billing')).toMatchObject({ code: 0, stderr: '' });
  expect(acks()).toBe(true);
});

test('ack is refused for a program that its hook restarts: that restart counts', async () => {
  await hook('{restart: {command: ["true"]}}');
  expect(await at(0, 'ack', 'billing')).toMatchObject({
    code: 1,
    stderr:
      'ACK_HOOK: the hook of Leaf default/web restarts billing, and that restart counts; run it with handover reload default/web\n',
  });
  expect(acks()).toBe(false);
});

test('ack is refused for a name that no Authority declares', async () => {
  expect(await at(0, 'ack', 'biling')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^ACK_UNKNOWN: no Authority declares a consumer biling; there is billing/),
  });
});

test.each([
  ['probe', 'probe: {address: "127.0.0.1:1"}'],
  ['status document', 'status: {url: "http://127.0.0.1:1/"}'],
  ['metrics page', 'metrics: {url: "http://127.0.0.1:1/"}'],
])('ack is refused for a consumer that has a %s', async (way, field) => {
  await begin(`consumers: [{name: web, presents: true, ${field}}]`);
  expect(await at(0, 'ack', 'web')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      `^ACK_NOT_ASKED: web is asked itself, by the ${way} that default/internal declares`,
    ),
  });
});

test('ack is refused without --authority for a name that two Authorities declare', async () => {
  const other = `apiVersion: handover.dev/v1alpha1\nkind: Authority\nmetadata: {name: other}\nspec: {${BILLING}}\n`;
  writeFileSync(join(dir, 'other.yaml'), other);
  expect(await at(0, 'ack', 'billing')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^ACK_AMBIGUOUS: /),
  });
  expect(await at(0, 'ack', 'billing', '--authority', 'default/other')).toMatchObject({ code: 0 });
});

test('ack is refused for a cluster', async () => {
  const ran = await handover(['ack', 'billing', '--home', 'kube']);
  expect(ran).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^USAGE: --home kube names no directory; .*sees which pods have restarted/),
  });
});
