import { type AddressInfo, connect as connectTo, createServer, type Server, type Socket } from 'node:net';
import {
  type ApiServerOptions,
  apiServer,
  codeOf,
  eventually,
  type FakeApiServer,
  TestClock,
} from '@handover/test-api-server';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MockCa } from '../test/mock-ca.ts';
import { Place } from '../test/place.ts';
import { connect } from './client.ts';
import { connectorOf } from './connector.ts';
import { Hidden } from './hidden.ts';
import { Informer } from './informer.ts';
import { configMaps } from './kinds.ts';
import type { KubeConfig, TlsConfig } from './kubeconfig/config.ts';
import { LiveTls } from './live-tls.ts';

const one = new MockCa('one');
const two = new MockCa('two');
let place: Place;
let stop: AbortController;
const ends: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  place = new Place();
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  for (const end of ends.splice(0)) await end();
});

const serve = async (options: ApiServerOptions = { tls: one.leaf() }) => (await apiServer(options)).server;
const listen = async (handle: (socket: Socket) => void): Promise<number> => {
  const server: Server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
};
const which = { namespace: 'default', name: 'x' };
const client = (server: FakeApiServer, tls: TlsConfig, more: Partial<KubeConfig> = {}) =>
  connect({ ...server.config, tls, ...more }, { signal: stop.signal, rate: false });
const pem = (text: string) => ({ pem: new Hidden(text) });

test('the server’s certificate is verified against a file or data, or not at all when so configured', async () => {
  const server = await serve();
  const file = place.write('ca.crt', one.pem);
  const results = [{ ca: { file } }, { ca: pem(one.pem) }, { verify: false }, { ca: pem(two.pem) }, {}].map(
    (tls) => codeOf(client(server, tls).get(configMaps, which)),
  );
  expect(await Promise.all(results)).toEqual([
    'no error',
    'no error',
    'no error',
    'KUBE_UNAVAILABLE',
    'KUBE_UNAVAILABLE',
  ]);
});

test('the server’s certificate may be for another name than the host’s', async () => {
  const server = await serve({ tls: one.leaf('kubernetes.default.svc') });
  const ca = pem(one.pem);
  const viaName = { server: server.url.replace('127.0.0.1', 'localhost') };
  expect(await codeOf(client(server, { ca }, viaName).get(configMaps, which))).toBe('KUBE_UNAVAILABLE');
  const tls = { ca, serverName: 'kubernetes.default.svc' };
  expect(await codeOf(client(server, tls, viaName).get(configMaps, which))).toBe('no error');
});

test('the server’s certificate may come from a new CA while an informer runs: nothing is missed', async () => {
  const server = await serve();
  const ca = { file: place.write('ca.crt', one.pem) };
  const kube = client(server, { ca });
  const informer = new Informer(kube, configMaps, { namespace: 'default' }).start(stop.signal);
  await informer.ready;
  await server.stop();
  place.write('ca.crt', two.pem);
  await server.start({ tls: two.leaf() });
  await kube.create(configMaps, { metadata: which });
  await eventually(() => informer.get('default/x') !== undefined);
  expect(informer.state.lists).toBe(1);
});

test('a certificate of the server from a CA that is no longer trusted ends no watch, but allows no new connection', async () => {
  const server = await serve();
  const kube = client(server, { ca: { file: place.write('ca.crt', one.pem) } });
  await kube.get(configMaps, which);
  place.write('ca.crt', two.pem);
  await eventually(async () => (await codeOf(kube.get(configMaps, which))) === 'KUBE_UNAVAILABLE');
});

test.each(['files', 'data', 'half and half'])('the client’s certificate is shown from %s', async (how) => {
  const server = await serve({ tls: { ...one.leaf(), clientCa: two.pem } });
  const mine = two.leaf('localhost', 'me');
  const cert = how === 'data' ? pem(mine.cert) : { file: place.write('tls.crt', mine.cert) };
  const key = how === 'files' ? { file: place.write('tls.key', mine.key) } : pem(mine.key);
  const kube = client(server, { ca: pem(one.pem), cert, key });
  expect(await codeOf(kube.get(configMaps, which))).toBe('no error');
  const none = client(server, { ca: pem(one.pem) });
  expect(await codeOf(none.get(configMaps, which))).toBe('KUBE_UNAVAILABLE');
});

test('a token follows its file', async () => {
  const server = await serve({ token: 'first' });
  const tokenFile = place.write('token', 'first\n');
  const kube = client(server, {}, { auth: { tokenFile } });
  expect(await codeOf(kube.get(configMaps, which))).toBe('no error');
  await server.stop();
  await server.start({ token: 'second' });
  place.write('token', 'second\n');
  // At once, without waiting for the file's event: a 401 makes the client read the file.
  expect(await codeOf(kube.get(configMaps, which))).toBe('no error');
});

test('a token that is missing at first is read at the next request', async () => {
  const server = await serve({ token: 'first' });
  const kube = client(server, {}, { auth: { tokenFile: place.path('token') } });
  const early = await codeOf(kube.get(configMaps, which));
  expect(early).not.toBe('no error');
  place.write('token', 'first');
  expect(await codeOf(kube.get(configMaps, which))).toBe('no error');
});

describe('a proxy', () => {
  /** CONNECT, with a password when one is given. */
  const httpProxy = (password?: string) =>
    listen((socket) => {
      socket.once('data', (head) => {
        const [, host = '', port = ''] = /^CONNECT ([^:]+):(\d+) /.exec(head.toString('latin1')) ?? [];
        const wanted =
          password === undefined ? '' : `Basic ${Buffer.from(`user:${password}`).toString('base64')}`;
        if (!head.toString('latin1').includes(wanted)) return socket.end('HTTP/1.1 407 Proxy\r\n\r\n');
        const target = connectTo(Number(port), host, () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          socket.pipe(target).pipe(socket);
        });
        target.on('error', () => socket.destroy());
        return undefined;
      });
    });

  const socksProxy = () =>
    listen((socket) => {
      socket.once('data', () => {
        socket.write(Buffer.from([5, 0]));
        socket.once('data', (ask) => {
          const port = ask.readUInt16BE(ask.length - 2);
          const target = connectTo(port, '127.0.0.1', () => {
            socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
            socket.pipe(target).pipe(socket);
          });
          target.on('error', () => socket.destroy());
        });
      });
    });

  test('a proxy works with its password, by CONNECT and by SOCKS 5', async () => {
    const server = await serve();
    const tls = { ca: pem(one.pem) };
    const via = (proxyUrl: string) =>
      codeOf(client(server, tls, { proxyUrl: new Hidden(proxyUrl) }).get(configMaps, which));
    expect(await via(`http://127.0.0.1:${await httpProxy()}`)).toBe('no error');
    const guarded = await httpProxy('p%w');
    expect(await via(`http://user:p%25w@127.0.0.1:${guarded}`)).toBe('no error');
    expect(await via(`http://user:wrong@127.0.0.1:${guarded}`)).toBe('KUBE_PROXY_REFUSED');
    expect(await via(`socks5://127.0.0.1:${await socksProxy()}`)).toBe('no error');
    const noProxy = await listen((socket) => socket.end('hello\r\n'));
    expect(await via(`http://127.0.0.1:${noProxy}`)).toBe('KUBE_UNAVAILABLE');
    expect(await via(`socks5://127.0.0.1:${noProxy}`)).toMatch(/KUBE_(PROXY_REFUSED|UNAVAILABLE)/);
  });
});

test('a fault of this program is not called a refused certificate', async () => {
  const cert = { pem: new Hidden(5 as unknown as string) };
  await expect(LiveTls.open({ cert, key: cert }, stop.signal, () => undefined)).rejects.toThrow(TypeError);
});

test.each(['https:', 'http:'])(
  'a connection that is never made over %s times out, and breaks nothing else',
  async (scheme) => {
    const clock = new TestClock();
    const silent = await listen(() => undefined);
    const tls = await LiveTls.open({}, stop.signal, () => undefined);
    const proxy = scheme === 'http:' ? new URL(`socks5://127.0.0.1:${silent}`) : undefined;
    const connector = connectorOf({
      server: new URL(`${scheme}//127.0.0.1:${silent}`),
      tls,
      verify: true,
      proxy,
      clock,
      timeout: 100,
      connected: () => undefined,
    });
    const failing = new Promise<Error | null>((resolve) =>
      connector({} as never, (...result) => resolve(result[0])),
    );
    const failed = await clock.during(failing, 100);
    expect(failed).toMatchObject({ code: 'ETIMEDOUT' });
    // Later errors would end the process: wait for them.
    await new Promise((resolve) => setImmediate(resolve));
  },
);
