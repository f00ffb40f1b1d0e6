import { createServer, type TLSSocket } from 'node:tls';
import { beforeEach, expect, test } from 'vitest';
import { Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { listen, readByte, UNKNOWN_AUTHORITY, wordsOf } from '../test/world.ts';
import { type HeldPems, openHeldIdentity } from './held-identity.ts';

const one = new MockCa('one');
const two = new MockCa('two');
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

const pemsOf = (ca: MockCa): HeldPems => ({ ...ca.leaf(), ca: ca.pem });
const hello = (socket: TLSSocket) => socket.on('error', () => undefined).write('!');

test('a server shows the certificate that is held in memory, and the next one after a reload', async () => {
  let held = pemsOf(one);
  const end = new AbortController();
  const identity = await openHeldIdentity('Secret a/b', () => held, { signal: end.signal });
  const { port } = scope.add(await listen(identity.serve(createServer({}, hello))));
  await readByte({ port, ca: one.pem });
  held = pemsOf(two);
  expect(await identity.reload()).toEqual({ reason: 'updated' });
  await readByte({ port, ca: two.pem });
  expect(await wordsOf(readByte({ port, ca: one.pem }))).toMatch(UNKNOWN_AUTHORITY);
  end.abort();
});

test('a key of another certificate is not taken, the Secret is named, and the key is not', async () => {
  let held = pemsOf(one);
  const end = new AbortController();
  const identity = await openHeldIdentity('Secret a/b', () => held, { signal: end.signal });
  const before = identity.hash;
  identity.on('kept', () => undefined);
  held = { ...pemsOf(two), key: held.key };
  const outcome = await identity.reload();
  expect(outcome).toMatchObject({ error: { code: 'KEY_MISMATCH' } });
  expect(identity.hash).toBe(before);
  expect(JSON.stringify(identity.status())).toContain('Secret a/b');
  expect(JSON.stringify([identity.status(), outcome])).not.toContain('PRIVATE KEY');
  end.abort();
});

test('an identity cannot be opened on a Secret that holds none', async () => {
  const opened = openHeldIdentity('Secret a/b', () => ({ cert: '', key: '', ca: '' }));
  await expect(opened).rejects.toMatchObject({ code: expect.stringMatching(/EMPTY|NO_CERTIFICATE|BLANK/) });
});
