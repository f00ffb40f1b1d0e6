import { createHash } from 'node:crypto';
import { createServer } from 'node:tls';
import { beforeEach, expect, test } from 'vitest';
import { files, next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { hello } from '../../test/servers.ts';
import { listen, readByte } from '../../test/world.ts';
import { openTlsProfile } from '../index.ts';

const [one, two] = [new MockCa('one'), new MockCa('two')];
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

test('a server that listens again after it was closed shows the newest certificate, and follows on', async () => {
  const volume = scope.volume(files(one.leaf(), one));
  const identity = await scope.identity(volume);
  const server = identity.serve(createServer({}, hello));
  await (await listen(server)).close();
  volume.write(files(two.leaf(), two));
  await next(identity, 'reloaded');
  const again = scope.add(await listen(server));
  await readByte({ port: again.port, ca: two.pem });
  volume.write(files(one.leaf(), one));
  await next(identity, 'reloaded');
  await readByte({ port: again.port, ca: one.pem });
});

test('a server that listens again and refuses the newest certificate is shown with the one that it took last', async () => {
  const volume = scope.volume(files(one.leaf(), one));
  const identity = await scope.identity(volume);
  const server = identity.serve(createServer({}, hello));
  const { leaf, anchors } = identity.status();
  await (await listen(server)).close();
  volume.write(files(two.leaf(), two));
  await next(identity, 'reloaded');
  expect(identity.status().leaf).not.toEqual(leaf);
  const { setSecureContext } = server;
  server.setSecureContext = () => {
    throw new Error('refused');
  };
  const again = scope.add(await listen(server));
  await readByte({ port: again.port, ca: one.pem });
  expect(identity.status()).toMatchObject({ leaf, anchors, lastFailure: { code: 'LOAD_FAILED' } });
  // A second change that is refused leaves it with the same.
  volume.write(files(two.leaf(), one, two));
  await identity.reload();
  expect(identity.status()).toMatchObject({ leaf, anchors });
  server.setSecureContext = setSecureContext;
  volume.write(files(two.leaf(), two));
  await identity.reload();
  await readByte({ port: again.port, ca: two.pem });
  expect(identity.status().lastFailure).toBeUndefined();
  expect(identity.status().leaf).not.toEqual(leaf);
});

const OLD = JSON.stringify({ ciphers: ['TLS_AES_128_GCM_SHA256'], minTLSVersion: 'VersionTLS13' });
const NEW = JSON.stringify({ ciphers: ['TLS_AES_256_GCM_SHA384'], minTLSVersion: 'VersionTLS13' });
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

const annotations = `handover.dev/tls-profile-hash="${hashOf(NEW)}"`;

/** Two servers with one identity and one profile, in a pod that is stamped with the new profile, which the first server refuses. */
async function refusedWorld() {
  const volume = scope.volume(files(one.leaf(), one));
  const identity = await scope.identity(volume);
  const profiles = scope.volume({ 'profile.json': OLD, annotations });
  const profile = await openTlsProfile(profiles.path('profile.json'), {
    annotations: profiles.path('annotations'),
    signal: scope.signal,
  });
  const start = async () => listen(identity.serve(createServer({}, hello), { profile }));
  const refusing = await start();
  scope.add(await start());
  const { setSecureContext } = refusing.server;
  refusing.server.setSecureContext = () => {
    throw new Error('refused');
  };
  const kept = next(profile as never, 'kept');
  profiles.write({ 'profile.json': NEW, annotations });
  expect((await kept).error.message).toContain('refused');
  await profile.reload();
  const accept = () => {
    refusing.server.setSecureContext = setSecureContext;
  };
  return { volume, identity, profile, refusing, accept };
}
const REFUSED = { hash: hashOf(OLD), ready: false, lastFailure: { code: 'LOAD_FAILED' } };

test('a profile that one server refuses is not shown as in use, until that server takes it', async () => {
  const { volume, identity, profile, refusing, accept } = await refusedWorld();
  scope.add(refusing);
  expect(profile.status()).toMatchObject(REFUSED);
  // the certificate is in use as before
  const { leaf, lastFailure } = identity.status();
  expect(lastFailure).toBeUndefined();
  const kept = next(identity, 'kept');
  volume.write(files(two.leaf(), two));
  await kept;
  await identity.reload();
  expect(identity.status()).toMatchObject({ leaf, lastFailure: { code: 'LOAD_FAILED' } });
  expect(profile.status()).toMatchObject(REFUSED);
  accept();
  volume.write(files(one.leaf(), one));
  await identity.reload();
  await readByte({ port: refusing.port, ca: one.pem, ciphers: 'TLS_AES_256_GCM_SHA384' });
  for (const status of [profile.status(), identity.status()]) expect(status.lastFailure).toBeUndefined();
  expect(profile.status()).toMatchObject({ hash: hashOf(NEW), ready: true });
});

test('a server that takes a new profile takes the certificate that it refused before', async () => {
  const volume = scope.volume(files(one.leaf(), one));
  const identity = await scope.identity(volume);
  const profiles = scope.volume({ 'profile.json': OLD });
  const profile = await openTlsProfile(profiles.path('profile.json'), { signal: scope.signal });
  const target = scope.add(await listen(identity.serve(createServer({}, hello), { profile })));
  const { setSecureContext } = target.server;
  target.server.setSecureContext = () => {
    throw new Error('refused');
  };
  const before = identity.status().leaf;
  volume.write(files(two.leaf(), two));
  await identity.reload();
  expect(identity.status()).toMatchObject({ leaf: before, lastFailure: { code: 'LOAD_FAILED' } });
  target.server.setSecureContext = setSecureContext;
  profiles.write({ 'profile.json': NEW });
  await profile.reload();
  await readByte({ port: target.port, ca: two.pem });
  expect(identity.status().lastFailure).toBeUndefined();
  expect(identity.status().leaf).not.toEqual(before);
});

test('a profile is in use everywhere once the server that refused it is closed', async () => {
  const { profile, refusing } = await refusedWorld();
  expect(profile.status()).toMatchObject(REFUSED);
  await refusing.close();
  expect(profile.status()).toMatchObject({ hash: hashOf(NEW), ready: true });
  expect(profile.status().lastFailure).toBeUndefined();
});
