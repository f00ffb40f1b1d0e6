import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { instant, parseCertificates } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { next, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { eventually, get, httpsServer, ok, UNKNOWN_AUTHORITY, wordsOf } from '../test/world.ts';
import * as files from './files/read-files.ts';
import { type KeptEvent, openTrust } from './index.ts';

vi.mock('./files/read-files.ts', { spy: true });

const one = new MockCa('one');
const two = new MockCa('two');
let clock: TestClock;
let scope: Scope;

beforeEach(() => {
  clock = new TestClock(instant(Date.now()));
  scope = new Scope(clock);
  vi.mocked(files.readAll).mockClear();
});

const reads = () => vi.mocked(files.readAll).mock.calls.length;

describe('Trust', () => {
  test('S2.3: a hundred handshakes at the moment of a reload cost one read', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const target = scope.add(await httpsServer(two));
    const trust = await scope.trust(volume);
    const agent = trust.httpsAgent();
    const before = reads();
    const refused = await Promise.all(Array.from({ length: 100 }, () => wordsOf(get(target.url, { agent }))));
    expect(refused.every((words) => UNKNOWN_AUTHORITY.test(words))).toBe(true);
    expect(reads() - before).toBe(1);
    // a hundred that all ask for it themselves
    const asked = reads();
    await Promise.all(Array.from({ length: 100 }, () => trust.reload()));
    expect(reads() - asked).toBe(1);
  });

  test.each([
    ['an empty file', '', 'empty', 'FILE_EMPTY'],
    ['blank space', ' \n\n', 'empty', 'FILE_EMPTY'],
    ['text', 'hello', 'parse_error', 'BUNDLE_EMPTY'],
    ['a private key', one.leaf().key, 'parse_error', 'PEM_PRIVATE_KEY_IN_BUNDLE'],
    ['a bundle cut short', (one.pem + two.pem).slice(0, -80), 'parse_error', 'PEM_TRUNCATED'],
    [
      'a good certificate and a bad one',
      one.pem + two.pem.replace('\nMII', '\nAII'),
      'parse_error',
      undefined,
    ],
    ['a leaf in the place of the CA', one.leaf().cert, 'parse_error', 'BUNDLE_NO_CA'],
    ['two leaves', one.leaf().cert + two.leaf().cert, 'parse_error', 'BUNDLE_NO_CA'],
    ['no file', undefined, 'read_error', 'FILE_MISSING'],
  ])(
    'S2.4: %s keeps the last good bundle, with a label, once; then a good one is taken',
    async (_, content, reason, code) => {
      const volume = scope.volume({ 'ca.crt': one.pem });
      const trust = await scope.trust(volume);
      const context = trust.secureContext();
      const kept: KeptEvent[] = [];
      trust.on('kept', (event) => kept.push(event));
      volume.write(content === undefined ? {} : { 'ca.crt': content });
      await eventually(() => kept.length === 1);
      expect(kept[0]?.reason).toBe(reason);
      if (code !== undefined) expect(kept[0]?.error.code).toBe(code);
      expect(kept[0]?.path).toBe(volume.path('ca.crt'));
      expect(kept[0]?.error.message).toContain(volume.path('ca.crt'));
      for (let i = 0; i < 10; i++) expect((await trust.reload()).reason).toBe(reason);
      expect(kept).toHaveLength(1);
      expect(trust.secureContext()).toBe(context);
      expect(trust.pem).toBe(one.pem);
      expect(trust.status().lastFailure).toMatchObject({ reason });
      volume.write({ 'ca.crt': two.pem });
      await next(trust, 'reloaded');
      expect(trust.pem).toBe(two.pem);
      expect(trust.status().lastFailure).toBeUndefined();
    },
  );

  test('S2.4: the warning comes again after the interval', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const trust = await scope.trust(volume);
    let kept = 0;
    trust.on('kept', () => kept++);
    volume.write({ 'ca.crt': '' });
    await trust.reload();
    await clock.advance(59_000);
    await trust.reload();
    expect(kept).toBe(1);
    await clock.advance(1_000);
    await trust.reload();
    expect(kept).toBe(2);
  });

  test('a failure without a listener is a process warning', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    await scope.trust(volume);
    const warning = new Promise<Error & { code?: string }>((resolve) => process.once('warning', resolve));
    volume.write({ 'ca.crt': '' });
    expect(await warning).toMatchObject({ name: 'HandoverWarning', code: 'FILE_EMPTY' });
  });

  test.each([
    ['missing', undefined, 'FILE_MISSING'],
    ['empty', '', 'FILE_EMPTY'],
    ['no bundle', 'x', 'BUNDLE_EMPTY'],
    ['a key', one.leaf().key, 'PEM_PRIVATE_KEY_IN_BUNDLE'],
    ['a leaf', one.leaf().cert, 'BUNDLE_NO_CA'],
  ])(
    'S2.5: a file that is %s at the first load is an error that names the path',
    async (_, content, code) => {
      const volume = scope.volume(content === undefined ? {} : { 'ca.crt': content });
      const path = volume.path('ca.crt');
      await expect(openTrust(path)).rejects.toMatchObject({
        name: 'HandoverError',
        code,
        path,
        message: expect.stringContaining(path),
      });
    },
  );

  test('a pinned self-signed server certificate is trusted, and so is a CA beside a leaf, which the status leaves out', async () => {
    const pinned = one.selfSigned();
    const target = scope.add(await httpsServer(one, pinned));
    const volume = scope.volume({ 'ca.crt': pinned.cert });
    const trust = await scope.trust(volume);
    const agent = trust.httpsAgent();
    expect(await ok(get(target.url, { agent }))).toBe(true);
    const fingerprint = (pem: string) => parseCertificates(pem).certificates[0]?.fingerprint;
    const intermediate = one.crossSign(two);
    for (const [content, anchor] of [
      [two.leaf().cert + two.pem, two.pem],
      [intermediate, intermediate],
    ] as const) {
      volume.write({ 'ca.crt': content });
      await trust.reload();
      expect(trust.status().anchors).toEqual([fingerprint(anchor)]);
      expect(trust.status().lastFailure).toBeUndefined();
    }
  });

  test('an identity with a leaf beside the CA shows the CA alone', async () => {
    const leaf = one.leaf();
    const volume = scope.volume({ 'tls.crt': leaf.cert, 'tls.key': leaf.key, 'ca.crt': leaf.cert + one.pem });
    const { anchors } = (await scope.identity(volume)).status();
    expect(anchors).toEqual([parseCertificates(one.pem).certificates[0]?.fingerprint]);
  });

  test('an identity does not take a leaf for its client CA', async () => {
    const leaf = one.leaf();
    const volume = scope.volume({ 'tls.crt': leaf.cert, 'tls.key': leaf.key, 'ca.crt': leaf.cert });
    const path = volume.path('ca.crt');
    await expect(scope.identity(volume)).rejects.toMatchObject({ code: 'BUNDLE_NO_CA', path });
  });

  test('S2.8: the same bytes are unchanged, and so is the context', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem + two.pem });
    const trust = await scope.trust(volume);
    const context = trust.secureContext();
    expect(await trust.reload()).toEqual({ reason: 'unchanged' });
    volume.write({ 'ca.crt': one.pem + two.pem });
    expect(await trust.reload()).toEqual({ reason: 'unchanged' });
    volume.write({ 'ca.crt': `comment\n${two.pem}\n${one.pem}${one.pem}` });
    expect(await trust.reload()).toEqual({ reason: 'unchanged' });
    expect(trust.secureContext()).toBe(context);
    expect(trust.status().loads).toBe(1);
    volume.write({ 'ca.crt': two.pem });
    expect(await trust.reload()).toEqual({ reason: 'updated' });
    expect(trust.secureContext()).not.toBe(context);
  });

  test('S2.10: forced reloads come at most once a second, however many handshakes fail', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const target = scope.add(await httpsServer(two));
    const trust = await scope.trust(volume);
    const agent = trust.httpsAgent();
    const before = reads();
    for (let i = 0; i < 5; i++) await ok(get(target.url, { agent }));
    expect(reads() - before).toBe(1);
    await clock.advance(999);
    await ok(get(target.url, { agent }));
    expect(reads() - before).toBe(1);
    await clock.advance(2);
    for (let i = 0; i < 5; i++) await ok(get(target.url, { agent }));
    expect(reads() - before).toBe(2);
  });

  test('plain files work too: replaced by rename, or written in place', async () => {
    const volume = scope.volume({});
    const path = volume.path('plain.crt');
    writeFileSync(path, one.pem);
    const trust = await openTrust(path, scope.follow);
    const renamed = next(trust, 'reloaded');
    writeFileSync(`${path}.new`, two.pem);
    renameSync(`${path}.new`, path);
    await clock.during(renamed);
    expect(trust.pem).toBe(two.pem);
    const kept = next(trust, 'kept');
    const whole = next(trust, 'reloaded');
    writeFileSync(path, one.pem.slice(0, 200));
    await clock.during(kept);
    expect(trust.pem).toBe(two.pem);
    writeFileSync(path, one.pem);
    await clock.during(whole);
    expect(trust.pem).toBe(one.pem);
  });

  test('a directory that goes away and comes back is followed again', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const trust = await scope.trust(volume);
    const other = scope.volume({ 'ca.crt': two.pem });
    const kept = next(trust, 'kept');
    renameSync(volume.dir, `${volume.dir}.away`);
    scope.after(() => renameSync(`${volume.dir}.away`, `${volume.dir}.gone`));
    await clock.during(kept);
    const back = next(trust, 'reloaded');
    renameSync(other.dir, volume.dir);
    await clock.during(back);
    expect(trust.pem).toBe(two.pem);
    const again = next(trust, 'reloaded');
    volume.write({ 'ca.crt': one.pem });
    await clock.during(again);
    expect(trust.pem).toBe(one.pem);
  });

  test('the poll finds a change that no event reported', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const root = volume.path('a');
    mkdirSync(`${root}/b`, { recursive: true });
    mkdirSync(`${root}2/b`, { recursive: true });
    writeFileSync(`${root}/b/ca.crt`, one.pem);
    writeFileSync(`${root}2/b/ca.crt`, two.pem);
    const trust = await openTrust(`${root}/b/ca.crt`, scope.follow);
    renameSync(root, `${root}1`);
    renameSync(`${root}2`, root);
    await clock.advance(47_000);
    expect(trust.pem).toBe(one.pem);
    await clock.advance(25_000);
    expect(trust.pem).toBe(two.pem);
  });

  test('an aborted signal ends following; what was loaded stays usable', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const stop = new AbortController();
    const trust = await scope.trust(volume, { signal: stop.signal });
    stop.abort();
    volume.write({ 'ca.crt': two.pem });
    expect(await trust.reload()).toEqual({ reason: 'unchanged' });
    expect(trust.pem).toBe(one.pem);
    await expect(scope.trust(volume, { signal: stop.signal })).rejects.toThrow();
  });

  test('options of a trust that make no sense are refused by name', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    for (const pollMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(scope.trust(volume, { pollMs })).rejects.toMatchObject({ code: 'OPTION_INVALID' });
    }
  });
});
