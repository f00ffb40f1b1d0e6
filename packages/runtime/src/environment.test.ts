import { once } from 'node:events';
import { createServer } from 'node:net';
import { connect } from 'node:tls';
import { request } from 'undici';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { echo, echoClient, grpcServer } from '../test/adapters.ts';
import { Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { get, httpsServer, ok } from '../test/world.ts';
import { credentials } from './grpc.ts';
import { openTrust } from './index.ts';

const [one, two] = [new MockCa('one'), new MockCa('two')];
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});
afterEach(() => {
  vi.unstubAllEnvs();
});

test('NODE_TLS_REJECT_UNAUTHORIZED=0 does not switch verification off', async () => {
  const trust = await scope.trust(scope.volume({ 'ca.crt': two.pem }));
  const target = scope.add(await httpsServer(one));
  const channel = scope.add(await grpcServer(one));
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  expect(await ok(get(target.url, {}))).toBe(true); // Node itself does
  const client = scope.add(echoClient(channel as never, credentials(trust)));
  const socket = connect({ port: target.port, host: 'localhost', ...trust.tlsOptions() });
  const answers = await Promise.all([
    ok(get(target.url, { agent: trust.httpsAgent() })),
    ok(get(target.url, { agent: trust.httpsAgent(), rejectUnauthorized: undefined })),
    ok(trust.fetch(target.url)),
    ok(request(target.url, { dispatcher: trust.dispatcher() })),
    ok(once(socket, 'secureConnect')),
    ok(echo(client)),
  ]);
  expect(answers).toEqual(answers.map(() => false));
});

test('a trust without a file is not watched', async () => {
  const trust = await openTrust(['bundled'], { signal: scope.signal });
  expect(trust.status()).not.toHaveProperty('watching');
});

test.each(['latin1', 'utf8'] as const)(
  'the status text of an answer reads as with the global fetch (%s)',
  async (encoding) => {
    const trust = await scope.trust(scope.volume({ 'ca.crt': one.pem }));
    const server = createServer((socket) => {
      socket
        .on('error', () => undefined)
        .once('data', () => {
          socket.end(
            Buffer.from('HTTP/1.1 200 Café\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok', encoding),
          );
        });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    scope.add(server);
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
    const [own, global] = [await trust.fetch(url), await fetch(url)];
    expect(await own.text()).toBe('ok');
    expect(await global.text()).toBe('ok');
    expect(own.statusText).toBe(global.statusText);
  },
);
