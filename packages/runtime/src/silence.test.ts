import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { files, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { eventually } from '../test/world.ts';

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
let scope: Scope;
let warnings: string[];
const heard = (warning: Error & { code?: string }) => warnings.push(`${warning.code}: ${warning.message}`);
beforeEach(() => {
  scope = new Scope();
  warnings = [];
  process.on('warning', heard);
});
afterEach(async () => {
  process.off('warning', heard);
  system.outOfWatches = false;
  await scope.end();
});

const SECOND = 1_000;
const inWholeSeconds = (at: number): number => Math.ceil(at / SECOND) * SECOND;
/** Valid until about two seconds from now; the times of a certificate are whole seconds. */
const shortLived = () => {
  const notAfter = inWholeSeconds(Date.now() + 2 * SECOND);
  return { notAfter, leaf: ca.leaf({ notBefore: notAfter - 20 * SECOND, notAfter }) };
};

describe('A leaf that is not renewed', () => {
  test('is announced in the last tenth of its life and when it has expired, each once', async () => {
    const { leaf, notAfter } = shortLived();
    const identity = await scope.identity(scope.volume(files(leaf, ca)));
    const events: [string, object][] = [];
    identity.on('expiring', (event) => events.push(['expiring', event]));
    identity.on('expired', (event) => events.push(['expired', event]));
    await eventually(() => events.length >= 2);
    const event = { path: expect.stringContaining('tls.crt'), notAfter };
    expect(events).toEqual([
      ['expiring', expect.objectContaining(event)],
      ['expired', expect.objectContaining(event)],
    ]);
    await identity.reload();
    expect(events).toHaveLength(2);
    expect(warnings).toEqual([]);
  });

  test('is a process warning without a listener, once each', async () => {
    await scope.identity(scope.volume(files(shortLived().leaf, ca)));
    await eventually(() => warnings.length >= 2);
    expect(warnings).toEqual([
      expect.stringMatching(/^LEAF_EXPIRING: .*tls\.crt expires at .*Z; /),
      expect.stringMatching(/^LEAF_EXPIRED: .*tls\.crt expired at .*Z and is still in use; /),
    ]);
  });

  test('that is replaced in time is not announced', async () => {
    const { leaf, notAfter } = shortLived();
    const volume = scope.volume(files(leaf, ca));
    const identity = await scope.identity(volume);
    volume.write(files(ca.leaf(), ca));
    await identity.reload();
    await eventually(() => Date.now() > notAfter + 200);
    expect(warnings.filter((warning) => warning.startsWith('LEAF_EXPIRED'))).toEqual([]);
  });
});

describe('A system that is out of watches', () => {
  test('is in the status, and is said once', async () => {
    const watched = await scope.trust(scope.volume({ 'ca.crt': ca.pem }));
    expect(watched.status().watching).toBe('events');
    system.outOfWatches = true;
    const polled = await scope.trust(scope.volume({ 'ca.crt': ca.pem }));
    expect(polled.status().watching).toBe('poll');
    await scope.trust(scope.volume({ 'ca.crt': ca.pem }));
    await new Promise(setImmediate);
    expect(warnings).toEqual([
      expect.stringMatching(/^WATCH_UNAVAILABLE: .*ENOSPC.*every 60 s.*fs\.inotify\.max_user_/),
    ]);
    system.outOfWatches = false;
    await polled.reload();
    expect(polled.status().watching).toBe('events');
  });
});

describe('A file that stays bad', () => {
  test('is reported once each warnMs, however long the poll is', async () => {
    const volume = scope.volume({ 'ca.crt': ca.pem });
    const trust = await scope.trust(volume, { warnMs: 100, pollMs: 60_000 });
    const reasons: string[] = [];
    trust.on('kept', ({ reason }) => reasons.push(reason));
    volume.write({ 'ca.crt': '' });
    await eventually(() => reasons.length >= 3);
    expect(new Set(reasons)).toEqual(new Set(['empty']));
  });
});
