import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { fileError, RuntimeError } from './error.ts';

/** Where pods mount the ConfigMap `handover-platform`: one file per fact. */
const PLATFORM_FOLDER = '/etc/handover/platform';
const FACT = 'IS_OPENSHIFT';
const TRUE = 'true';

/** The start of the file, long enough to tell `true` from everything else; undefined: there is none. */
const factIn = (path: string): string | undefined => {
  let file: number | undefined;
  try {
    // Not blocking: a pipe would hold the process up.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(file).isFile())
      throw new RuntimeError('FILE_NOT_REGULAR', `${path} is not a regular file; mount the ConfigMap there`, {
        path,
      });
    const start = Buffer.alloc(TRUE.length + 1);
    return start.toString('latin1', 0, readSync(file, start));
  } catch (cause) {
    const error = fileError(path, cause);
    if (error.code === 'FILE_MISSING') return undefined;
    throw error;
  } finally {
    if (file !== undefined) closeSync(file);
  }
};

/**
 * Whether `IS_OPENSHIFT` is exactly `true`: the environment variable if it is set, else the file of that name in
 * `/etc/handover/platform`, where a pod mounts the ConfigMap `handover-platform`; false if there is neither. Asks no API
 * server. Throws, and names the file, if it is there and cannot be read.
 *
 * @example
 * ```ts
 * import { isOpenShift } from '@handover/runtime/openshift';
 *
 * console.log(isOpenShift({ IS_OPENSHIFT: 'true' })); // true
 * ```
 */
export const isOpenShift = (
  env: Readonly<Record<string, string | undefined>> = process.env,
  folder: string = PLATFORM_FOLDER,
): boolean => (env[FACT] ?? factIn(join(folder, FACT))) === TRUE;
