import { generateKeyPair, pbkdf2 } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { atRest, TestClock, temporaryFolder } from './src/index.ts';

/** A server that answers after `ms` of the clock, or never. */
const serverOn = async (clock: TestClock, ms: number | undefined): Promise<string> => {
  const server: Server = createServer((_, response) => {
    if (ms !== undefined) clock.after(ms, () => response.end('late'));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

test('a test clock lets answers come before a deadline that is sooner than they would be in real time', async () => {
  const clock = new TestClock();
  const url = await serverOn(clock, 900);
  const answer = fetch(url, { signal: clock.timeout(1_000) }).then((got) => got.text());
  const got: string[] = [];
  answer.then((text) => got.push(text));
  await clock.advance(899);
  expect(got).toEqual([]);
  await clock.advance(1);
  expect(got).toEqual(['late']);
  expect(clock.next).toBe(100);
});

test('a test clock passes a deadline where no answer comes', async () => {
  const clock = new TestClock();
  const seen: string[] = [];
  fetch(await serverOn(clock, undefined), { signal: clock.timeout(30_000) }).then(
    () => seen.push('an answer'),
    (error: Error) => seen.push(error.name),
  );
  await clock.advance(29_999);
  expect(seen).toEqual([]);
  await clock.advance(1);
  expect(seen).toEqual(['TimeoutError']);
});

test('a test clock waits for files and keys that are being worked on', async () => {
  const path = join(temporaryFolder(), 'file');
  const clock = new TestClock();
  const done: string[] = [];
  void writeFile(path, 'x'.repeat(4_000_000))
    .then(() => readFile(path))
    .then(() => done.push('file'));
  void promisify(generateKeyPair)('rsa', { modulusLength: 2048 }).then(() => done.push('key'));
  clock.after(1, () => done.push('timer'));
  await clock.advance(1);
  expect(done.slice(0, 2).sort()).toEqual(['file', 'key']);
  expect(done[2]).toBe('timer');
});

test('a test clock turns from timer to timer until something is found', async () => {
  const clock = new TestClock();
  const began = clock.now();
  const ticks: number[] = [];
  const timer = clock.every(30_000, () => ticks.push(clock.now() - began));
  expect(await clock.until(() => ticks.find((at) => at > 60_000))).toBe(90_000);
  timer.cancel();
});

test('a test clock gives up at its limit, and where nothing is left to wait for', async () => {
  const clock = new TestClock();
  await expect(clock.until(() => false)).rejects.toThrow('still not true');
  const timer = clock.every(1_000, () => {});
  await expect(clock.until(() => false, 10_000)).rejects.toThrow('still not true after 10000 ms');
  timer.cancel();
  await atRest();
});

test.each<[string, (done: () => void) => unknown]>([
  ['a password is derived', (done) => pbkdf2('a', 'b', 100_000, 32, 'sha256', done)],
  ['a key is made', (done) => generateKeyPair('rsa', { modulusLength: 2_048 }, done)],
])('a test clock stands still while %s', async (_, begin) => {
  const clock = new TestClock();
  const order: string[] = [];
  clock.after(1, () => order.push('timer'));
  begin(() => order.push('work'));
  await clock.advance(1);
  expect(order).toEqual(['work', 'timer']);
});

test('a test clock ends a wait of less than a millisecond', async () => {
  const clock = new TestClock();
  await clock.during(clock.sleep(0.0001), 1);
});
