import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import type { HandoverError } from '@handover/material';
import { EngineError } from '../error.ts';

export interface Opened {
  readonly bytes: Uint8Array;
  /** Of what was opened, whatever has the name by now. */
  readonly stat: Pick<Stats, 'dev' | 'ino' | 'mode' | 'nlink' | 'uid'>;
}

export interface ReadBounds {
  readonly most: number;
  /** Default: a link is followed. */
  readonly follow?: boolean;
  /** A file that a user named in a command, not one of a home: errors have codes of files. */
  readonly named?: boolean;
}

const KINDS: readonly (readonly [(stat: Stats) => boolean, string])[] = [
  [(stat) => stat.isFIFO(), 'a FIFO'],
  [(stat) => stat.isSocket(), 'a socket'],
  [(stat) => stat.isCharacterDevice() || stat.isBlockDevice(), 'a device'],
  [(stat) => stat.isDirectory(), 'a directory'],
];

const odd = (path: string, what: string, named: boolean): HandoverError =>
  named
    ? new EngineError('FILE_NOT_REGULAR', `${path} is ${what}; name a regular file`, { path })
    : new EngineError('HOME_MALFORMED', `${path} is ${what}; a small file is wanted there`, { path });

const large = (path: string, most: number, named: boolean): HandoverError =>
  named
    ? new EngineError('FILE_TOO_LARGE', `${path} is over ${sizeOf(most)}; split it`, { path })
    : odd(path, `over ${sizeOf(most)}`, named);

const sizeOf = (bytes: number): string =>
  bytes >= 1024 ** 2 ? `${bytes / 1024 ** 2} MiB` : `${bytes / 1024} KiB`;

/**
 * A file that another user may have put there: never waited for (open(2): O_NONBLOCK), never a device's bytes, never more than
 * `most` of them. System errors come as they are. A file system that does not answer blocks it: directory/untrusted-files.ts.
 */
export function readBounded(path: string, { most, follow = true, named = false }: ReadBounds): Opened {
  const { O_RDONLY, O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = constants;
  const file = openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW));
  try {
    const stat = fstatSync(file);
    const kind = KINDS.find(([is]) => is(stat));
    if (kind !== undefined) throw odd(path, kind[1], named);
    if (stat.size > most) throw large(path, most, named);
    // Files of /proc say that they are empty; one byte more than we want tells that there is more.
    let buffer = Buffer.allocUnsafe(Math.max(stat.size, 4_096) + 1);
    let filled = 0;
    for (;;) {
      const count = readSync(file, buffer, filled, buffer.length - filled, null);
      if (count === 0) {
        const { dev, ino, mode, nlink, uid } = stat;
        return { bytes: buffer.subarray(0, filled), stat: { dev, ino, mode, nlink, uid } };
      }
      filled += count;
      if (filled > most) throw large(path, most, named);
      if (filled === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(filled)]);
    }
  } finally {
    closeSync(file);
  }
}
