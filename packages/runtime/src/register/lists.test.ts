import { readFileSync } from 'node:fs';
import tls, { type SecureContext, type SecureContextOptions } from 'node:tls';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { files, next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { hello } from '../../test/servers.ts';
import type { Volume } from '../../test/volume.ts';
import { listen, ok, readByte } from '../../test/world.ts';
import type { Identity, Trust } from '../index.ts';
import { FollowedMaterial } from './material.ts';
import { patchTls } from './patch.ts';

const [one, two, own] = [new MockCa('one'), new MockCa('two'), new MockCa('own')];
const createElsewhere = tls.createSecureContext;
const connectElsewhere = tls.connect;
const scope = new Scope();
let leaf = one.leaf();
let volume: Volume;
let trust: Trust;
let identity: Identity;

beforeAll(async () => {
  volume = scope.volume(files(leaf, one));
  trust = await scope.trust(volume);
  identity = await scope.identity(volume, { ca: false });
  patchTls(new FollowedMaterial({ trust, identity, caOnly: false }));
});
beforeEach(async () => {
  volume.write(files(leaf, one));
  await Promise.all([trust.reload(), identity.reload()]);
});

const contextWith = (options: object): SecureContext =>
  tls.createSecureContext(options as SecureContextOptions);
const contextAfter = (options: SecureContextOptions, ...pems: readonly string[]): SecureContext => {
  const context = tls.createSecureContext(options);
  for (const pem of pems) context.context.addCACert(pem);
  return context;
};

test('under register the CAs of the file are replaced inside a list, and those of the program stay', async () => {
  const servers: number[] = [];
  for (const ca of [one, two, own])
    servers.push(scope.add(await listen(tls.createServer({ ...ca.leaf() }, hello))).port);
  const text = readFileSync(volume.path('ca.crt'), 'utf8');
  const contexts: readonly [string, SecureContext, { trustsOwn: boolean }][] = [
    ["Node's roots and the file", contextWith({ ca: [...tls.rootCertificates, text] }), { trustsOwn: false }],
    ['the file and an own CA', contextWith({ ca: [text, own.pem] }), { trustsOwn: true }],
    ['bytes of both in one', contextWith({ ca: Buffer.from(own.pem + text) }), { trustsOwn: true }],
    ['an empty text', contextWith({ ca: '' }), { trustsOwn: false }],
    ['false', contextWith({ ca: false }), { trustsOwn: false }],
    ['an own CA added later', contextAfter({}, own.pem), { trustsOwn: true }],
    ['the file and an own CA added later', contextAfter({}, text, own.pem), { trustsOwn: true }],
    ['an own CA and the file added later', contextAfter({ ca: own.pem }, text), { trustsOwn: true }],
    ['an own CA alone', contextWith({ ca: own.pem }), { trustsOwn: true }],
  ];
  const trusted = async () => {
    const seen = [];
    for (const [name, secureContext] of contexts) {
      const answers = [];
      for (const port of servers) answers.push(await ok(readByte({ port, secureContext })));
      seen.push([name, ...answers]);
    }
    return seen;
  };
  const wanted = (...file: readonly boolean[]) =>
    contexts.map(([name, , { trustsOwn }]) => [
      name,
      ...(name === 'an own CA alone' ? [false, false] : file),
      trustsOwn,
    ]);
  expect(await trusted()).toEqual(wanted(true, false));
  for (const [cas, file] of [
    [
      [one, two],
      [true, true],
    ],
    [[two], [false, true]],
  ] as const) {
    const reloaded = next(trust, 'reloaded');
    volume.write(files(leaf, ...cas));
    await reloaded;
    expect(await trusted()).toEqual(wanted(...file));
  }
});

test('under register an older text of the file that is added to a new context stands for the newest', async () => {
  const [older, newer] = [new MockCa('older'), new MockCa('newer')];
  const change = async (...cas: readonly MockCa[]): Promise<void> => {
    const reloaded = next(trust, 'reloaded');
    volume.write(files(leaf, ...cas));
    await reloaded;
  };
  await change(older);
  const text = readFileSync(volume.path('ca.crt'), 'utf8');
  const kept = contextWith({ ca: text });
  const half = kept.context;
  await change(newer);
  half.addCACert(own.pem); // a half that the program has kept over the change
  const contexts = [contextAfter({ ca: own.pem }, text), contextAfter({}, text), kept];
  const ports: number[] = [];
  for (const ca of [older, newer, own])
    ports.push(scope.add(await listen(tls.createServer({ ...ca.leaf() }, hello))).port);
  const trusted = async (): Promise<boolean[][]> => {
    const all: boolean[][] = [];
    for (const secureContext of contexts) {
      const answers: boolean[] = [];
      for (const port of ports) answers.push(await ok(readByte({ port, secureContext })));
      all.push(answers);
    }
    return all;
  };
  expect(await trusted()).toEqual([
    [false, true, true],
    [false, true, false],
    [false, true, true],
  ]);
  await change(two);
  expect(await trusted()).toEqual([
    [false, false, true],
    [false, false, false],
    [false, false, true],
  ]);
});

test('under register a list made from a file that is not loaded yet is followed as a whole', async () => {
  const late = new MockCa('late');
  const port = scope.add(await listen(tls.createServer({ ...late.leaf() }, hello))).port;
  const reloaded = next(trust, 'reloaded');
  volume.write(files(leaf, two, late));
  const secureContext = contextWith({ ca: [readFileSync(volume.path('ca.crt'), 'utf8'), own.pem] });
  await reloaded;
  expect(await ok(readByte({ port, secureContext }))).toBe(true);
  const again = next(trust, 'reloaded');
  volume.write(files(leaf, two));
  await again;
  expect(await ok(readByte({ port, secureContext }))).toBe(false);
});

test('under register a server with two certificates follows the one of the file, and keeps the other', async () => {
  const rsa = one.leaf({ rsa: 2048 });
  const lists = [
    { cert: [leaf.cert, rsa.cert], key: [leaf.key, rsa.key] },
    { cert: [Buffer.from(rsa.cert), leaf.cert], key: [{ pem: leaf.key }, { pem: rsa.key }] },
  ];
  const ports: number[] = [];
  for (const list of lists) ports.push(scope.add(await listen(tls.createServer(list, hello))).port);
  const secureContexts = ['ECDSA+SHA256', 'RSA+SHA256'].map((sigalgs) =>
    createElsewhere({ ca: one.pem, sigalgs, maxVersion: 'TLSv1.2' }),
  );
  const shown = (port: number, secureContext: SecureContext) =>
    new Promise<string>((resolve, reject) => {
      const socket = connectElsewhere(
        { host: '127.0.0.1', servername: 'localhost', port, secureContext },
        () => {
          resolve(socket.getPeerX509Certificate()?.toString() ?? '');
          socket.destroy();
        },
      ).once('error', reject);
    });
  const all = async () => {
    const seen = [];
    for (const port of ports) for (const context of secureContexts) seen.push(await shown(port, context));
    return seen;
  };
  expect(await all()).toEqual([leaf.cert, rsa.cert, leaf.cert, rsa.cert]);
  leaf = one.leaf();
  const reloaded = next(identity, 'reloaded');
  volume.write(files(leaf, two));
  await reloaded;
  expect(await all()).toEqual([leaf.cert, rsa.cert, leaf.cert, rsa.cert]);
  // OpenSSL shows one certificate for each kind of key.
  const before = identity.status().leaf;
  const kept = next(identity, 'kept');
  volume.write(files(one.leaf({ rsa: 2048 }), two));
  expect((await kept).error.code).toBe('LOAD_FAILED');
  expect(identity.status()).toMatchObject({ leaf: before, lastFailure: { code: 'LOAD_FAILED' } });
  expect(await all()).toEqual([leaf.cert, rsa.cert, leaf.cert, rsa.cert]);
});
