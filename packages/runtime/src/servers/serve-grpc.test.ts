import { Server } from '@grpc/grpc-js';
import { beforeEach, expect, test, vi } from 'vitest';
import { files, next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { readByte } from '../../test/world.ts';
import { serverCredentials } from '../grpc.ts';
import { type Identity, openTlsProfile, type TlsProfile } from '../index.ts';

const [one, two] = [new MockCa('one'), new MockCa('two')];
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

const bound = async (identity: Identity, profile: TlsProfile): Promise<number> => {
  const server = new Server();
  scope.after(() => server.forceShutdown());
  const credentials = serverCredentials(identity, { profile, requireClientCertificate: false });
  return new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', credentials, (error, port) => (error ? reject(error) : resolve(port))),
  );
};
const profileOf = (ciphers: readonly string[], minTLSVersion = 'VersionTLS13') => ({
  'profile.json': JSON.stringify({ ciphers, minTLSVersion }),
});
const h2 = { ALPNProtocols: ['h2'] };

test('a gRPC server that cannot use the newest certificate goes on with the one before, and the status shows that one', async () => {
  const volume = scope.volume(files(one.leaf(), one));
  const identity = await scope.identity(volume);
  const profiles = scope.volume(profileOf(['TLS_AES_128_GCM_SHA256']));
  const profile = await openTlsProfile(profiles.path('profile.json'), { signal: scope.signal });
  const port = await bound(identity, profile);
  const { leaf, anchors } = identity.status();
  const { tlsOptions } = profile;
  profile.tlsOptions = () => ({ ciphers: 'no-such-cipher' });
  const kept = next(identity, 'kept');
  volume.write(files(two.leaf(), two));
  await kept;
  await readByte({ port, ca: one.pem, ...h2 });
  expect(identity.status()).toMatchObject({ leaf, anchors, lastFailure: { code: 'LOAD_FAILED' } });
  const refused = next(profile as never, 'kept');
  const { hash } = profile.status();
  profiles.write(profileOf(['TLS_AES_256_GCM_SHA384']));
  await refused;
  expect(profile.status()).toMatchObject({ hash, lastFailure: { code: 'LOAD_FAILED' } });
  profile.tlsOptions = tlsOptions;
  volume.write(files(two.leaf(), two));
  await identity.reload();
  await readByte({ port, ca: two.pem, ...h2 });
  expect(identity.status().lastFailure).toBeUndefined();
  expect(profile.status().lastFailure).toBeUndefined();
});

test('a gRPC server refuses the tickets of an earlier TLS profile', async () => {
  const identity = await scope.identity(scope.volume(files(one.leaf(), one)));
  const suites = ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'];
  const profiles = scope.volume(profileOf(suites, 'VersionTLS12'));
  const profile = await openTlsProfile(profiles.path('profile.json'), { signal: scope.signal });
  const port = await bound(identity, profile);
  const connected = (session?: Buffer) =>
    readByte({
      port,
      ca: one.pem,
      ...h2,
      maxVersion: 'TLSv1.2',
      ...(session === undefined ? {} : { session }),
    });
  const { session } = await connected();
  expect((await connected(session)).resumed).toBe(true);
  profiles.write(profileOf(suites.slice(1), 'VersionTLS12'));
  await profile.reload();
  expect((await connected(session)).resumed).toBe(false);
});

test('a gRPC server on Bun, which keeps its first certificate, is refused', async () => {
  const identity = await scope.identity(scope.volume(files(one.leaf(), one)));
  vi.stubGlobal(
    'process',
    Object.create(process, { versions: { value: { ...process.versions, bun: '1.0.0' } } }),
  );
  scope.after(() => vi.unstubAllGlobals());
  expect(() => serverCredentials(identity)).toThrow(/serverCredentials\(\) does not work on bun/);
});
