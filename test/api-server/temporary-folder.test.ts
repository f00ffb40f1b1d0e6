import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeFolders, temporaryFolder } from './src/temporary-folder.ts';

const shared = temporaryFolder();
let own = '';
let early = '';

beforeAll(() => {
  early = temporaryFolder();
});

// Runs after the other hook: vitest goes from the last to the first.
afterAll(() => {
  removeFolders();
  expect([shared, early].map((path) => existsSync(path))).toEqual([false, false]);
});

test('a temporary folder of a test exists, and is its own', () => {
  own = temporaryFolder();
  writeFileSync(join(own, 'file'), '');
  expect(own).not.toBe(shared);
});

afterAll(() => {
  expect(existsSync(own)).toBe(false);
  expect([shared, early].map((path) => existsSync(path))).toEqual([true, true]);
});

test('a temporary folder made outside a test stays for all tests of the file', () => {
  expect([shared, early].map((path) => existsSync(path))).toEqual([true, true]);
});

let over = (): void => undefined;
const brief = new Promise<void>((resolve) => {
  over = resolve;
});

test.concurrent('a temporary folder of a test that runs beside another stays when the other one ends', async () => {
  await Promise.resolve(); // the other test has begun
  const folder = temporaryFolder();
  await brief;
  await new Promise((turn) => setImmediate(turn));
  expect(existsSync(folder)).toBe(true);
});

test.concurrent('a test that ends while another one runs has a temporary folder of its own', async ({
  onTestFinished,
}) => {
  onTestFinished(over);
  expect(existsSync(temporaryFolder())).toBe(true);
});
