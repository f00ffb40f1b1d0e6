import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { temporaryFolder } from './src/temporary-folder.ts';

const shared = temporaryFolder();
let own = '';

test('a folder that was asked for in a test is there, and its own', () => {
  own = temporaryFolder();
  writeFileSync(join(own, 'file'), '');
  expect(own).not.toBe(shared);
});

afterAll(() => {
  expect(existsSync(own)).toBe(false);
  expect(existsSync(shared)).toBe(true);
});

test('a folder that was asked for outside a test stays for all tests of the file', () => {
  expect(existsSync(shared)).toBe(true);
});
