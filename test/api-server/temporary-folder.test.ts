import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { temporaryFolder } from './src/temporary-folder.ts';

const shared = temporaryFolder();
let own = '';

test('a temporary folder of a test exists, and is its own', () => {
  own = temporaryFolder();
  writeFileSync(join(own, 'file'), '');
  expect(own).not.toBe(shared);
});

afterAll(() => {
  expect(existsSync(own)).toBe(false);
  expect(existsSync(shared)).toBe(true);
});

test('a temporary folder made outside a test stays for all tests of the file', () => {
  expect(existsSync(shared)).toBe(true);
});
