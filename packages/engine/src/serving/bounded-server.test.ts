import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type BoundedServer, MOST_CONNECTIONS, NO_SUCH_PAGE, serveBounded } from './bounded-server.ts';

let server: BoundedServer;
let made = 0;
const sockets: Socket[] = [];
beforeEach(async () => {
  made = 0;
  server = await serveBounded({
    host: '127.0.0.1',
    port: 0,
    flag: '--health-address',
    answer: (path) => {
      if (path === '/broken') throw new Error('with a secret in it');
      if (path !== '/livez') return NO_SUCH_PAGE;
      made++;
      return { status: 200, body: 'ok\n' };
    },
  });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

const ask = (
  path: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<{ status: number | undefined; body: string; allow: string | undefined }> =>
  new Promise((resolve, reject) => {
    request(`${server.url}${path}`, { method, headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => resolve({ status: response.statusCode, body, allow: response.headers.allow }));
    })
      .on('error', reject)
      .end();
  });

/** A connection that never finishes its request. */
const halfOpen = async (first = 'GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: '): Promise<Socket> => {
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  socket.write(first);
  return socket;
};

test('two thousand connections that never finish their request do not block a probe, and stay within the limit', async () => {
  for (let batch = 0; batch < 20; batch++) {
    await Promise.all(Array.from({ length: 100 }, () => halfOpen()));
    expect(await ask('/livez')).toMatchObject({ status: 200, body: 'ok\n' });
    expect(server.connections).toBeLessThanOrEqual(MOST_CONNECTIONS);
  }
  expect(sockets).toHaveLength(2_000);
  expect(made).toBe(20);
}, 60_000);

test('a request for a foreign host name, as in DNS rebinding, is refused', async () => {
  const answer = await ask('/livez', { headers: { host: 'attacker.example' } });
  expect(answer).toMatchObject({ status: 421, body: expect.stringContaining('.svc') });
  expect(made).toBe(0);
});

test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'])(
  'a request with the method %s is refused',
  async (method) => {
    expect(await ask('/livez', { method })).toMatchObject({ status: 405, allow: 'GET, HEAD' });
    expect(made).toBe(0);
  },
);

test('a request with HEAD is answered as GET without a body; an unknown page is 404', async () => {
  expect(await ask('/livez?verbose', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
  expect(await ask('/other')).toMatchObject({ status: 404 });
});

test('a request with too large a header is refused', async () => {
  expect(await ask('/livez', { headers: { authorization: 'x'.repeat(20_000) } })).toMatchObject({
    status: 431,
  });
});

test('the answer to a failed page does not contain the error', async () => {
  const answer = await ask('/broken');
  expect(answer.status).toBe(500);
  expect(answer.body).not.toContain('secret');
});
