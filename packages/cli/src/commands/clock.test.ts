import { join } from 'node:path';
import { day, hour, instant, minute } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { handover, NOW } from '../../test/capture.ts';

let dir: string;
let home: string;
const UP = 1_000_000_000;
const FAR = instant(NOW + 5 * 365 * day);

/** A run of the command on a machine that has been up for `up` and whose clock says `now`. */
const at = (now: number, up: number, ...args: string[]) =>
  handover(args, { now: instant(now), sinceBoot: up });

beforeEach(async () => {
  dir = join(temporaryFolder({ inMemory: true }), 'home');
  home = `dir:${dir}`;
  await at(NOW, UP, 'init', dir);
  await at(NOW, UP, 'run', dir, '--once');
});

test('handover clock says when nothing waits for the clock', async () => {
  const { stdout } = await at(NOW + hour, UP + hour, 'clock', '--home', home);
  expect(stdout).toBe('the clock shows 2030-06-01T01:00:00.000Z\nnothing waits for the clock\n');
});

test('handover clock says that the clock jumped ahead, and what waits for it; after --confirm nothing waits', async () => {
  const up = UP + minute;
  await at(FAR, up, 'run', dir, '--once');
  const asked = await at(FAR, up, 'clock', '--json', '--home', home);
  expect(JSON.parse(asked.stdout)).toMatchObject({
    doubted: { before: '2030-06-01T00:01:00.000Z', since: '2035-05-31T00:00:00.000Z' },
    datedAhead: [],
    confirmed: false,
  });
  expect((await at(FAR, up, 'status', '--home', home)).stdout).toContain(
    'waiting for the clock to run evenly',
  );
  const { code, stdout } = await at(FAR, up, 'clock', '--confirm', '--home', home);
  expect([code, stdout]).toEqual([0, expect.stringContaining('the clock is accepted as right\n')]);
  await at(FAR, up, 'run', dir, '--once');
  const status = JSON.parse((await at(FAR, up, 'status', '--json', '--home', home)).stdout);
  expect(status.authorities[0].generations[0]).toMatchObject({ generation: 2 });
});

test('handover clock --confirm ends CLOCK_BEHIND: dates ahead of the clock are set to now, and a valid CA takes over', async () => {
  const ahead = UP + minute;
  await at(FAR, ahead, 'clock', '--confirm', '--home', home);
  await at(FAR, ahead, 'run', dir, '--once');
  const [now, up] = [NOW + hour, UP + hour];
  expect((await at(now, up, 'run', dir, '--once')).stderr).toMatch(/^CLOCK_BEHIND: .*clock --confirm/m);
  const { stdout } = await at(now, up, 'clock', '--confirm', '--json', '--home', home);
  expect(JSON.parse(stdout)).toMatchObject({
    datedAhead: [{ authority: 'default/internal' }],
    confirmed: true,
  });
  expect((await at(now, up, 'run', dir, '--once')).code).toBe(0);
  const status = JSON.parse((await at(now, up, 'status', '--json', '--home', home)).stdout);
  expect(status.authorities[0]).toMatchObject({ ready: true, notReady: [] });
});

test('handover clock is for a directory only', async () => {
  const { code, stderr } = await handover(['clock', '--home', 'kube']);
  expect(code).toBe(2);
  expect(stderr).toContain('dir:PATH');
});
