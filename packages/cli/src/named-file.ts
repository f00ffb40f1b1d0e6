import { readBounded } from '@handover/engine';
import { HandoverError } from '@handover/material';
import { CliError, type CliErrorCode } from './error.ts';

const KNOWN: Readonly<Record<string, readonly [code: CliErrorCode, what: string]>> = {
  ENOENT: ['FILE_MISSING', 'does not exist; correct the path'],
  ENOTDIR: ['FILE_MISSING', 'is below something that is not a directory; correct the path'],
  EACCES: ['FILE_FORBIDDEN', 'cannot be read: permission denied; correct its mode, or ask its owner'],
  EPERM: ['FILE_FORBIDDEN', 'cannot be read: permission denied; correct its mode, or ask its owner'],
  EISDIR: ['FILE_NOT_REGULAR', 'is a directory; name the files in it'],
  ELOOP: ['FILE_LINK_LOOP', 'is a link that points back to itself; correct the link'],
  // open(2): a socket, or a device without a driver
  ENXIO: ['FILE_NOT_REGULAR', 'is a socket or a device; name a regular file'],
};

export const namedFileError = (path: string, cause: unknown): HandoverError => {
  if (cause instanceof HandoverError) return cause;
  const errno = (cause as NodeJS.ErrnoException | undefined)?.code ?? 'unknown error';
  const [code, what] = KNOWN[errno] ?? ['FILE_UNREADABLE', `cannot be read (${errno}); try another copy`];
  return new CliError(code, `${path} ${what}`, { path, cause });
};

/** The bytes of a file that a command names. Another user may have made it: reads never block, and stop after `most` bytes. */
export const readNamed = (path: string, most: number): Buffer => {
  try {
    return Buffer.from(readBounded(path, { most, named: true }).bytes);
  } catch (cause) {
    throw namedFileError(path, cause);
  }
};

/** The limit for resources in YAML, as in a directory. */
const MAX_RESOURCES_BYTES = 4 * 1024 * 1024;
export const readResources = (path: string): string => readNamed(path, MAX_RESOURCES_BYTES).toString('utf8');
