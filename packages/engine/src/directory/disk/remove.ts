import { lstatSync, type Stats } from 'node:fs';
import { readdir, rmdir, unlink } from 'node:fs/promises';
import { EngineError } from '../../error.ts';
import { quoted } from './trusted-path.ts';

const WRITABLE_BY_OTHERS = 0o022;

const isOurs = ({ uid, mode }: Stats): boolean =>
  process.geteuid === undefined ||
  ((uid === 0 || uid === process.geteuid()) && (mode & WRITABLE_BY_OTHERS) === 0);

/**
 * Removes a file, a link, or a folder and its contents. Does not enter a folder that another user could change: with a link
 * put there meanwhile, it would remove files elsewhere.
 */
export async function removeOurs(path: string): Promise<void> {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isDirectory()) return unlink(path);
  if (!isOurs(stat)) {
    throw new EngineError(
      'HOME_FOREIGN_OWNER',
      `${path} was not removed: another user could change it (it belongs to user ${stat.uid}); check the contents, then rm -r ${quoted(path)}`,
      { path, retry: 'later' },
    );
  }
  for (const name of await readdir(path)) await removeOurs(`${path}/${name}`);
  await rmdir(path);
}
