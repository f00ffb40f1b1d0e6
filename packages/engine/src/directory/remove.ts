import { lstatSync, type Stats } from 'node:fs';
import { readdir, rmdir, unlink } from 'node:fs/promises';
import { EngineError } from '../error.ts';
import { quoted } from './trusted-path.ts';

const WRITABLE_BY_OTHERS = 0o022;

const isOurs = ({ uid, mode }: Stats): boolean =>
  process.geteuid === undefined ||
  ((uid === 0 || uid === process.geteuid()) && (mode & WRITABLE_BY_OTHERS) === 0);

/**
 * Removes a file, a link, or a folder with what is in it. A folder that another user could change is not entered: a link put
 * into it meanwhile would lead the removal elsewhere.
 */
export async function removeOurs(path: string): Promise<void> {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isDirectory()) return unlink(path);
  if (!isOurs(stat)) {
    throw new EngineError(
      'HOME_FOREIGN_OWNER',
      `${path} is left as it is: user ${stat.uid} may change it; look at what is in it, then rm -r ${quoted(path)}`,
      { path, retry: 'later' },
    );
  }
  for (const name of await readdir(path)) await removeOurs(`${path}/${name}`);
  await rmdir(path);
}
