import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { diskFiles, type FileFacts, type Files } from '../disk/files.ts';
import { isCopied } from './copies.ts';
import { openedFile } from './opened-files.ts';

const ELSE = 54_321;
const bytes = Buffer.from('key');

/** A real file, seen with another owner or group. */
const seenWith = (mode: number, change: Partial<FileFacts>): { files: Files; path: string } => {
  const directory = temporaryFolder();
  const path = join(directory, 'web.pem');
  writeFileSync(path, bytes);
  chmodSync(path, mode);
  const facts = (asked: string): FileFacts | undefined => {
    const found = diskFiles.facts(asked);
    return found === undefined || asked !== path ? found : { ...found, ...change };
  };
  return { files: { ...diskFiles, facts }, path };
};
const copied = (mode: number, change: Partial<FileFacts>, asked: { uid?: number; gid?: number } = {}) => {
  const { files, path } = seenWith(mode, change);
  const copy = { name: 'web.pem', path, ownership: { mode, ...asked }, holdsKey: true };
  return isCopied(files, copy, { 'web.pem': bytes }, process.getuid?.());
};

test('a copy whose owner is no longer asked for is written again', () => {
  expect(copied(0o600, {})).toBe(true);
  expect(copied(0o600, { uid: ELSE }, { uid: ELSE })).toBe(true);
  expect(copied(0o600, { uid: ELSE })).toBe(false);
});

test('a copy whose group is another than is asked for, or is no longer asked for, is written again', () => {
  expect(copied(0o640, { gid: ELSE }, { gid: ELSE })).toBe(true);
  expect(copied(0o640, { gid: ELSE }, { gid: ELSE + 1 })).toBe(false);
  expect(copied(0o640, { gid: ELSE })).toBe(false);
  expect(copied(0o640, {})).toBe(true);
  // A group without rights reads nothing.
  expect(copied(0o600, { gid: ELSE })).toBe(true);
});

test('a file that was given to another user is named', () => {
  const wanted = { mode: 0o600, uid: process.getuid?.(), holdsKey: true };
  const { files, path } = seenWith(0o600, { uid: ELSE });
  expect(openedFile(files, path, wanted, 'tls.key')).toMatch(
    /^tls\.key belongs to user 54321 instead of \d+; that user can read this private key; handover run sets it back$/,
  );
  expect(openedFile(files, path, { ...wanted, uid: ELSE }, 'tls.key')).toBeUndefined();
});
