import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import type { FileReader } from './files.ts';
import { type OwnUser, trustedPath } from './trusted-path.ts';

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/**
 * The file that a hook's first word names: a path, or a name in PATH; undefined: not found. Refuses a program that another
 * user could change, because it runs with our rights.
 */
export const hookProgram = (
  files: FileReader,
  program: string,
  cwd: string,
  uid: OwnUser,
  searchPath: string = process.env.PATH ?? '',
): string | undefined => {
  const candidates = program.includes('/')
    ? [resolve(cwd, program)]
    : searchPath.split(':').map((directory) => resolve(cwd, directory, program));
  const found = candidates.find(isExecutable);
  if (found !== undefined) trustedPath(files, found, uid);
  return found;
};
