import { connect as connectHttp2, createSecureServer } from 'node:http2';
import { createSecureContext, createServer as createTlsServer } from 'node:tls';
import { beforeEach, describe, expect, test } from 'vitest';
import { echo, echoClient, grpcServer } from '../../test/adapters.ts';
import { files, next, Scope } from '../../test/fixture.ts';
import { type Leaf, MockCa } from '../../test/mock-ca.ts';
import { hello, KINDS } from '../../test/servers.ts';
import { eventually, listen, ok, readByte, UNKNOWN_AUTHORITY, wordsOf } from '../../test/world.ts';
import { credentials } from '../grpc.ts';

const one = new MockCa('one');
const two = new MockCa('two');
let scope: Scope;

beforeEach(() => {
  scope = new Scope();
});

const mtls = { requestCert: true, rejectUnauthorized: true };
describe.each(KINDS)('S2.12: a %s server', (kind, create) => {
  test(`a ${kind} server shows its new certificate to new connections, in the same process`, async () => {
    const volume = scope.volume(files(one.leaf(), one));
    const identity = await scope.identity(volume);
    const target = scope.add(await listen(identity.serve(create({}))));
    await readByte({ port: target.port, ca: one.pem });
    volume.write(files(two.leaf(), two));
    await next(identity, 'reloaded');
    await readByte({ port: target.port, ca: two.pem });
    expect(await wordsOf(readByte({ port: target.port, ca: one.pem }))).toMatch(UNKNOWN_AUTHORITY);
  });

  test(`a ${kind} server takes clients of the CAs in its file: of new ones, and not of removed ones, resumption included`, async () => {
    const serverLeaf = one.leaf();
    const clientOne = one.leaf();
    const clientTwo = two.leaf();
    const volume = scope.volume(files(serverLeaf, one));
    const identity = await scope.identity(volume);
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      volume.write(files(serverLeaf, one));
      await identity.reload();
      const target = scope.add(await listen(identity.serve(create(mtls))));
      const as = (leaf: { cert: string; key: string }, session?: Buffer) =>
        readByte({ port: target.port, ca: one.pem, ...leaf, maxVersion, ...(session ? { session } : {}) });
      const first = await as(clientOne);
      expect(await ok(as(clientTwo))).toBe(false);
      // a renewed leaf alone forces no full handshake
      volume.write(files(one.leaf(), one));
      await identity.reload();
      expect((await as(clientOne, first.session)).resumed).toBe(true);
      volume.write(files(serverLeaf, one, two));
      await identity.reload();
      expect((await as(clientOne, first.session)).resumed).toBe(false);
      const second = await as(clientOne);
      await as(clientTwo);
      volume.write(files(serverLeaf, two));
      await identity.reload();
      expect(await ok(as(clientOne))).toBe(false);
      expect(await ok(as(clientOne, second.session))).toBe(false);
      expect(await ok(as(clientOne, first.session))).toBe(false);
      await as(clientTwo);
    }
  });
});

test('S2.12: gRPC: own certificate and client CA follow their files, resumption included', async () => {
  const target = await grpcServer(one, one.pem);
  scope.add(target);
  const trusted = scope.volume(files(one.leaf(), one, two));
  const channel = credentials(await scope.trust(trusted), await scope.identity(trusted, { ca: false }));
  const client = echoClient(target as never, channel);
  scope.add(client);
  await echo(client);
  // an HTTP/2 server speaks first, too
  const as = (leaf: Leaf, session?: Buffer) =>
    readByte({
      port: target.port,
      ca: one.pem + two.pem,
      ALPNProtocols: ['h2'],
      ...leaf,
      ...(session ? { session } : {}),
    });
  const [clientOne, clientTwo] = [one.leaf(), two.leaf()];
  const { session } = await as(clientOne);
  expect((await as(clientOne, session)).resumed).toBe(true);
  expect(await ok(as(clientTwo))).toBe(false);
  target.use(two.leaf(), two.pem);
  await eventually(() => ok(as(clientTwo)));
  expect(await ok(as(clientOne))).toBe(false);
  expect(await ok(as(clientOne, session))).toBe(false);
  expect(
    await wordsOf(readByte({ port: target.port, ca: one.pem, ALPNProtocols: ['h2'], ...clientTwo })),
  ).toMatch(UNKNOWN_AUTHORITY);
  // the channel, cut off, comes back once its own certificate has followed
  target.cut();
  trusted.write(files(two.leaf(), one, two));
  await eventually(() => ok(echo(client)));
});

test('a server that follows an identity keeps the options of its owner, given to serve or to the server before', async () => {
  const volume = scope.volume(files(one.leaf(), one));
  const identity = await scope.identity(volume);
  const created = scope.add(await listen(identity.serve(createTlsServer({ minVersion: 'TLSv1.3' }, hello))));
  const given = scope.add(
    await listen(identity.serve(createTlsServer({}, hello), { ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384' })),
  );
  const check = async () => {
    expect(await ok(readByte({ port: created.port, ca: one.pem, maxVersion: 'TLSv1.2' }))).toBe(false);
    expect(await ok(readByte({ port: created.port, ca: one.pem }))).toBe(true);
    const only = { port: given.port, ca: one.pem, maxVersion: 'TLSv1.2' } as const;
    expect(await ok(readByte({ ...only, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }))).toBe(false);
    expect(await ok(readByte({ ...only, ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384' }))).toBe(true);
  };
  await check();
  volume.write(files(one.leaf(), one));
  await next(identity, 'reloaded');
  await check();
});

test('replicas of a server that share ticket keys go on sharing them, for one client CA', async () => {
  const ticketKeys = Buffer.alloc(48, 7);
  const serverLeaf = one.leaf();
  const client = one.leaf();
  const [a, b] = [scope.volume(files(serverLeaf, one)), scope.volume(files(serverLeaf, one))];
  const start = async (volume: typeof a) =>
    scope.add(
      await listen((await scope.identity(volume)).serve(createTlsServer(mtls, hello), { ticketKeys })),
    );
  const [first, second] = [await start(a), await start(b)];
  const { session } = await readByte({ port: first.port, ca: one.pem, ...client });
  const resumed = await readByte({
    port: second.port,
    ca: one.pem,
    ...client,
    ...(session ? { session } : {}),
  });
  expect(resumed.resumed).toBe(true);
});

test('a server that closes is followed no more; one that comes later gets the newest certificate', async () => {
  const volume = scope.volume(files(one.leaf(), one));
  const identity = await scope.identity(volume);
  const early = await listen(identity.serve(createTlsServer({}, hello)));
  await early.close();
  let calls = 0;
  early.server.setSecureContext = () => {
    calls++;
  };
  volume.write(files(two.leaf(), two));
  await next(identity, 'reloaded');
  expect(calls).toBe(0);
  const late = scope.add(await listen(identity.serve(createTlsServer({}, hello))));
  await readByte({ port: late.port, ca: two.pem });
});

test('a server that refuses its options at a change stays as it was, and the failure is reported', async () => {
  const volume = scope.volume(files(one.leaf(), one));
  const identity = await scope.identity(volume);
  const target = scope.add(await listen(identity.serve(createTlsServer({}, hello))));
  target.server.setSecureContext = () => {
    throw new Error('refused');
  };
  const kept = next(identity, 'kept');
  const { leaf, loads, anchors } = identity.status();
  volume.write(files(two.leaf(), two));
  expect(await kept).toMatchObject({
    error: { code: 'LOAD_FAILED', message: expect.stringContaining('refused') },
  });
  // A status with the new leaf would be evidence that clients see it.
  const old = { leaf, loads, anchors, lastFailure: { code: 'LOAD_FAILED' } };
  expect(identity.status()).toMatchObject(old);
  expect(await identity.reload()).toEqual({ reason: 'unchanged' });
  expect(identity.status()).toMatchObject(old);
  await readByte({ port: target.port, ca: one.pem });
});

test('an HTTP/2 session that was open at the swap goes on', async () => {
  const volume = scope.volume(files(one.leaf(), one));
  const identity = await scope.identity(volume);
  const server = createSecureServer({}, (_request, response) => void response.end('ok'));
  const target = scope.add(await listen(identity.serve(server)));
  const session = connectHttp2(target.url, { ca: one.pem });
  scope.after(() => session.destroy());
  const ask = () =>
    new Promise<string>((resolve, reject) => {
      const stream = session.request({ ':path': '/' });
      let text = '';
      stream.on('data', (chunk) => {
        text += chunk;
      });
      stream.on('end', () => resolve(text)).on('error', reject);
    });
  expect(await ask()).toBe('ok');
  volume.write(files(two.leaf(), two));
  await next(identity, 'reloaded');
  expect(await ask()).toBe('ok');
});

describe('Identity', () => {
  const day = 86_400_000;
  const bad: readonly [string, () => Record<string, string>, string, string][] = [
    [
      'a key of another certificate',
      () => ({ ...files(one.leaf(), one), 'tls.key': one.leaf().key }),
      'mismatch',
      'KEY_MISMATCH',
    ],
    [
      'an expired certificate',
      () => files(one.leaf({ notAfter: Date.now() - 1000 }), one),
      'not_valid_now',
      'CERTIFICATE_EXPIRED',
    ],
    [
      'a certificate from the future',
      () => files(one.leaf({ notBefore: Date.now() + day }), one),
      'not_valid_now',
      'CERTIFICATE_NOT_YET_VALID',
    ],
    [
      'a certificate cut short',
      () => ({ ...files(one.leaf(), one), 'tls.crt': one.leaf().cert.slice(0, 300) }),
      'parse_error',
      'PEM_TRUNCATED',
    ],
    [
      'a certificate instead of a key',
      () => ({ ...files(one.leaf(), one), 'tls.key': one.pem }),
      'parse_error',
      'KEY_LABEL_REFUSED',
    ],
    ['an empty bundle', () => ({ ...files(one.leaf(), one), 'ca.crt': '' }), 'empty', 'FILE_EMPTY'],
    ['no key', () => ({ 'tls.crt': one.leaf().cert, 'ca.crt': one.pem }), 'read_error', 'FILE_MISSING'],
  ];

  test.each(bad)(
    'an identity with %s is an error at the first load, and keeps the last good one later',
    async (_, content, reason, code) => {
      const volume = scope.volume(files(one.leaf(), one));
      const identity = await scope.identity(volume);
      const hash = identity.hash;
      const kept = next(identity, 'kept');
      volume.write(content());
      expect(await kept).toMatchObject({ reason, error: { code } });
      expect(identity.hash).toBe(hash);
      const fresh = scope.volume(content());
      await expect(scope.identity(fresh)).rejects.toMatchObject({
        code,
        path: expect.stringContaining(fresh.dir),
      });
    },
  );

  test('an identity never has certificate and key from two versions, however fast they change', async () => {
    const volume = scope.volume(files(one.leaf(), one));
    const identity = await scope.identity(volume);
    const reasons = new Set<string>();
    identity.on('kept', ({ error }) => reasons.add(error.code));
    const leaves = Array.from({ length: 4 }, () => one.leaf());
    for (let i = 0; i < 60; i++) {
      volume.write(files(leaves[i % 4] ?? one.leaf(), one));
      if (i % 3 === 0) await identity.reload();
      else await new Promise(setImmediate);
    }
    expect(await identity.reload()).toMatchObject({ reason: expect.stringMatching(/updated|unchanged/) });
    expect([...reasons]).toEqual([]);
  });

  test('an identity accepts a good key after other TLS options were refused', async () => {
    const volume = scope.volume(files(one.leaf(), one));
    expect(() => createSecureContext({ ecdhCurve: 'no-such-curve' })).toThrow();
    await scope.identity(volume);
  });

  test('an identity connects with its certificate, over every way that a trust has', async () => {
    const volume = scope.volume(files(one.leaf(), one));
    const identity = await scope.identity(volume);
    const { httpsServer, get } = await import('../../test/world.ts');
    const target = scope.add(await httpsServer(one, { ...mtls, ca: one.pem }));
    const agent = identity.httpsAgent();
    await get(target.url, { agent });
    await (await identity.fetch(target.url)).text();
    const plain = await scope.trust(volume);
    expect(await ok(get(target.url, { agent: plain.httpsAgent() }))).toBe(false);
    expect(JSON.stringify(identity)).not.toContain('PRIVATE');
    expect(String(identity.tlsOptions().key)).toContain('PRIVATE KEY');
  });
});
