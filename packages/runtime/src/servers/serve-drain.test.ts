import { once } from 'node:events';
import { connect as connectHttp2, createSecureServer } from 'node:http2';
import { Agent, createServer as createHttpsServer, request } from 'node:https';
import { connect, createServer as createTlsServer, type Server, type TLSSocket } from 'node:tls';
import { instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { beforeEach, describe, expect, test } from 'vitest';
import { echo, echoClient, grpcServer } from '../../test/adapters.ts';
import { files, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { clientOf, mtls, one, servedWorld, two } from '../../test/served.ts';
import { hello } from '../../test/servers.ts';
import { get, ok } from '../../test/world.ts';
import { credentials } from '../grpc.ts';
import type { Identity } from '../index.ts';

/** What the server grants connections whose client CA was removed. */
const DRAIN_MS = 60_000;

let clock: TestClock;
let scope: Scope;
beforeEach(() => {
  clock = new TestClock(instant(Date.now()));
  scope = new Scope(clock);
});

// A server that closes idle connections by itself would hide the fault.
const world = (create: () => Server) =>
  servedWorld(scope, Object.assign(create(), { keepAliveTimeout: 60_000 }), DRAIN_MS);

const https = () => createHttpsServer(mtls, (_request, response) => response.end('ok'));
const http2 = () =>
  createSecureServer({ ...mtls, allowHTTP1: true }, (_request, response) => void response.end('ok'));

const cutsOf = (identity: Identity): object[] => {
  const cuts: object[] = [];
  identity.on('cut', (event) => cuts.push(event));
  return cuts;
};

describe.each([
  ['https', https],
  ['http2 with allowHTTP1', http2],
])('HTTP/1.1 over an %s server', (name, create) => {
  test(`a kept-alive connection over HTTP/1.1 (${name}) gets one more answer after its client CA was removed, with Connection: close`, async () => {
    const { target, trustOnly } = await world(create);
    const agents = [one, two].map((ca) => new Agent({ keepAlive: true, maxSockets: 1, ...clientOf(ca) }));
    for (const agent of agents) scope.after(() => agent.destroy());
    const [removed, kept] = agents;
    const first = await get(target.url, { agent: removed });
    const other = await get(target.url, { agent: kept });
    await trustOnly(two);
    const closed = once(first.socket, 'close');
    const last = await get(target.url, { agent: removed });
    expect(last.socket).toBe(first.socket);
    await closed;
    expect(await ok(get(target.url, { agent: removed }))).toBe(false);
    expect((await get(target.url, { agent: kept })).socket).toBe(other.socket);
  });

  test(`a connection over HTTP/1.1 (${name}) does not end for a widened bundle`, async () => {
    const { target, trustOnly, identity } = await world(create);
    const cuts = cutsOf(identity);
    await trustOnly(two);
    await trustOnly(two, one);
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ...clientOf(two) });
    scope.after(() => agent.destroy());
    const { socket } = await get(target.url, { agent });
    await trustOnly(two, one, new MockCa('three'));
    await clock.advance(2 * DRAIN_MS);
    expect((await get(target.url, { agent })).socket).toBe(socket);
    expect(cuts).toEqual([]);
  });
});

test('an HTTP/1.1 answer that began before the CA was removed ends, and its connection with it', async () => {
  let finish: () => void = () => undefined;
  const { target, trustOnly } = await world(() =>
    createHttpsServer(mtls, (_request, response) => {
      response.write('half');
      finish = () => response.end(' and half');
    }),
  );
  const agent = new Agent({ keepAlive: true, ...clientOf(one) });
  scope.after(() => agent.destroy());
  const asked = request(target.url, { agent }).end();
  const [response] = await once(asked, 'response');
  const { socket } = response;
  const closed = once(socket, 'close');
  let body = '';
  response.on('data', (chunk: Buffer) => {
    body += chunk;
    if (body === 'half') trustOnly(two).then(() => finish());
  });
  await once(response, 'end');
  expect(body).toBe('half and half');
  await closed;
});

test('an HTTP/2 session gets GOAWAY after its client CA was removed, and its streams finish', async () => {
  let finish: () => void = () => undefined;
  const { target, trustOnly } = await world(() =>
    createSecureServer(mtls).on('stream', (stream) => {
      stream.respond({ ':status': 200 });
      stream.write('half');
      finish = () => stream.end(' and half');
    }),
  );
  const [removed, kept] = [one, two].map((ca) => connectHttp2(target.url, clientOf(ca)));
  for (const session of [removed, kept]) {
    scope.after(() => session?.destroy());
    await once(session as object as NodeJS.EventEmitter, 'connect');
  }
  const stream = removed?.request({ ':path': '/' });
  let body = '';
  stream?.on('data', (chunk) => {
    body += chunk;
  });
  await once(stream as object as NodeJS.EventEmitter, 'data');
  const goaway = once(removed as object as NodeJS.EventEmitter, 'goaway');
  const closed = once(removed as object as NodeJS.EventEmitter, 'close');
  await trustOnly(two);
  await goaway;
  finish();
  await once(stream as object as NodeJS.EventEmitter, 'end');
  expect(body).toBe('half and half');
  await closed;
  expect(kept?.closed).toBe(false);
});

describe.each([
  ['a tls server', () => createTlsServer(mtls, hello)],
  [
    'an https server, mid-answer',
    () => createHttpsServer(mtls, (_request, response) => void response.write('endless')),
  ],
  [
    'an http2 server, mid-stream',
    () => createSecureServer(mtls).on('stream', (stream) => void stream.respond({ ':status': 200 })),
  ],
])('A connection to %s', (name, create) => {
  test(`a connection to ${name} is ended at drainMs after its client CA was removed, with an event`, async () => {
    const { target, trustOnly, identity } = await world(create);
    const cuts = cutsOf(identity);
    const open = async (ca: MockCa): Promise<TLSSocket> => {
      const ALPNProtocols = [name.includes('http2') ? 'h2' : 'http/1.1'];
      const socket = connect({ port: target.port, host: 'localhost', ...clientOf(ca), ALPNProtocols });
      scope.after(() => socket.destroy());
      await once(
        socket.on('error', () => undefined),
        'secureConnect',
      );
      if (name.includes('http2')) {
        const session = connectHttp2(target.url, { createConnection: () => socket });
        session
          .on('error', () => undefined)
          .request({ ':path': '/' })
          .on('error', () => undefined);
      } else {
        socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
        await once(socket, 'data');
      }
      return socket;
    };
    const [removed, kept] = [await open(one), await open(two)];
    const closed = once(removed, 'close');
    await trustOnly(two);
    await clock.advance(DRAIN_MS - 1_000);
    expect([removed.destroyed, cuts]).toEqual([false, []]);
    await clock.advance(1_000);
    await closed;
    expect(cuts).toEqual([{ connections: 1, reason: 'ca_removed', at: expect.any(Number) }]);
    expect(kept.destroyed).toBe(false);
  });
});

test('a gRPC channel is served no longer than drainMs after its client CA was removed', async () => {
  const options = { ...scope.follow, drainMs: DRAIN_MS };
  const target = scope.add(await grpcServer(two, two.pem + one.pem, options));
  const trusted = scope.volume(files(one.leaf(), two));
  const channel = credentials(await scope.trust(trusted), await scope.identity(trusted, { ca: false }));
  const client = scope.add(echoClient(target as never, channel));
  await echo(client);
  expect(await ok(echo(client))).toBe(true);
  target.use(two.leaf(), two.pem);
  await clock.advance(DRAIN_MS);
  expect(await ok(echo(client))).toBe(false);
});
