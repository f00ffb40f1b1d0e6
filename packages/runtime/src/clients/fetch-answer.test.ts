import { TestClock } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { type Answer, answering, echoPath } from '../../test/answering.ts';
import { Scope } from '../../test/fixture.ts';
import { wordsOf } from '../../test/world.ts';

let clock: TestClock;
let scope: Scope;
beforeEach(() => {
  clock = new TestClock();
  scope = new Scope(clock);
});

const write =
  (text: string): Answer =>
  ({ socket }) =>
    void socket.write(text);

const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n';

test('an answer to fetch that is longer than its content-length ends', async () => {
  const { trust, target } = await answering(
    scope,
    write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokEXTRA'),
  );
  expect(await (await trust.fetch(target.url)).text()).toBe('ok');
});

test('an answer to fetch that breaks in the same write as its headers fails', async () => {
  const { trust, target } = await answering(scope, write(`${chunked}ZZ\r\n`));
  const response = await trust.fetch(target.url, { signal: clock.timeout(4_000) });
  expect(await wordsOf(response.text())).toContain('HPE_INVALID_CHUNK_SIZE');
});

test('an answer to fetch that switches protocols fails', async () => {
  const { trust, target } = await answering(
    scope,
    write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: foo\r\n\r\n'),
  );
  expect(await wordsOf(trust.fetch(target.url))).toContain('bad upgrade');
});

test('an answer to fetch that never ends is freed by its signal', async () => {
  const { trust, target } = await answering(scope, write(chunked));
  const stop = new AbortController();
  const response = await trust.fetch(target.url, { signal: stop.signal });
  const text = wordsOf(response.text());
  stop.abort();
  expect(await text).toContain('aborted');
});

test('an answer to fetch whose headers never come fails', async () => {
  const { trust, target } = await answering(scope, () => undefined);
  let words = '';
  void wordsOf(trust.fetch(target.url)).then((said) => {
    words = said;
  });
  await clock.advance(299_000);
  expect(words).toBe('');
  await clock.advance(1_000);
  expect(words).toContain('UND_ERR_HEADERS_TIMEOUT');
});

test('an answer to fetch whose body stops fails; one that goes on may take longer than the limit', async () => {
  const { trust, target } = await answering(scope, ({ url, socket }) => {
    socket.write(chunked);
    if (url === '/stops') return;
    let left = 10;
    const timer = clock.every(200_000, () => {
      socket.write(left-- > 0 ? '1\r\n.\r\n' : '0\r\n\r\n');
      if (left < 0) timer.cancel();
    });
  });
  const long = await trust.fetch(`${target.url}/goes-on`);
  expect(await clock.during(long.text(), 3_000_000)).toBe('ok..........');
  const response = await trust.fetch(`${target.url}/stops`);
  expect(await clock.during(wordsOf(response.text()))).toContain('UND_ERR_BODY_TIMEOUT');
});

test('an answer to fetch that the program has not read yet does not fail', async () => {
  const { trust, target } = await answering(
    scope,
    (_request, response) => void response.end('x'.repeat(4_000_000)),
  );
  const response = await trust.fetch(target.url);
  await clock.advance(1_000_000);
  expect((await response.text()).length).toBe(4_000_000);
});

test('an answer to fetch may wait for a request body that takes longer than the limit', async () => {
  const { trust, target } = await answering(scope, echoPath);
  const body = new ReadableStream({
    pull: async (controller) => {
      await clock.sleep(1_000_000);
      controller.enqueue(Buffer.from('x'));
      controller.close();
    },
  });
  const init = { method: 'POST', duplex: 'half', body } as RequestInit;
  const answer = trust.fetch(target.url, init);
  await clock.advance(1_000_000);
  expect((await answer).status).toBe(200);
});
