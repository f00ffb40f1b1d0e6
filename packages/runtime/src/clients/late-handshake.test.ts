// Against: node:https, undici, fetch, gRPC, @kubernetes/client-node and inCluster().
import { once } from 'node:events';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { beforeEach, expect, test } from 'vitest';
import { ADAPTERS, EVERY_CLIENT, echo, echoClient } from '../../test/adapters.ts';
import { next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { eventually, type Target, UNKNOWN_AUTHORITY, wordsOf } from '../../test/world.ts';
import { credentials } from '../grpc.ts';
import { openTrust } from '../index.ts';

const [one, two] = [new MockCa('one'), new MockCa('two')];
const content = (...cas: readonly MockCa[]) => ({
  'ca.crt': cas.map(({ pem }) => pem).join(''),
  token: 'token',
});
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

/** The same server behind a relay that keeps back what the server says, until it is opened. */
const slow = async (target: Target) => {
  const held: { readonly bytes: Buffer; readonly client: Socket }[] = [];
  let isOpen = false;
  const relay = createServer((client) => {
    const server = connect(target.port, '127.0.0.1');
    client.on('error', () => server.destroy()).on('close', () => server.destroy());
    server.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('data', (bytes) => server.write(bytes));
    server.on('data', (bytes) => {
      if (isOpen) client.write(bytes);
      else held.push({ bytes, client });
    });
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  scope.add(relay);
  const { port } = relay.address() as AddressInfo;
  return {
    target: { ...target, port, url: target.url.replace(`:${target.port}`, `:${port}`) },
    holds: () => held.length > 0,
    open: () => {
      isOpen = true;
      for (const { bytes, client } of held.splice(0)) client.write(bytes);
    },
  };
};

test.each(EVERY_CLIENT)(
  '$name sends no request to a server whose CA was removed during the handshake',
  async (adapter) => {
    const volume = scope.volume(content(one, two));
    const [target, other] = [await adapter.serve(one), await adapter.serve(one)];
    scope.after(() => Promise.all([target.close(), other.close()]));
    const client = await adapter.open(volume.path('ca.crt'), { signal: scope.signal });
    await client.get(other);
    const relayed = await slow(target);
    const answer = wordsOf(client.get(relayed.target));
    await eventually(relayed.holds);
    volume.write(content(two));
    await eventually(async () => {
      other.cut();
      return UNKNOWN_AUTHORITY.test(await wordsOf(client.get(other)));
    });
    relayed.open();
    expect(await answer).toMatch(UNKNOWN_AUTHORITY);
  },
);

test.each(ADAPTERS.slice(0, 4))(
  '$name reaches a server with the newest CAs when they came during the handshake',
  async (adapter) => {
    const volume = scope.volume(content(one));
    const target = await adapter.serve(one);
    scope.after(() => target.close());
    const trust = await openTrust(volume.path('ca.crt'), { signal: scope.signal });
    const client = await adapter.open(volume.path('ca.crt'), { signal: scope.signal });
    const relayed = await slow(target);
    const answer = client.get(relayed.target);
    await eventually(relayed.holds);
    const reloaded = next(trust, 'reloaded');
    volume.write(content(two, one));
    await reloaded;
    relayed.open();
    await answer;
  },
);

test('gRPC makes no call over a connection whose server sends its settings after its CA was removed', async () => {
  const http2 = createHttp2Server();
  let calls = 0;
  http2.on('stream', (stream: ServerHttp2Stream) => {
    calls++;
    stream.close();
  });
  const waiting: (() => void)[] = [];
  const server = createTlsServer({ ...one.leaf(), ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => undefined);
    waiting.push(() => void http2.emit('connection', socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.add(server);
  const { port } = server.address() as AddressInfo;
  const volume = scope.volume(content(one, two));
  const trust = await openTrust(volume.path('ca.crt'), { signal: scope.signal });
  const client = echoClient({ url: `localhost:${port}` }, credentials(trust));
  scope.after(() => client.close());
  const first = wordsOf(echo(client));
  await eventually(() => waiting.length > 0);
  const reloaded = next(trust, 'reloaded');
  volume.write(content(two));
  await reloaded;
  for (const go of waiting.splice(0)) go();
  expect(await first).not.toBe('');
  await eventually(async () => UNKNOWN_AUTHORITY.test(await wordsOf(echo(client))));
  // At most the call that waited for this very connection.
  expect(calls).toBeLessThanOrEqual(1);
});
