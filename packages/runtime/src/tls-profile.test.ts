import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { files, next, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { KINDS } from '../test/servers.ts';
import { eventually, listen, ok, readByte, wordsOf } from '../test/world.ts';
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

describe('A TLS profile', () => {
  describe.each(KINDS)('in a %s server', (kind, create) => {
    test('S1.12: a change is live at once, without a restart and without one refused TLS 1.3 handshake', async () => {
      const ca = new MockCa('one');
      const identity = await scope.identity(scope.volume(files(ca.leaf(), ca)));
      const volume = scope.volume(json(INTERMEDIATE));
      const profile = await open(volume.path('profile.json'));
      const target = scope.add(await listen(identity.serve(create({}), { profile })));
      const with12 = () => ok(readByte({ port: target.port, ca: ca.pem, maxVersion: 'TLSv1.2' }));
      const with13 = () => wordsOf(readByte({ port: target.port, ca: ca.pem, minVersion: 'TLSv1.3' }));
      let changing = true;
      const answers: string[] = [];
      const clients = [1, 2, 3].map(async () => {
        while (changing) answers.push(await with13());
      });
      expect(await with12()).toBe(true);
      for (let change = 0; change < 5; change++) {
        for (const [to, takes12] of [
          [MODERN, false],
          [INTERMEDIATE, true],
        ] as const) {
          const reloaded = next(profile as never, 'reloaded');
          volume.write(json(to));
          await reloaded;
          expect(await with12()).toBe(takes12);
          const soFar = answers.length;
          await eventually(() => answers.length > soFar + 3);
        }
      }
      changing = false;
      await Promise.all(clients);
      expect(answers.filter((answer) => answer !== 'no error')).toEqual([]);
      // and the certificate can change without losing the profile
      volume.write(json(MODERN));
      await next(profile as never, 'reloaded');
      expect(await identity.reload()).toEqual({ reason: 'unchanged' });
      expect(await with12()).toBe(false);
    });

    test(`a suite that a TLS profile has lost does not come back by resumption, in a ${kind} server`, async () => {
      const ca = new MockCa('one');
      const identity = await scope.identity(scope.volume(files(ca.leaf(), ca)));
      const [gone, kept] = ['ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES128-GCM-SHA256'];
      const volume = scope.volume(json({ ciphers: [gone, kept] }));
      const profile = await open(volume.path('profile.json'));
      const target = scope.add(await listen(identity.serve(create({}), { profile })));
      const first = await readByte({ port: target.port, ca: ca.pem, ciphers: gone });
      const again = { port: target.port, ca: ca.pem, ciphers: `${gone}:${kept}`, session: first.session };
      expect((await readByte(again as never)).resumed).toBe(true);
      volume.write(json({ ciphers: [kept] }));
      await next(profile as never, 'reloaded');
      expect((await readByte(again as never)).resumed).toBe(false);
    });
  });

  test.each([
    ['not JSON', '{', 'TLS_PROFILE_INVALID'],
    ['of an unknown version', { ...MODERN, minTLSVersion: 'VersionTLS99' }, 'TLS_PROFILE_UNKNOWN_VERSION'],
    ['without one supported cipher', { ...INTERMEDIATE, ciphers: ['NOPE'] }, 'TLS_PROFILE_NO_CIPHER'],
    ['without one supported group', { ...MODERN, groups: ['nope'] }, 'TLS_PROFILE_NO_GROUP'],
    ['empty', '', 'FILE_EMPTY'],
  ])('S1: a TLS profile that is %s is refused, and later changes nothing', async (_, content, code) => {
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

  test('a copy of a TLS profile that is damaged, or cannot be written, does not make things worse', async () => {
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

  const stamp = (hash: string) => ({
    annotations: `a.example/note="one\\ntwo"\nhandover.dev/tls-profile-hash="${hash}"\nkubernetes.io/config.seen="2026-11-15"\n`,
  });
  const hashOf = (profile: object) => createHash('sha256').update(JSON.stringify(profile)).digest('hex');

  test('S1.11: a pod is not ready until the mounted file is the one the pod was stamped with', async () => {
    const volume = scope.volume(json(INTERMEDIATE));
    const pod = scope.volume(stamp(hashOf(MODERN)));
    const profile = await open(volume.path('profile.json'), { annotations: pod.path('annotations') });
    expect(profile.hash).toBe(hashOf(INTERMEDIATE));
    expect([profile.ready, profile.status().ready]).toEqual([false, false]);
    volume.write(json({ ...MODERN, groups: ['X25519'] }));
    await next(profile as never, 'reloaded');
    expect(profile.ready).toBe(false);
    volume.write(json(MODERN));
    await next(profile as never, 'reloaded');
    expect([profile.ready, profile.status().ready]).toEqual([true, true]);
  });

  test('S1.11: a pod that was ready stays so when the file moves on before the pod is replaced', async () => {
    const volume = scope.volume(json(INTERMEDIATE));
    const pod = scope.volume(stamp(hashOf(INTERMEDIATE)));
    const profile = await open(volume.path('profile.json'), { annotations: pod.path('annotations') });
    expect(profile.ready).toBe(true);
    volume.write(json(MODERN));
    await next(profile as never, 'reloaded');
    expect([profile.hash, profile.ready]).toEqual([hashOf(MODERN), true]);
  });

  test('S1.11: the copy counts as what it is: ready only if the pod was stamped with it', async () => {
    const volume = scope.volume(json(INTERMEDIATE));
    const path = volume.path('profile.json');
    const lastKnownGood = scope.volume({}).path('copy.json');
    await open(path, { lastKnownGood });
    volume.write({ 'profile.json': '{' });
    const readyWith = async (hash: string) => {
      const pod = scope.volume(stamp(hash));
      return (await open(path, { lastKnownGood, annotations: pod.path('annotations') })).ready;
    };
    expect(await readyWith(hashOf(INTERMEDIATE))).toBe(true);
    expect(await readyWith(hashOf(MODERN))).toBe(false);
  });

  test('S1.11: a pod without a stamp is ready, one with only the value in its file is compared, a stamp that comes later counts', async () => {
    const path = scope.volume(json(INTERMEDIATE)).path('profile.json');
    const readyWith = async (annotations: string) =>
      (await open(path, { annotations: scope.volume({ annotations }).path('annotations') })).ready;
    expect(await readyWith('')).toBe(true);
    expect(await readyWith('another.dev/tls-profile-hash="0"\n')).toBe(true);
    expect(await readyWith(hashOf(INTERMEDIATE))).toBe(true);
    expect(await readyWith(hashOf(MODERN))).toBe(false);
    expect(await readyWith('handover.dev/tls-profile-hash=""')).toBe(true);
    expect(await readyWith('handover.dev/tls-profile-hash="nonsense"')).toBe(false);
    const missing = scope.volume({}).path('annotations');
    await expect(open(path, { annotations: missing })).rejects.toMatchObject({
      code: 'FILE_MISSING',
      path: missing,
    });
    const pod = scope.volume(stamp(hashOf(MODERN)));
    const profile = await open(path, { annotations: pod.path('annotations') });
    expect(profile.ready).toBe(false);
    pod.write(stamp(hashOf(INTERMEDIATE)));
    await eventually(() => profile.ready);
  });
});
