import { chmodSync, chownSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundledIn } from '../test/bundled.ts';
import { build, folder, handoverAs, isRoot, NOBODY, startOf } from '../test/real-process.ts';

beforeAll(build, 120_000);

/** A home of root, after its first run. */
const good = async (): Promise<string> => {
  const home = join(folder(), 'home');
  await handoverAs(['init', home]);
  expect(await handoverAs(['run', home, '--once'])).toMatchObject({ code: 0 });
  return home;
};

describe.skipIf(!isRoot)(
  'A user without rights is told in one line what to do (needs root, to play both)',
  () => {
    test('a user without rights is told in one line what to do if the directory cannot be read', async () => {
      const home = await good();
      chmodSync(home, 0o700);
      const program = await bundledIn(folder());
      const ended = await startOf(program, ['status', '--home', `dir:${home}`], NOBODY).ended(30_000);
      expect(ended.stderr).toMatch(/^HOME_FORBIDDEN: [^\n]*; run as the owner[^\n]*\n$/);
      expect(ended.code).toBe(1);
    });

    test('a user without rights is told in one line what to do if out cannot be written', async () => {
      const home = await good();
      for (const name of ['out', 'state']) rmSync(join(home, name), { recursive: true });
      mkdirSync(join(home, 'out'), { mode: 0o755 });
      chownSync(home, NOBODY, NOBODY);
      const program = await bundledIn(folder());
      const ended = await startOf(program, ['run', home, '--once'], NOBODY).ended(30_000);
      expect(ended.stderr).toMatch(
        /^HOME_FORBIDDEN: cannot create .*\/out\/.*permission denied; run as the owner[^\n]*\n$/,
      );
      expect(ended.code).toBe(1);
      expect(existsSync(join(home, 'out/default'))).toBe(false);
    });
  },
);
