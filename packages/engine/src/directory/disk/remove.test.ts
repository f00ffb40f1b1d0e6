import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Directories, visible } from '../../../test/directories.ts';
import { type ControllerEvent, diskFiles, passOnce } from '../../index.ts';

const directories = new Directories();

const OTHER = 4242;

const pass = async (path: string): Promise<string> => {
  const home = directories.home(path, undefined, { uid: process.getuid?.() });
  const lock = await home.lock();
  const events: ControllerEvent[] = [];
  try {
    await passOnce(home, home.load(), (event) => events.push(event));
    return 'done';
  } catch (error) {
    return (error as Error).message;
  } finally {
    await lock.release();
  }
};

describe.skipIf(process.getuid?.() !== 0)('A folder that another user planted (needs root)', () => {
  test('A folder that another user planted stays, and the error names it and what to do; certificates are still issued, and our own leftovers are removed', async () => {
    const path = directories.make();
    await pass(path);
    const folder = join(path, 'out/default/secrets/a');
    const planted = join(folder, '..2020_planted');
    mkdirSync(join(planted, 'deep'), { recursive: true });
    writeFileSync(join(planted, 'deep/x'), '');
    for (const made of [planted, join(planted, 'deep')]) chownSync(made, OTHER, OTHER);
    mkdirSync(join(folder, '..2021_ours'));
    writeFileSync(join(folder, '..2021_ours/tls.key'), 'secret');

    await diskFiles.remove(join(folder, '..data'));
    expect(await pass(path)).toBe(
      `${planted} was not removed: another user could change it (it belongs to user ${OTHER}); check the contents, then rm -r ${planted}`,
    );
    expect(existsSync(join(planted, 'deep/x'))).toBe(true);
    expect(existsSync(join(folder, '..2021_ours'))).toBe(false);
    expect(visible(path).chains.has('secrets/a')).toBe(true);
    expect(visible(path).chains.has('secrets/b')).toBe(true);
  });

  test('A folder that another user planted inside a folder of ours stops the removal there, and so does a folder that other users can write', async () => {
    const path = directories.make();
    for (const [name, change] of [
      ['foreign', (inner: string) => chownSync(inner, OTHER, OTHER)],
      ['open', (inner: string) => chmodSync(inner, 0o777)],
    ] as const) {
      const inner = join(path, name, 'inner');
      mkdirSync(inner, { recursive: true });
      writeFileSync(join(inner, 'x'), '');
      change(inner);
      await expect(diskFiles.remove(join(path, name))).rejects.toMatchObject({ code: 'HOME_FOREIGN_OWNER' });
      expect(existsSync(join(inner, 'x'))).toBe(true);
    }
  });
});

test('a folder of ours is removed with its contents, and the targets of its links stay', async () => {
  const path = directories.make();
  mkdirSync(join(path, 'ours/deep'), { recursive: true });
  mkdirSync(join(path, 'elsewhere'));
  writeFileSync(join(path, 'elsewhere/x'), '');
  writeFileSync(join(path, 'ours/deep/x'), '');
  symlinkSync(join(path, 'elsewhere'), join(path, 'ours/deep/link'));
  await diskFiles.remove(join(path, 'ours'));
  await diskFiles.remove(join(path, 'ours'));
  expect(readdirSync(path)).toEqual(['elsewhere', 'mesh.yaml']);
  expect(readdirSync(join(path, 'elsewhere'))).toEqual(['x']);
});
