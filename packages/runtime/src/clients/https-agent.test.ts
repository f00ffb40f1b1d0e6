import { once } from 'node:events';
import { request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { beforeEach, expect, test } from 'vitest';
import { next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { eventually, get, httpsServer, ok, UNKNOWN_AUTHORITY, wordsOf } from '../../test/world.ts';

const one = new MockCa('one');
const two = new MockCa('two');
let scope: Scope;

beforeEach(() => {
  scope = new Scope();
});

test('a socket of httpsAgent that was busy at the swap does not go back into the pool', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const target = scope.add(await httpsServer(one));
  const trust = await scope.trust(volume);
  const agent = trust.httpsAgent();
  const streaming = request(`${target.url}/watch`, { agent }).end();
  const [response] = await once(streaming, 'response');
  response.resume();
  const busy = response.socket as TLSSocket;
  volume.write({ 'ca.crt': one.pem + two.pem });
  await next(trust, 'reloaded');
  const closed = once(busy, 'close');
  target.endStreams();
  await closed;
  const { socket, reused } = await get(target.url, { agent });
  expect(socket).not.toBe(busy);
  expect(reused).toBe(false);
  expect((await get(target.url, { agent })).socket).toBe(socket);
});

test('an idle socket of older trust is closed by httpsAgent at the swap', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const target = scope.add(await httpsServer(one));
  const trust = await scope.trust(volume);
  const agent = trust.httpsAgent();
  const { socket } = await get(target.url, { agent });
  volume.write({ 'ca.crt': two.pem });
  await once(socket, 'close');
  expect(await wordsOf(get(target.url, { agent }))).toMatch(UNKNOWN_AUTHORITY);
});

test('requests that wait for a socket of httpsAgent wait on under the new trust', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const target = scope.add(await httpsServer(one));
  const trust = await scope.trust(volume);
  const agent = trust.httpsAgent({ maxSockets: 1 });
  const streaming = request(`${target.url}/watch`, { agent }).end();
  const [response] = await once(streaming, 'response');
  response.resume();
  const waiting = [wordsOf(get(target.url, { agent })), wordsOf(get(target.url, { agent }))];
  volume.write({ 'ca.crt': two.pem });
  await next(trust, 'reloaded');
  for (const words of await Promise.all(waiting)) expect(words).toMatch(UNKNOWN_AUTHORITY);
  target.endStreams();
});

test('old sockets of httpsAgent are destroyed at the deadline, busy or not', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const target = scope.add(await httpsServer(one));
  const trust = await scope.trust(volume, { drainMs: 50 });
  const streaming = request(`${target.url}/watch`, { agent: trust.httpsAgent() }).end();
  const [response] = await once(streaming, 'response');
  response.on('error', () => undefined).resume();
  volume.write({ 'ca.crt': two.pem });
  await new Promise((closed) => response.once('close', closed));
  expect(response.complete).toBe(false);
});

test('maxSockets of httpsAgent holds while handshakes are under way, and a failed handshake makes room for the next', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const target = scope.add(await httpsServer(one));
  const trust = await scope.trust(volume);
  const agent = trust.httpsAgent({ maxSockets: 2 });
  await Promise.all(Array.from({ length: 20 }, () => get(target.url, { agent })));
  expect(target.handshakes()).toBeLessThanOrEqual(2);
  const stranger = scope.add(await httpsServer(two));
  const refused = await Promise.all(Array.from({ length: 6 }, () => wordsOf(get(stranger.url, { agent }))));
  for (const words of refused) expect(words).toMatch(UNKNOWN_AUTHORITY);
});

test('httpsAgent resumes sessions until the next load, never across one', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const target = scope.add(await httpsServer(one));
  const trust = await scope.trust(volume);
  const agent = trust.httpsAgent({ keepAlive: false });
  await get(target.url, { agent });
  await eventually(async () => (await get(target.url, { agent })).socket.isSessionReused());
  volume.write({ 'ca.crt': one.pem + two.pem });
  await next(trust, 'reloaded');
  expect((await get(target.url, { agent })).socket.isSessionReused()).toBe(false);
  volume.write({ 'ca.crt': two.pem });
  await eventually(async () => !(await ok(get(target.url, { agent }))));
  for (let i = 0; i < 3; i++) expect(await wordsOf(get(target.url, { agent }))).toMatch(UNKNOWN_AUTHORITY);
});

test('httpsAgent keeps the options of its caller: versions, server name', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const target = scope.add(await httpsServer(one));
  const trust = await scope.trust(volume);
  const old = await get(target.url, { agent: trust.httpsAgent({ maxVersion: 'TLSv1.2' }) });
  expect(old.socket.getProtocol()).toBe('TLSv1.2');
  const named = get(target.url, { agent: trust.httpsAgent({ servername: 'elsewhere' }) });
  expect(await wordsOf(named)).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
});

test('httpsAgent refuses a proxy by name, and does not ignore it', async () => {
  const trust = await scope.trust(scope.volume({ 'ca.crt': one.pem }));
  expect(() => trust.httpsAgent({ proxyEnv: {} } as object)).toThrow(/proxyEnv/);
});

test('httpsAgent ends a handshake that is never answered at the caller’s timeout', async () => {
  const { createServer } = await import('node:net');
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  scope.after(() => silent.close());
  const volume = scope.volume({ 'ca.crt': one.pem });
  const trust = await scope.trust(volume);
  const { port } = silent.address() as { port: number };
  const agent = trust.httpsAgent({ timeout: 50 });
  expect(await wordsOf(get(`https://127.0.0.1:${port}`, { agent }))).toContain('ETIMEDOUT');
});
