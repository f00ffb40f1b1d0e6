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
