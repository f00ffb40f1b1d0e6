import { instant } from '@handover/material';
import { atRest, TestClock } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { files, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';

const system = vi.hoisted(() => ({ outOfWatches: false }));
vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>();
  return {
    ...real,
    watch: (...args: Parameters<typeof real.watch>) => {
      if (system.outOfWatches) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
      return real.watch(...args);
    },
  };
});

const ca = new MockCa('one');
let clock: TestClock;
let scope: Scope;
let warnings: string[];
const heard = (warning: Error & { code?: string }) => warnings.push(`${warning.code}: ${warning.message}`);
beforeEach(() => {
  clock = new TestClock(instant(Date.now()));
  scope = new Scope(clock);
  warnings = [];
  process.on('warning', heard);
});
afterEach(() => {
  process.off('warning', heard);
  system.outOfWatches = false;
});

const MINUTE = 60_000;
/** Valid for a hundred minutes, eleven of them from now on; the times of a certificate are whole seconds. */
const shortLived = () => {
  const notAfter = Math.ceil((clock.now() + 10 * MINUTE) / 1_000) * 1_000 + MINUTE;
  return { notAfter, leaf: ca.leaf({ notBefore: notAfter - 100 * MINUTE, notAfter }) };
};

test('a leaf that is not renewed is announced in the last tenth of its life and when it has expired, each once', async () => {
  const { leaf, notAfter } = shortLived();
  const identity = await scope.identity(scope.volume(files(leaf, ca)));
  const events: [string, object][] = [];
  identity.on('expiring', (event) => events.push(['expiring', event]));
  identity.on('expired', (event) => events.push(['expired', event]));
  await clock.advance(50_000);
  expect(events).toEqual([]);
  await clock.advance(20_000);
  expect(events).toHaveLength(1);
  await clock.advance(9.5 * MINUTE);
  expect(events).toHaveLength(1);
  await clock.advance(MINUTE);
  const event = { path: expect.stringContaining('tls.crt'), notAfter };
  expect(events).toEqual([
    ['expiring', expect.objectContaining(event)],
    ['expired', expect.objectContaining(event)],
  ]);
  await identity.reload();
  expect(events).toHaveLength(2);
  expect(warnings).toEqual([]);
});

test('a leaf that is not renewed is a process warning without a listener, once each', async () => {
  await scope.identity(scope.volume(files(shortLived().leaf, ca)));
  await clock.advance(12 * MINUTE);
  expect(warnings).toEqual([
    expect.stringMatching(/^LEAF_EXPIRING: .*tls\.crt expires at .*Z; /),
    expect.stringMatching(/^LEAF_EXPIRED: .*tls\.crt expired at .*Z and is still in use; /),
  ]);
});

test('a leaf that is replaced in time is not announced', async () => {
  const { leaf } = shortLived();
  const volume = scope.volume(files(leaf, ca));
  const identity = await scope.identity(volume);
  volume.write(files(ca.leaf(), ca));
  await identity.reload();
  await clock.advance(12 * MINUTE);
  expect(warnings).toEqual([]);
});

test('a system that is out of watches is in the status, and is reported once', async () => {
  const watched = await scope.trust(scope.volume({ 'ca.crt': ca.pem }));
  expect(watched.status().watching).toBe('events');
  system.outOfWatches = true;
  const polled = await scope.trust(scope.volume({ 'ca.crt': ca.pem }));
  expect(polled.status().watching).toBe('poll');
  await scope.trust(scope.volume({ 'ca.crt': ca.pem }));
  await atRest();
  expect(warnings).toEqual([
    expect.stringMatching(/^WATCH_UNAVAILABLE: .*ENOSPC.*every 60 s.*fs\.inotify\.max_user_/),
  ]);
  system.outOfWatches = false;
  await polled.reload();
  expect(polled.status().watching).toBe('events');
});

test('a file that stays bad is reported once each warnMs, however long the poll is', async () => {
  const volume = scope.volume({ 'ca.crt': ca.pem });
  const trust = await scope.trust(volume, { warnMs: 1_000, pollMs: 60_000 });
  const reasons: string[] = [];
  trust.on('kept', ({ reason }) => reasons.push(reason));
  volume.write({ 'ca.crt': '' });
  await clock.advance(0);
  expect(reasons).toEqual(['empty']);
  await clock.advance(10_000);
  expect(new Set(reasons)).toEqual(new Set(['empty']));
  // Each look is up to a fifth late, or early and then too early to report: reports are 1 to 2.2 s apart.
  expect(reasons.length).toBeGreaterThanOrEqual(5);
  expect(reasons.length).toBeLessThanOrEqual(11);
});
