import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { day, hour, instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { goOn, handover, NOW, turning } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

let dir: string;
beforeEach(async () => {
  dir = newHome();
  await handover(['init', dir]);
});
const once = async (): Promise<void> => {
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0 });
};
const status = async (ms = 0) => {
  const around = { now: instant(NOW + ms) };
  const { code, stdout } = await handover(['status', '--home', `dir:${dir}`], around);
  const json = await handover(['status', '--json', '--home', `dir:${dir}`], around);
  expect(json.code).toBe(code);
  return { code, stdout, authority: JSON.parse(json.stdout).authorities[0] };
};
const snapshot = (name: string): string => join(dir, 'out/default/secrets/web/..data', name);

test('A damaged file is named with what is wrong, and no rotation is shown', async () => {
  await once();
  writeFileSync(snapshot('tls.key'), 'junk');
  const { stdout, authority } = await status();
  expect(stdout).toMatch(/^default\/internal {2}Stable {2}not ready$/m);
  expect(stdout).toMatch(/not ready: default\/secrets\/web: tls\.key cannot be read: /);
  expect(authority).toMatchObject({ phase: 'Stable', ready: false });
});

test('A bundle with a CA that was added by hand shows no rotation either', async () => {
  await once();
  const own = dir;
  dir = newHome();
  await handover(['init', dir]);
  await once();
  const other = readFileSync(join(dir, 'out/default/configmaps/internal-trust/ca.crt'));
  dir = own;
  writeFileSync(join(dir, 'out/default/configmaps/internal-trust/..data/ca.crt'), other);
  const { authority } = await status();
  expect(authority).toMatchObject({ phase: 'Stable', ready: false });
});

test('Files of another program are named, with what to do', async () => {
  mkdirSync(join(dir, 'out/default/secrets/web'), { recursive: true });
  writeFileSync(join(dir, 'out/default/secrets/web/dhparam.pem'), 'theirs');
  await handover(['run', dir, '--once']);
  const { stdout, authority } = await status();
  expect(stdout).toMatch(
    /default\/secrets\/web: .* holds files that handover did not write \(dhparam\.pem\); .*handover\.dev\/adopt/,
  );
  expect(authority.phase).toBe('Stable');
});

test('An Authority whose state is lost is Pending, and says what to do', async () => {
  await once();
  rmSync(join(dir, 'state/authorities'), { recursive: true });
  const { stdout, authority } = await status();
  expect(authority).toMatchObject({ phase: 'Pending', ready: false });
  expect(stdout).not.toContain('is being created');
  expect(stdout).toContain('not ready: it has no CA: what it waits for has to be decided first');
  expect(stdout).toContain('set spec.adopt.fingerprints');
  // A script must not take it for done.
  const ran = await handover(['run', dir, '--once']);
  expect(ran.code).toBe(1);
  expect(ran.stderr).toMatch(
    /^ADOPT_UNDECIDED: default\/internal cannot start: .*set spec\.adopt\.fingerprints/,
  );
});

test('A state that is older than its objects gets a remedy, also where no later one exists', async () => {
  await once();
  cpSync(join(dir, 'state'), join(dir, 'kept'), { recursive: true });
  await handover(['rotate', 'default/internal', '--id', 'x', '--home', `dir:${dir}`]);
  rmSync(join(dir, 'state'), { recursive: true });
  cpSync(join(dir, 'kept'), join(dir, 'state'), { recursive: true });
  const { stdout } = await status();
  expect(stdout).toContain('restore the newest copy of that state');
  expect(stdout).toMatch(/if there is none, move the state away: .* spec\.adopt/);
});

test('An expired leaf and one that is not valid yet are named, and the exit code is 1', async () => {
  await once();
  expect((await status()).code).toBe(0);
  expect(await status(100 * day)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/not ready: default\/secrets\/web holds a leaf that expired at/),
  });
  expect(await status(-2 * hour)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/not ready: default\/secrets\/web holds a leaf that is not valid before/),
  });
});

test('Objects that have yet to be made for the first time are shown as not ready, with exit code 0', async () => {
  expect(await status()).toMatchObject({ code: 0, authority: { ready: false } });
  await once();
  const file = join(dir, 'handover.yaml');
  const [authority, leaf = ''] = readFileSync(file, 'utf8').split('---');
  writeFileSync(file, [authority, leaf, leaf.replace('name: web', 'name: api')].join('---'));
  expect(await status()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('default/secrets/api holds no leaf yet'),
  });
});

test('A consumer is asked once while status --watch runs and nothing changes, and again after a change', async () => {
  let asked = 0;
  const server = createServer((_, response) => {
    asked++;
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const file = join(dir, 'handover.yaml');
  const consumer = `{name: app, verifies: true, status: {url: "http://127.0.0.1:${port}/"}}`;
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('\nspec:\n', `\nspec:\n  consumers: [${consumer}]\n`),
  );
  await once();
  asked = 0;
  const clock = new TestClock(NOW);
  const live = goOn(['status', '--watch', '--json', '--home', `dir:${dir}`], { clock });
  await clock.until(() => live.said() !== '');
  await clock.advance(10_000);
  expect(asked).toBe(1);
  await clock.advance(2_000);
  expect(asked).toBe(2);
  await turning(clock, handover(['rotate', 'default/internal', '--home', `dir:${dir}`], { clock }));
  asked = 0;
  await clock.advance(1_000);
  expect(asked).toBe(1);
  expect(await live.stop()).toBe(0);
  expect(live.said().trim().split('\n')).toHaveLength(2);
});

test('A CA that is dated ahead of the clock, or has ended, is not ready even without a leaf', async () => {
  const file = join(dir, 'handover.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').split('---')[0] ?? '');
  await once();
  expect((await status()).authority.ready).toBe(true);
  const ahead = await status(-2 * hour);
  expect(ahead).toMatchObject({ code: 1, authority: { ready: false } });
  expect(ahead.stdout).toMatch(/not ready: CA generation 1 is not valid before 2030-/);
  expect(ahead.stdout).toContain('handover clock --confirm');
  const ended = await status(6 * 366 * day);
  expect(ended.stdout).toMatch(/not ready: CA generation 1 expired at 2035-/);
});

test('A wait that only a program can end has no date', async () => {
  const file = join(dir, 'handover.yaml');
  const yaml = readFileSync(file, 'utf8');
  const consumer = '{name: app, presents: true, verifies: true, status: {file: none.json}}';
  writeFileSync(file, yaml.replace('\nspec:\n', `\nspec:\n  consumers: [${consumer}]\n`));
  await once();
  await handover(['rotate', 'default/internal', '--home', `dir:${dir}`]);
  const { code, stdout, authority } = await status(day);
  expect(code).toBe(0);
  // It reads the bundle and the CAs of its leaf: one thing to do, said once.
  expect(authority.blockedBy).toMatchObject([
    { consumer: 'app', waitsFor: expect.stringContaining('none.json') },
  ]);
  expect(authority).toMatchObject({ phase: 'Introducing', dueAt: null, wakeAt: expect.any(String) });
  expect(stdout).not.toMatch(/^ {2}due /m);
});
