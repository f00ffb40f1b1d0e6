import { createServer } from 'node:tls';
import { beforeEach, expect, test } from 'vitest';
import { files, next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { hello } from '../../test/servers.ts';
import { listen, readByte } from '../../test/world.ts';
import { FollowedMaterial } from './material.ts';
import { patchTls } from './patch.ts';

const one = new MockCa('one');
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

test('under register the status shows new material only when every context of the program takes it', async () => {
  const leaf = one.leaf();
  const volume = scope.volume(files(leaf, one));
  const identity = await scope.identity(volume, { ca: false });
  patchTls(new FollowedMaterial({ identity, caOnly: false }));
  // RSA of 2,048 bits is good for most contexts, and too weak for this one.
  const { cert, key } = leaf;
  const server = createServer({ cert, key, ciphers: 'ALL@SECLEVEL=3' }, hello);
  const target = scope.add(await listen(server));
  const before = identity.status();
  const kept = next(identity, 'kept');
  volume.write(files(one.leaf({ rsa: 2048 }), one));
  expect((await kept).error.code).toBe('LOAD_FAILED');
  const old = { leaf: before.leaf, loads: 1, lastFailure: { code: 'LOAD_FAILED' } };
  expect(identity.status()).toMatchObject(old);
  await identity.reload();
  expect(identity.status()).toMatchObject(old);
  await readByte({ port: target.port, ca: one.pem });
  const reloaded = next(identity, 'reloaded');
  volume.write(files(one.leaf(), one));
  await reloaded;
  const after = identity.status();
  expect(after.loads).toBe(3);
  expect(after.leaf).not.toEqual(before.leaf);
  expect(after.lastFailure).toBeUndefined();
});
