import { constants } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2, createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createGate, connect as dial, type Socket } from 'node:net';
import { connect, createServer as createTlsServer, type Server, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { files, next, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { hello } from '../test/servers.ts';
import { eventually, listen, readByte } from '../test/world.ts';

const one = new MockCa('one');
const two = new MockCa('two');
const mtls = { requestCert: true, rejectUnauthorized: true };
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});
afterEach(() => scope.end());

/** A server of CA two whose clients come from CA one and CA two. */
const world = async (server: Server, drainMs = 60_000) => {
  const leaf = two.leaf();
  const volume = scope.volume(files(leaf, two, one));
  const identity = await scope.identity(volume, { drainMs });
  const target = scope.add(await listen(identity.serve(server)));
  const trustOnly = async (...kept: MockCa[]) => {
    const reloaded = next(identity, 'reloaded');
    volume.write(files(leaf, ...kept));
    await reloaded;
  };
  return { identity, target, trustOnly };
};

/** Lets the first bytes of a client through, and the rest when it is opened. */
async function gateTo(port: number) {
  const held: Buffer[] = [];
  let upstream: Socket | undefined;
  let isOpen = false;
  const gate = createGate((client) => {
    const server = dial(port, '127.0.0.1');
    client.on('error', () => server.destroy()).on('close', () => server.destroy());
    server.on('error', () => client.destroy()).on('close', () => client.destroy());
    server.on('data', (bytes) => client.write(bytes));
    client.on('data', (bytes) => {
      if (upstream === undefined || isOpen) server.write(bytes);
      else held.push(bytes);
      upstream = server;
    });
  }).listen(0, '127.0.0.1');
  await once(gate, 'listening');
  scope.add(gate);
  return {
    port: (gate.address() as { port: number }).port,
    isHolding: () => held.length > 0,
    open: () => {
      isOpen = true;
      for (const bytes of held.splice(0)) upstream?.write(bytes);
    },
  };
}

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
    const { target, trustOnly } = await world(server);
    const gate = await gateTo(target.port);
    const isHttp2 = name.endsWith('http2 server');
    const ALPNProtocols = [isHttp2 ? 'h2' : 'http/1.1'];
    const client = { ...ca.leaf(), ca: two.pem, servername: 'localhost', ALPNProtocols };
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

  test('is not served', async () => {
    expect(await isServed(one)).toBe(false);
  });

  test('is served when its CA is still trusted', async () => {
    expect(await isServed(two)).toBe(true);
  });
});

test('TLS 1.2: a session that a server keeps in a store of its own ends with its client CA', async () => {
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
  const { target, trustOnly } = await world(server);
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
  const { target, trustOnly, identity } = await world(createTlsServer(mtls, hello), 50);
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
