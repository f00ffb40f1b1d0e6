import { expect, test } from 'vitest';
import { directories, generations, invariant, MESH_ID, pass, testKills } from '../../test/crashes.ts';
import { visible } from '../../test/directories.ts';
import { diskFiles, type Files } from '../index.ts';
import { homeFileError } from './disk/files.ts';

// Each of them is tried in tier system.
testKills(9);

/** The operations of the port that change a disk, and where; each call of each is refused once. */
const OPERATIONS = [
  ['makeDirectory', ['out', 'state']],
  ['create', ['out', 'state']],
  ['symlink', ['out']],
  ['link', ['state']],
  ['rename', ['out', 'state']],
  ['remove', ['out', 'state']],
  ['sync', ['out', 'state']],
] as const;
type Operation = (typeof OPERATIONS)[number][0];

/** A disk that refuses the `at`-th call of this operation, as `diskFiles` would; `refused` gives its path. */
const refusing = (operation: Operation, at: number, system: string) => {
  let count = 0;
  let refused: string | undefined;
  const disk = diskFiles[operation] as (...args: unknown[]) => Promise<void>;
  const files: Files = {
    ...diskFiles,
    [operation]: async (...args: unknown[]) => {
      if (++count !== at) return disk(...args);
      // The path that is written: the second one where there are two.
      const path = String(
        operation === 'symlink' || operation === 'link' || operation === 'rename' ? args[1] : args[0],
      );
      refused = path;
      const error = Object.assign(new Error(system), { code: system });
      throw operation === 'link' ? error : homeFileError(error, 'write', path);
    },
  };
  return { files, refused: () => refused };
};

const REFUSALS = [
  ['ENOSPC', 'HOME_DISK_FULL'],
  ['EROFS', 'HOME_READ_ONLY'],
  ['EACCES', 'HOME_FORBIDDEN'],
  ['EIO', 'HOME_IO_FAILED'],
] as const;

test.each(OPERATIONS)(
  'when the disk refuses any one %s, the error has a code and one line, old files stay whole, and the next run continues',
  async (operation, expected) => {
    const base = directories.make();
    await pass(base);
    await directories.home(base).requests.ask({ authority: MESH_ID, rotate: 'r1' });
    const places = new Set<string>();
    for (let at = 1; ; at++) {
      const path = directories.copy(base);
      const [system, code] = REFUSALS[at % REFUSALS.length] ?? REFUSALS[0];
      const { files, refused } = refusing(operation, at, system);
      const outcome = await pass(path, files).catch((error: unknown) => error);
      const where = refused()
        ?.slice(path.length + 1)
        .replace(/\d{4,}\S*/, '');
      if (where === undefined) break; // that was all of them
      places.add(where.split('/', 1)[0] ?? '');
      expect(outcome, `${operation} ${at}: ${where}`).toMatchObject({ code, retry: 'later' });
      expect((outcome as Error).message).not.toContain('\n');
      invariant(path);
      await pass(path);
      invariant(path);
      expect(await generations(path), `${operation} ${at}: ${where}`).toEqual(['2 next', '1 current']);
      expect(new Set(visible(path).bundles.values()).size).toBe(1);
    }
    expect([...places].sort()).toEqual(expected);
  },
);
