import { beforeEach, expect, test } from 'vitest';
import { answering, echoPath } from '../../test/answering.ts';
import { Scope } from '../../test/fixture.ts';
import { wordsOf } from '../../test/world.ts';

let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

const streamOf = (...chunks: string[]) =>
  new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(Buffer.from(chunk));
      controller.close();
    },
  });
const post = (length: string, ...chunks: string[]) =>
  ({
    method: 'POST',
    duplex: 'half',
    headers: { 'content-length': length },
    body: streamOf(...chunks),
  }) as RequestInit;

test('a request of fetch whose body is longer than its content-length fails, and the rest is not read as a request', async () => {
  const { trust, seen, target } = await answering(scope, echoPath);
  const rest = 'xGET /admin HTTP/1.1\r\nhost: localhost\r\n\r\n';
  for (const chunks of [[rest], ['x', rest.slice(1)]]) {
    const words = await wordsOf(trust.fetch(`${target.url}/a`, post('1', ...chunks)));
    expect(words).toContain('UND_ERR_REQ_CONTENT_LENGTH_MISMATCH');
    for (const path of ['/b', '/c'])
      expect(await (await trust.fetch(target.url + path)).text()).toBe(`for ${path}`);
  }
  expect(seen.map(({ url }) => url)).not.toContain('/admin');
});

test('a request of fetch whose body is shorter than its content-length fails, and its connection is not used again', async () => {
  const { trust, target } = await answering(scope, echoPath);
  expect(await wordsOf(trust.fetch(target.url, post('5', 'xyz')))).toContain(
    'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
  );
  expect(await (await trust.fetch(`${target.url}/b`)).text()).toBe('for /b');
});

test('a request of fetch keeps a content-length that is right, and refuses one that is no number', async () => {
  const { trust, target, seen } = await answering(scope, echoPath);
  expect((await trust.fetch(target.url, post('3', 'x', 'yz'))).status).toBe(200);
  // fetch adds its own length to the one of the caller.
  const text = { method: 'POST', headers: { 'content-length': '3' }, body: 'xyz' };
  expect((await trust.fetch(target.url, text)).status).toBe(200);
  for (const { headers, body } of seen)
    expect({ headers, body }).toMatchObject({ body: 'xyz', headers: { 'content-length': '3' } });
  expect(await wordsOf(trust.fetch(target.url, post('1, 3', 'xyz')))).toContain('UND_ERR_INVALID_ARG');
});

test.each(['GET', 'POST', 'DELETE'])(
  'a request of fetch with %s and without a body drops a content-length',
  async (method) => {
    const { trust, target, seen } = await answering(scope, echoPath);
    const headers = { 'Content-Length': '5' };
    expect(await (await trust.fetch(`${target.url}/a`, { method, headers })).text()).toBe('for /a');
    expect(await (await trust.fetch(`${target.url}/b`)).text()).toBe('for /b');
    expect(seen.map(({ url }) => url)).toEqual(['/a', '/b']);
    expect(JSON.stringify(seen[0]?.headers)).not.toContain('"5');
  },
);

test.each([
  ['transfer-encoding', 'chunked', 'UND_ERR_INVALID_ARG'],
  ['connection', 'upgrade', 'UND_ERR_INVALID_ARG'],
  ['keep-alive', 'timeout=5', 'UND_ERR_INVALID_ARG'],
  ['upgrade', 'foo', 'UND_ERR_INVALID_ARG'],
  ['Expect', '100-continue', 'UND_ERR_NOT_SUPPORTED'],
])('a request of fetch that sets %s: %s is refused, as by the global fetch', async (name, value, code) => {
  const { trust, target, seen } = await answering(scope, echoPath);
  const init = { headers: { [name]: value } };
  await expect(trust.fetch(target.url, init)).rejects.toBeInstanceOf(TypeError);
  const words = await wordsOf(trust.fetch(target.url, init));
  expect(words).toContain(code);
  // Node 24 lets `connection: upgrade` pass as far as the handshake, which fails: it does not know this CA.
  const theirs = await wordsOf(fetch(target.url, init));
  if (!theirs.includes('UNABLE_TO_VERIFY')) expect(words).toBe(theirs);
  expect(seen).toEqual([]);
  expect((await trust.fetch(target.url, { headers: { connection: 'close' } })).status).toBe(200);
});
