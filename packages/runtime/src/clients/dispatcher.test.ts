import { once } from 'node:events';
import { request } from 'undici';
import { beforeEach, expect, test } from 'vitest';
import { next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { httpsServer, ok, wordsOf } from '../../test/world.ts';

const one = new MockCa('one');
const two = new MockCa('two');
let scope: Scope;

beforeEach(() => {
  scope = new Scope();
});

test('a stream of older trust through the dispatcher is destroyed at the deadline', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const target = scope.add(await httpsServer(one));
  const trust = await scope.trust(volume, { drainMs: 50 });
  const { body } = await request(`${target.url}/watch`, { dispatcher: trust.dispatcher() });
  volume.write({ 'ca.crt': two.pem });
  await expect(body.text()).rejects.toThrow();
});

test('a connection of older trust through the dispatcher serves no new request', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const target = scope.add(await httpsServer(one));
  const trust = await scope.trust(volume);
  const dispatcher = trust.dispatcher();
  const { body } = await request(`${target.url}/watch`, { dispatcher });
  body.resume();
  volume.write({ 'ca.crt': one.pem + two.pem });
  await next(trust, 'reloaded');
  const before = target.handshakes();
  target.endStreams();
  await once(body, 'end');
  await (await request(target.url, { dispatcher })).body.text();
  expect(target.handshakes()).toBe(before + 1);
});

test('an aborted signal closes the dispatcher', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const target = scope.add(await httpsServer(one));
  const stop = new AbortController();
  const dispatcher = (await scope.trust(volume, { signal: stop.signal })).dispatcher();
  expect(await ok(request(target.url, { dispatcher }).then(({ body }) => body.text()))).toBe(true);
  stop.abort();
  expect(await wordsOf(request(target.url, { dispatcher }))).toContain('UND_ERR');
});

test('close and destroy of the dispatcher take a callback or give a promise', async () => {
  const volume = scope.volume({ 'ca.crt': one.pem });
  const trust = await scope.trust(volume);
  await trust.dispatcher().close();
  await trust.dispatcher().destroy();
  await new Promise<void>((done) => trust.dispatcher().close(done));
  await new Promise<void>((done) => trust.dispatcher().destroy(null, done));
});

test('plain HTTP goes through the dispatcher as well', async () => {
  const { createServer } = await import('node:http');
  const plain = createServer((_request, response) => response.end('plain')).listen(0, '127.0.0.1');
  await once(plain, 'listening');
  scope.after(() => plain.close());
  const volume = scope.volume({ 'ca.crt': one.pem });
  const trust = await scope.trust(volume);
  const { port } = plain.address() as { port: number };
  expect(await (await trust.fetch(`http://127.0.0.1:${port}`)).text()).toBe('plain');
});
