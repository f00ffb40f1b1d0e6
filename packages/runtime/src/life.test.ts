import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { files, next, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { eventually, get, httpsServer, UNKNOWN_AUTHORITY, wordsOf } from '../test/world.ts';
import { openIdentity, openTrust } from './index.ts';

const one = new MockCa('one');
const two = new MockCa('two');
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});
afterEach(() => {
  vi.useRealTimers();
});

test('several bundles are trusted together, and each follows its file', async () => {
  const [a, b] = [scope.volume({ 'ca.crt': one.pem }), scope.volume({ 'ca.crt': one.pem })];
  const trust = await openTrust([a.path('ca.crt'), b.path('ca.crt')], { signal: scope.signal });
  const target = scope.add(await httpsServer(two));
  const agent = trust.httpsAgent();
  expect(await wordsOf(get(target.url, { agent }))).toMatch(UNKNOWN_AUTHORITY);
  b.write({ 'ca.crt': two.pem });
  await next(trust, 'reloaded');
  await get(target.url, { agent });
  expect(trust.status().anchors).toHaveLength(2);
});

test('Node’s own roots are trusted beside a file', async () => {
  const trust = await openTrust([scope.volume({ 'ca.crt': one.pem }).path('ca.crt'), 'bundled'], {
    signal: scope.signal,
  });
  expect(trust.status().anchors).toHaveLength(rootCertificates.length + 1);
  const target = scope.add(await httpsServer(one));
  await get(target.url, { agent: trust.httpsAgent() });
});

test('the system’s roots come from its file, which is followed', async () => {
  const system = scope.volume({ 'roots.pem': one.pem });
  const own = scope.volume({ 'ca.crt': two.pem });
  vi.stubEnv('SSL_CERT_FILE', system.path('roots.pem'));
  scope.after(() => vi.unstubAllEnvs());
  const trust = await openTrust([own.path('ca.crt'), 'system'], { signal: scope.signal });
  expect(trust.status().anchors).toHaveLength(2);
  system.write({ 'roots.pem': one.pem + new MockCa('three').pem });
  await next(trust, 'reloaded');
  expect(trust.status().anchors).toHaveLength(3);
});

test('waitFor waits for files that come late', async () => {
  const volume = scope.volume({});
  const opening = openIdentity(
    { cert: volume.path('tls.crt'), key: volume.path('tls.key'), ca: volume.path('ca.crt') },
    { signal: scope.signal, waitFor: '20s' },
  );
  let opened = false;
  opening.then(() => {
    opened = true;
  });
  await new Promise((tick) => setTimeout(tick, 100));
  expect(opened).toBe(false);
  volume.write(files(one.leaf(), one));
  expect((await opening).status().loads).toBe(1);
});

test('waitFor ends with the error of the last try', async () => {
  const opening = openTrust('/nowhere/ca.crt', { waitFor: 300 });
  await expect(opening).rejects.toMatchObject({ code: 'FILE_MISSING', path: '/nowhere/ca.crt' });
  await expect(openTrust('/x', { waitFor: 'soon' as never })).rejects.toMatchObject({
    code: 'OPTION_INVALID',
  });
});

test('waitFor ends with its signal', async () => {
  const stop = new AbortController();
  const opening = openTrust('/nowhere/ca.crt', { waitFor: '20s', signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(opening).rejects.toThrow('enough');
});

test.each(['close', 'await using'] as const)(
  'a trust that ends by %s follows its file no more, and keeps the last good material',
  async (way) => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const trust = await openTrust(volume.path('ca.crt'));
    const { hash } = trust;
    if (way === 'close') trust.close();
    else await trust[Symbol.asyncDispose]();
    volume.write({ 'ca.crt': two.pem });
    expect(await trust.reload()).toEqual({ reason: 'unchanged' });
    expect(trust.hash).toBe(hash);
    const target = scope.add(await httpsServer(one));
    await get(target.url, { agent: trust.httpsAgent() });
    trust.close();
  },
);

test('a listener that is added with once is called once', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const trust = await scope.trust(volume);
  let calls = 0;
  const listener = () => {
    calls++;
  };
  trust.once('reloaded', listener).once('kept', listener).off('kept', listener);
  for (const pem of [two.pem, '', one.pem]) {
    volume.write({ 'ca.crt': pem });
    trust.on('kept', () => undefined);
    await trust.reload();
  }
  expect(calls).toBe(1);
});

test('a listener that throws stops neither the reloads nor the others, and is a warning', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const trust = await scope.trust(volume);
  const warnings: string[] = [];
  const heard = (warning: Error & { code?: string }) => warnings.push(`${warning.code}: ${warning.message}`);
  process.on('warning', heard);
  scope.after(() => process.off('warning', heard));
  const loads: number[] = [];
  trust
    .on('reloaded', () => {
      throw new Error('mine');
    })
    .on('reloaded', (async () => {
      throw new Error('later');
    }) as () => void)
    .on('reloaded', (event) => loads.push(event.loads));
  for (const ca of [two, one]) {
    volume.write({ 'ca.crt': ca.pem });
    await trust.reload();
  }
  await eventually(() => warnings.length >= 4);
  expect(loads).toEqual([2, 3]);
  expect(warnings).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^LISTENER_THREW: .*reloaded.*mine/),
      expect.stringMatching(/^LISTENER_THREW: .*reloaded.*later/),
    ]),
  );
});

test('fake timers of a test runner stop neither the wait for a file to settle nor the poll', async () => {
  const { dir } = scope.volume({});
  mkdirSync(join(dir, 'now/deep'), { recursive: true });
  mkdirSync(join(dir, 'next/deep'), { recursive: true });
  const path = join(dir, 'now/deep/ca.crt');
  writeFileSync(path, one.pem);
  writeFileSync(join(dir, 'next/deep/ca.crt'), one.pem);
  const trust = await openTrust(path, { signal: scope.signal, pollMs: 300 });
  vi.useFakeTimers();
  const written = next(trust, 'reloaded');
  writeFileSync(path, two.pem);
  await written;
  // No event tells of a directory above the watched one.
  const polled = next(trust, 'reloaded');
  renameSync(join(dir, 'now'), join(dir, 'old'));
  renameSync(join(dir, 'next'), join(dir, 'now'));
  await polled;
});
