import { constants } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2, createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { Client, Server } from '@grpc/grpc-js';
import { beforeEach, describe, expect, test } from 'vitest';
import { files, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { clientOf, gateTo, mtls, one, servedIdentity, servedWorld, two } from '../../test/served.ts';
import { hello } from '../../test/servers.ts';
import { eventually, readByte } from '../../test/world.ts';
import { credentials, serverCredentials } from '../grpc.ts';

let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

describe.each([
  ['a tls server', (served: () => void) => createTlsServer(mtls, (socket) => !socket.destroyed && served())],
  ['an https server', (served: () => void) => createHttpsServer(mtls, served)],
  ['an http2 server', (served: () => void) => createSecureServer(mtls, served)],
  [
    'an http2 server with allowHTTP1',
    (served: () => void) => createSecureServer({ ...mtls, allowHTTP1: true }, served),
  ],
])('A handshake with %s that began before its client CA was removed', (name, create) => {
  const isServed = async (ca: MockCa) => {
    let served = false;
    const server = create(() => {
      served = true;
    });
    const { target, trustOnly } = await servedWorld(scope, server);
    const gate = await gateTo(scope, target.port);
    const isHttp2 = name.endsWith('http2 server');
    const ALPNProtocols = [isHttp2 ? 'h2' : 'http/1.1'];
    const client = { ...clientOf(ca), servername: 'localhost', ALPNProtocols };
    const socket = connect({ port: gate.port, host: '127.0.0.1', ...client });
    scope.after(() => socket.destroy());
    socket.on('error', () => undefined);
    await eventually(gate.isHolding);
    await trustOnly(two);
    gate.open();
    if (isHttp2) {
      const session = connectHttp2('https://localhost', { createConnection: () => socket });
      session.on('error', () => undefined);
      session.request({ ':path': '/' }).on('error', () => undefined);
    } else socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => served || socket.destroyed);
    return served;
  };

  test(`a handshake with ${name} that began before its client CA was removed is not served`, async () => {
    expect(await isServed(one)).toBe(false);
  });

  test(`a handshake with ${name} that began before another CA was removed is served`, async () => {
    expect(await isServed(two)).toBe(true);
  });
});

describe('A handshake with a gRPC server that began before its client CA was removed', () => {
  const isServed = async (ca: MockCa) => {
    let served = false;
    const { identity, trustOnly } = await servedIdentity(scope);
    const server = new Server();
    scope.after(() => server.forceShutdown());
    const bytes = (value: Buffer) => value;
    const method = {
      path: '/test/ask',
      requestStream: false,
      responseStream: false,
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    };
    server.addService(
      { ask: method },
      {
        ask: (_call: object, done: (error: null, answer: Buffer) => void) => {
          served = true;
          done(null, Buffer.from('answer'));
        },
      },
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', serverCredentials(identity), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    const gate = await gateTo(scope, port);
    const volume = scope.volume(files(ca.leaf(), two));
    const channel = credentials(await scope.trust(volume), await scope.identity(volume, { ca: false }));
    const client = scope.add(new Client(`localhost:${gate.port}`, channel));
    const asked = new Promise<string>((resolve) => {
      client.makeUnaryRequest(method.path, bytes, bytes, Buffer.alloc(0), (error, answer) =>
        resolve(error === null ? `${answer}` : 'refused'),
      );
    });
    await eventually(gate.isHolding);
    await trustOnly(two);
    gate.open();
    return { asked: await asked, served };
  };

  test('a handshake with a gRPC server that began before its client CA was removed is not served', async () => {
    expect(await isServed(one)).toEqual({ asked: 'refused', served: false });
  });

  test('a handshake with a gRPC server that began before another CA was removed is served', async () => {
    expect(await isServed(two)).toEqual({ asked: 'answer', served: true });
  });
});

test('a TLS 1.2 session that a server keeps in a store of its own ends with its client CA', async () => {
  const store = new Map<string, Buffer>();
  const server = createTlsServer(
    { ...mtls, maxVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET },
    hello,
  );
  server
    .on('newSession', (id, data, done) => {
      store.set(id.toString('hex'), data);
      done();
    })
    .on('resumeSession', (id, done) => done(null, store.get(id.toString('hex')) ?? null));
  const { target, trustOnly } = await servedWorld(scope, server);
  const [removed, kept] = [one, two].map((ca) => ({
    port: target.port,
    ...ca.leaf(),
    ca: two.pem,
    maxVersion: 'TLSv1.2' as const,
  }));
  const { session } = await readByte({ ...removed });
  const { session: good } = await readByte({ ...kept });
  expect((await readByte({ ...removed, session })).resumed).toBe(true);
  await trustOnly(two);
  await expect(readByte({ ...removed, session })).rejects.toThrow();
  expect((await readByte({ ...kept, session: good })).resumed).toBe(false);
});

/** From Node 24 on, `getPeerCertificate(true)` of a server has the leaf without the intermediates that the client sent. */
const SEES_INTERMEDIATES = Number.parseInt(process.versions.node, 10) < 24;

test(`a resumed connection of a client with an intermediate CA is ${SEES_INTERMEDIATES ? 'not cut while its root is trusted' : 'cut with any CA that is removed'}`, async () => {
  const [inter, three] = [new MockCa('inter'), new MockCa('three')];
  const { target, trustOnly, identity } = await servedWorld(scope, createTlsServer(mtls, hello), 50);
  await trustOnly(two, one, three);
  const cuts: object[] = [];
  identity.on('cut', (event) => cuts.push(event));
  const { cert, key } = inter.leaf();
  const client = { port: target.port, cert: cert + one.crossSign(inter), key, ca: two.pem };
  const { session } = await readByte(client);
  const open = async (options: object): Promise<TLSSocket> => {
    const socket = connect({ host: '127.0.0.1', servername: 'localhost', ...options });
    scope.after(() => socket.destroy());
    await once(
      socket.on('error', () => undefined),
      'data',
    );
    return socket;
  };
  const resumed = await open({ ...client, session });
  expect(resumed.isSessionReused()).toBe(true);
  const other = await open({ port: target.port, ...three.leaf(), ca: two.pem });
  const cut = once(other, 'close');
  await trustOnly(two, one);
  await cut;
  await eventually(() => cuts.length > 0);
  expect(cuts).toEqual([expect.objectContaining({ connections: SEES_INTERMEDIATES ? 1 : 2 })]);
  if (!SEES_INTERMEDIATES) return;
  expect(resumed.destroyed).toBe(false);
  const ended = once(resumed, 'close');
  await trustOnly(two);
  await ended;
});
