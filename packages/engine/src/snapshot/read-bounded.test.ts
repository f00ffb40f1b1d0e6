import { execFileSync } from 'node:child_process';
import { symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { readBounded } from './read-bounded.ts';

const scratch = temporaryFolder();
const at = (name: string): string => join(scratch, name);

const said = (path: string, follow = true): string => {
  try {
    return Buffer.from(readBounded(path, { most: 8_192, follow }).bytes).toString('utf8');
  } catch (error) {
    if (error instanceof HandoverError) return error.message;
    return String((error as NodeJS.ErrnoException).code);
  }
};

test.each([0, 1, 4_095, 4_096, 4_097, 8_192])('A file of %d bytes is read whole', (size) => {
  writeFileSync(at('file'), 'x'.repeat(size));
  expect(said(at('file'))).toBe('x'.repeat(size));
});

test.skipIf(process.platform !== 'linux')('A file that says it is empty, as those of /proc, is read', () => {
  expect(said('/proc/self/status')).toContain('Uid:');
});

test('A FIFO, a device or a directory is not read, and not waited for', () => {
  execFileSync('mkfifo', [at('fifo')]);
  expect(said(at('fifo'))).toBe(`${at('fifo')} is a FIFO; a small file is wanted there`);
  expect(said('/dev/zero')).toBe('/dev/zero is a device; a small file is wanted there');
  expect(said(scratch)).toBe(`${scratch} is a directory; a small file is wanted there`);
});

test('A file that is too large, or turns out to be, is not read', () => {
  writeFileSync(at('large'), 'x'.repeat(8_193));
  expect(said(at('large'))).toBe(`${at('large')} is over 8 KiB; a small file is wanted there`);
  truncateSync(at('large'), 10 * 1024 ** 3);
  expect(said(at('large'))).toContain('is over 8 KiB');
  if (process.platform === 'linux') expect(said('/proc/kallsyms')).toContain('is over 8 KiB');
});

test('A link is not read where none is allowed', () => {
  writeFileSync(at('target'), 'text');
  symlinkSync(at('target'), at('link'));
  expect(said(at('link'))).toBe('text');
  expect(said(at('link'), false)).toBe('ELOOP');
});
