import { createServer, type TLSSocket } from 'node:tls';
import { parseCertificates } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { next, Scope } from '../test/fixture.ts';
import { type Leaf, MockCa } from '../test/mock-ca.ts';
import { listen, readByte, UNKNOWN_AUTHORITY, wordsOf } from '../test/world.ts';
import { openIdentity } from './identity.ts';

const one = new MockCa('one');
const two = new MockCa('two');
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

const NAME = 'credentialbundle.pem';
const hello = (socket: TLSSocket) => socket.on('error', () => undefined).write('!');
/** As a kubelet writes it: the key first, then the chain. */
const bundle = ({ key, cert }: Pick<Leaf, 'key' | 'cert'>) => ({ [NAME]: `${key}${cert}` });
const opened = async (volume: { path(name: string): string }, signal: AbortSignal) =>
  openIdentity({ cert: volume.path(NAME), key: volume.path(NAME) }, { signal });

test('a server follows a file that holds key and chain, across the swap of its volume', async () => {
  const end = new AbortController();
  const volume = scope.volume(bundle(one.leaf()));
  const identity = await opened(volume, end.signal);
  const { port } = scope.add(await listen(identity.serve(createServer({}, hello))));
  await readByte({ port, ca: one.pem });
  volume.write(bundle(two.leaf()));
  await next(identity, 'reloaded');
  await readByte({ port, ca: two.pem });
  expect(await wordsOf(readByte({ port, ca: one.pem }))).toMatch(UNKNOWN_AUTHORITY);
  expect(identity.pem).not.toContain('PRIVATE KEY');
  expect(JSON.stringify(identity.status())).not.toContain('PRIVATE KEY');
  end.abort();
});

test('separate files of one volume, keyPath and certificateChainPath, are read from one version of it', async () => {
  const end = new AbortController();
  const files = ({ key, cert }: Pick<Leaf, 'key' | 'cert'>) => ({ 'key.pem': key, 'chain.pem': cert });
  const volume = scope.volume(files(one.leaf()));
  const paths = { cert: volume.path('chain.pem'), key: volume.path('key.pem') };
  const identity = await openIdentity(paths, { signal: end.signal });
  const before = identity.hash;
  volume.write(files(two.leaf()));
  await next(identity, 'reloaded');
  expect(identity.hash).not.toBe(before);
  end.abort();
});

test.each([
  ['no key', 'KEY_MISSING', () => one.leaf().cert],
  ['no certificate', 'PEM_NO_CERTIFICATE', () => one.leaf().key],
  ['nothing', 'FILE_EMPTY', () => '\n'],
  ['two keys', 'KEY_AMBIGUOUS', () => `${one.leaf().key}${one.leaf().key}${one.leaf().cert}`],
  ['the key of another', 'KEY_MISMATCH', () => `${two.leaf().key}${one.leaf().cert}`],
])('a file with %s is refused as %s, and does not show its key', async (_, code, content) => {
  const volume = scope.volume({ [NAME]: content() });
  const failure = await opened(volume, new AbortController().signal).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code, path: volume.path(NAME) });
  expect(String(failure)).not.toContain('PRIVATE KEY-----');
});

test('what an identity sends behind its leaf is in its status, where that is short', async () => {
  const end = new AbortController();
  const leaf = one.leaf();
  const [x] = parseCertificates(two.pem).certificates;
  const volume = scope.volume(bundle(leaf));
  const identity = await opened(volume, end.signal);
  expect(identity.status().leaf?.chain).toEqual([]);
  for (const [count, chain] of [
    [1, [x?.fingerprint]],
    [8, Array.from({ length: 8 }, () => x?.fingerprint)],
    [9, undefined],
  ] as const) {
    volume.write(bundle({ key: leaf.key, cert: `${leaf.cert}${two.pem.repeat(count)}` }));
    await next(identity, 'reloaded');
    expect(identity.status().leaf?.chain).toEqual(chain);
  }
  end.abort();
});
