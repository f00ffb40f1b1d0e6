import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { codeOf, Directories, loaded } from '../../test/directories.ts';
import { converge, diskFiles } from '../index.ts';

const directories = new Directories();

const pass = async (path: string): Promise<void> => {
  const home = directories.home(path);
  const lock = await home.lock();
  try {
    await converge(loaded(home), 'default/mesh');
  } finally {
    await lock.release();
  }
};

test.each([
  ['', 0o777, /^HOME_WRITABLE_BY_OTHERS: .*mode 0777.*chmod go-w/],
  ['', 0o775, /^HOME_WRITABLE_BY_OTHERS/],
  ['mesh.yaml', 0o666, /^HOME_WRITABLE_BY_OTHERS: .*mesh\.yaml/],
  ['state', 0o770, /^HOME_WRITABLE_BY_OTHERS: .*state/],
  ['state', 0o755, /^HOME_STATE_EXPOSED/],
])('a home is refused when its file %j has mode %o', async (name, mode, says) => {
  const path = directories.make();
  await pass(path);
  chmodSync(join(path, name), mode);
  expect(await codeOf(() => pass(path))).toMatch(says);
});

test('a home is refused when it does not exist, is empty, or belongs to another user', async () => {
  expect(await codeOf(() => directories.home('/nonexistent/dir').load())).toMatch(/^HOME_MISSING/);
  expect(await codeOf(() => directories.home(directories.make('')).load())).toMatch(/^HOME_EMPTY/);
  const uid = process.getuid?.() ?? 0;
  if (uid !== 0) return;
  const path = directories.make();
  diskFiles.facts(path);
  const foreign = directories.home(
    path,
    {
      ...diskFiles,
      facts: (file) => {
        const facts = diskFiles.facts(file);
        return facts === undefined ? undefined : { ...facts, uid: 1234 };
      },
    },
    { uid: 77 },
  );
  expect(await codeOf(() => foreign.load())).toMatch(/^HOME_FOREIGN_OWNER: .* belongs to user 1234/);
});
