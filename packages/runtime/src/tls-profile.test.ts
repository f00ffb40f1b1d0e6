import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { files, next, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { eventually, listen, ok, readByte } from '../test/world.ts';
import { openTlsProfile } from './index.ts';

const INTERMEDIATE = {
  ciphers: ['TLS_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  minTLSVersion: 'VersionTLS12',
};
const MODERN = { ciphers: ['TLS_AES_128_GCM_SHA256'], minTLSVersion: 'VersionTLS13' };
const json = (profile: object) => ({ 'profile.json': JSON.stringify(profile) });

let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});
afterEach(() => scope.end());

/** The first process warning that says this. */
const warning = (text: string) =>
  new Promise<void>((resolve) => {
    const listener = ({ message }: Error) => {
      if (!message.includes(text)) return;
      process.off('warning', listener);
      resolve();
    };
    process.on('warning', listener);
  });

const open = (path: string, options = {}) => openTlsProfile(path, { signal: scope.signal, ...options });

const hello = (socket: TLSSocket) => {
  socket.on('error', () => undefined);
  socket.write('!');
};

describe('A TLS profile', () => {
  test('S1.12: a change reaches a serving process without a restart', async () => {
    const ca = new MockCa('one');
    const identity = await scope.identity(scope.volume(files(ca.leaf(), ca)));
    const volume = scope.volume(json(INTERMEDIATE));
    const profile = await open(volume.path('profile.json'));
    const target = scope.add(await listen(identity.serve(createServer({}, hello), { profile })));
    const with12 = () => ok(readByte({ port: target.port, ca: ca.pem, maxVersion: 'TLSv1.2' }));
    const with13 = () => ok(readByte({ port: target.port, ca: ca.pem, minVersion: 'TLSv1.3' }));
    expect([await with12(), await with13()]).toEqual([true, true]);
    volume.write(json(MODERN));
    await next(profile as never, 'reloaded');
    expect([await with12(), await with13()]).toEqual([false, true]);
    // and the certificate can change without losing the profile
    expect(await identity.reload()).toEqual({ reason: 'unchanged' });
  });

  test.each([
    ['not JSON', '{', 'TLS_PROFILE_INVALID'],
    ['of an unknown version', { ...MODERN, minTLSVersion: 'VersionTLS99' }, 'TLS_PROFILE_UNKNOWN_VERSION'],
    ['without one supported cipher', { ...INTERMEDIATE, ciphers: ['NOPE'] }, 'TLS_PROFILE_NO_CIPHER'],
    ['without one supported group', { ...MODERN, groups: ['nope'] }, 'TLS_PROFILE_NO_GROUP'],
    ['empty', '', 'FILE_EMPTY'],
  ])('S1: one that is %s is refused, and later changes nothing', async (_, content, code) => {
    const bad = { 'profile.json': typeof content === 'string' ? content : JSON.stringify(content) };
    const volume = scope.volume(bad);
    const path = volume.path('profile.json');
    await expect(open(path)).rejects.toMatchObject({ code, path, message: expect.stringContaining(path) });
    volume.write(json(MODERN));
    const profile = await open(path);
    const { hash } = profile;
    volume.write(bad);
    expect(await profile.reload()).toMatchObject({ error: { code } });
    expect(profile.hash).toBe(hash);
    expect(profile.tlsOptions()).toMatchObject({ minVersion: 'TLSv1.3' });
  });

  test('S1.8: an unknown cipher beside a good one is named, the rest is served', async () => {
    const warned = warning('NOPE-SHA');
    const volume = scope.volume(json({ ...INTERMEDIATE, ciphers: [...INTERMEDIATE.ciphers, 'NOPE-SHA'] }));
    const profile = await open(volume.path('profile.json'));
    expect(profile.warnings.map(({ message }) => message).join()).toContain('NOPE-SHA');
    await warned;
  });

  test('S1.2: the last known good copy is kept at 0600 and used when the file is bad at the next start', async () => {
    const volume = scope.volume(json(MODERN));
    const path = volume.path('profile.json');
    const lastKnownGood = scope.volume({}).path('copy.json');
    const first = await open(path, { lastKnownGood });
    expect(statSync(lastKnownGood).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(lastKnownGood, 'utf8'))).toMatchObject(MODERN);
    volume.write({ 'profile.json': '{' });
    const warned = warning(path);
    const second = await open(path, { lastKnownGood });
    expect(second.hash).toBe(first.hash);
    await warned;
    expect(second.status()).toMatchObject({
      lastKnownGood: true,
      lastFailure: { code: 'TLS_PROFILE_INVALID' },
    });
    volume.write(json(INTERMEDIATE));
    await next(second as never, 'reloaded');
    expect(second.status().lastKnownGood).toBeUndefined();
    await eventually(() => readFileSync(lastKnownGood, 'utf8').includes('VersionTLS12'));
  });

  test('a copy that is damaged, or cannot be written, does not make things worse', async () => {
    const volume = scope.volume({ 'profile.json': '{' });
    const copies = scope.volume({});
    writeFileSync(copies.path('copy.json'), 'damaged');
    const path = volume.path('profile.json');
    await expect(open(path, { lastKnownGood: copies.path('copy.json') })).rejects.toMatchObject({
      code: 'TLS_PROFILE_INVALID',
      path,
    });
    volume.write(json(MODERN));
    mkdirSync(copies.path('taken'));
    chmodSync(copies.path('taken'), 0o700);
    const profile = await open(path, { lastKnownGood: copies.path('taken') });
    expect(profile.tlsOptions()).toMatchObject({ minVersion: 'TLSv1.3' });
  });

  test('S1.11: not ready until the mounted file is the one the pod was stamped with', async () => {
    const volume = scope.volume(json(INTERMEDIATE));
    const modern = await open(scope.volume(json(MODERN)).path('profile.json'));
    const pod = scope.volume({ hash: modern.hash });
    const profile = await open(volume.path('profile.json'), { expectedHash: pod.path('hash') });
    expect(profile.ready).toBe(false);
    expect(profile.status().ready).toBe(false);
    volume.write(json(MODERN));
    await next(profile as never, 'reloaded');
    expect(profile.ready).toBe(true);
    pod.write({ hash: '' });
    await eventually(() => profile.ready);
  });
});
