import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { codeOf, Directories, loaded } from '../../../test/directories.ts';
import { type DirectoryHome, passOnce, statusOf } from '../../index.ts';

const directories = new Directories();
const elsewhere = temporaryFolder();
/** As a write that was cut short would leave it: in a folder of ours it would be removed. */
const LEFTOVER = join(elsewhere, '..2024_01_01_x');

const made = async (): Promise<DirectoryHome> => {
  writeFileSync(LEFTOVER, 'theirs');
  const home = directories.home(directories.make());
  await once(home);
  return home;
};
const once = async (home: DirectoryHome): Promise<void> => {
  const lock = await home.lock();
  try {
    await passOnce(home, loaded(home).load(), () => {});
  } finally {
    await lock.release();
  }
};

test.each(['out/stray', 'out/default/stray', 'out/default/secrets/stray', 'state/stray', '.#mesh.yaml'])(
  'A stray link at %s stops no command, and what it leads to stays as it is',
  async (at) => {
    const home = await made();
    symlinkSync(elsewhere, join(home.path, at));
    home.check();
    await once(home);
    expect((await statusOf(loaded(home).fresh)).authorities[0]).toMatchObject({
      phase: 'Stable',
      ready: true,
    });
    expect(existsSync(LEFTOVER)).toBe(true);
  },
);

test('A link in the place of an object stops that object only', async () => {
  const home = await made();
  const folder = join(home.path, 'out/default/secrets/a');
  renameSync(folder, join(home.path, 'moved'));
  symlinkSync(join(home.path, 'moved'), folder);
  rmSync(join(home.path, 'out/default/secrets/b'), { recursive: true });
  expect(await codeOf(() => once(home))).toMatch(/^OBJECT_OBSTACLE: default\/secrets\/a: .*a is a link to /);
  expect(existsSync(join(home.path, 'out/default/secrets/b/tls.crt'))).toBe(true);
});

test('A link in place of a state file is refused, and the advice fits a file', async () => {
  const home = await made();
  const file = join(home.path, 'state/log/issued.jsonl');
  renameSync(file, join(home.path, 'kept'));
  symlinkSync(join(home.path, 'kept'), file);
  expect(await codeOf(() => home.check())).toMatch(
    /^HOME_MALFORMED: .*issued\.jsonl is a link to .*; replace the link with what it leads to$/,
  );
});

test.each(['out', 'state', 'state/authorities', 'state/requests'])(
  'A link at %s, which Handover writes to, is refused',
  async (at) => {
    const home = await made();
    rmSync(join(home.path, at), { recursive: true, force: true });
    mkdirSync(join(elsewhere, 'target'), { recursive: true });
    symlinkSync(join(elsewhere, 'target'), join(home.path, at));
    expect(await codeOf(() => home.check())).toMatch(/^HOME_MALFORMED: .* is a link to /);
  },
);
