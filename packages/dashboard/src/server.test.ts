import { request } from 'node:http';
import { TestClock } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AUTHORITY, Fleet } from '../test/fleet.ts';
import type { BoardDocument } from './document.ts';
import { type Dashboard, serveDashboard } from './server.ts';

const clock = new TestClock();
let fleet: Fleet;
let dashboard: Dashboard;
beforeEach(async () => {
  fleet = new Fleet(2);
  await fleet.settle();
  await fleet.load();
  await fleet.settle();
  dashboard = await serveDashboard({ board: fleet.board, clock, port: 0 });
});
afterEach(() => dashboard.close());

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

const ask = (path: string, method = 'GET', headers: Record<string, string> = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    request(`${dashboard.url}${path.slice(1)}`, { method, headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text) => {
        body += text;
      });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
    })
      .on('error', reject)
      .end();
  });

/** Events as they come, until `enough`. */
const listen = async (
  enough: (text: string) => boolean,
  meanwhile?: () => Promise<unknown>,
): Promise<string> => {
  const end = new AbortController();
  const response = await fetch(`${dashboard.url}api/events`, { signal: end.signal });
  let text = '';
  const decoder = new TextDecoder();
  let begun = false;
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      if (!begun && text.includes('event: whole')) {
        begun = true;
        void meanwhile?.();
      }
      if (enough(text)) break;
    }
  } finally {
    end.abort();
  }
  return text;
};

test('The server serves the page with a policy under which nothing from elsewhere and nothing inline can run', async () => {
  const { status, headers, body } = await ask('/');
  expect(status).toBe(200);
  expect(body).toContain('<title>Handover</title>');
  expect(body).not.toMatch(/<style|style=|<script>|onload|https?:\/\//);
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  expect(headers).not.toHaveProperty('set-cookie');
  expect(headers).not.toHaveProperty('access-control-allow-origin');
  expect(headers['x-content-type-options']).toBe('nosniff');
});

test('The server answers the same document as `handover status --json`, and more', async () => {
  const { headers, body } = await ask('/api/status');
  expect(headers['content-type']).toBe('application/json');
  const document = JSON.parse(body) as BoardDocument;
  expect(document.authorities).toMatchObject([
    { namespace: 'shop', name: 'mesh', phase: 'Stable', generations: [{ generation: 1, role: 'current' }] },
  ]);
  expect(Object.keys(document)).toEqual(
    expect.arrayContaining([
      'authorities',
      'trustBundles',
      'tlsProfiles',
      'remarks',
      'history',
      'trust',
      'log',
    ]),
  );
  expect(document.history[AUTHORITY]?.spans).toHaveLength(1);
});

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
  'The server refuses %s everywhere',
  async (method) => {
    for (const path of ['/', '/api/status', '/api/events', '/nothing'])
      expect(await ask(path, method)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  },
);

test('The server answers HEAD without a body, and unknown paths with 404', async () => {
  for (const path of ['/', '/page.js', '/page.css', '/icon.svg', '/api/status', '/api/events'])
    expect(await ask(path, 'HEAD')).toMatchObject({ status: 200, body: '' });
  for (const path of [
    '/nothing',
    '/../package.json',
    '/%2e%2e/package.json',
    '//',
    '/__proto__',
    '/constructor',
  ])
    expect((await ask(path)).status).toBe(404);
});

test('The server refuses requests by a DNS name, which another site could point here', async () => {
  const host = `attacker.example:${dashboard.port}`;
  for (const path of ['/', '/api/status', '/api/events'])
    expect((await ask(path, 'GET', { host })).status).toBe(421);
  expect((await ask('/', 'GET', { host: `localhost:${dashboard.port}` })).status).toBe(200);
});

test('a page that has not changed is not sent again', async () => {
  const { headers } = await ask('/page.js');
  const again = await ask('/page.js', 'GET', { 'if-none-match': String(headers.etag) });
  expect(again).toMatchObject({ status: 304, body: '' });
});

test('a port that is taken is an error that names the option to change', async () => {
  await expect(serveDashboard({ board: fleet.board, clock, port: dashboard.port })).rejects.toMatchObject({
    code: 'PORT_TAKEN',
    message: expect.stringContaining('--dashboard-address'),
  });
});

test('The stream begins with everything, then tells what changes, many changes together', async () => {
  const told = listen(
    (sofar) => sofar.includes('"phase":"Introducing"'),
    async () => {
      fleet.rotate.push('r1');
      await fleet.settle();
    },
  );
  const text = await clock.during(told);
  const [first = '', ...later] = text.split('event: whole');
  expect(first).toContain('retry: ');
  for (const event of ['about', 'authority', 'log', 'rest']) expect(first).toContain(`event: ${event}\n`);
  // Several passes, one telling.
  expect(later.join('').match(/event: authority/g)).toHaveLength(1);
});

test('The stream is open to a limited number of pages, and a place is free again when one is closed', async () => {
  const ends = Array.from({ length: 32 }, () => new AbortController());
  const open = await Promise.all(ends.map(({ signal }) => fetch(`${dashboard.url}api/events`, { signal })));
  expect(open.every(({ status }) => status === 200)).toBe(true);
  expect((await ask('/api/events')).status).toBe(503);
  for (const end of ends) end.abort();
  await expect.poll(async () => (await ask('/api/events', 'HEAD')).status, { timeout: 10_000 }).toBe(200);
});

test('The stream skips old parts for a reader that takes nothing, and sends it the newest: memory stays bounded', async () => {
  const { connect } = await import('node:net');
  const socket = connect(dashboard.port, '127.0.0.1');
  socket.write('GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  for (let n = 0; n < 20_000; n++) fleet.board.counted(n, 0);
  let text = '';
  const whole = new Promise<void>((resolve) => {
    socket.setEncoding('utf8').on('data', (more) => {
      text += more;
      if (text.includes('"handshakes":199990000')) resolve();
    });
  });
  socket.resume();
  await clock.during(whole);
  expect(text.match(/event: figures/g)?.length ?? 0).toBeLessThan(20);
  socket.destroy();
});
