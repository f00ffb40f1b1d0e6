import { HandoverError } from '@handover/material';
import { isCode } from '../../error.ts';
import type { Opened } from '../../snapshot/read-bounded.ts';
import { homeFileError } from './files.ts';
import { type PathQuery, type PathSnapshot, replayPath } from './path-snapshot.ts';
import { type OwnUser, type PathReader, quoted, trustedPath } from './trusted-path.ts';
import type { UntrustedFiles } from './untrusted-files.ts';

/** Something that a program of another user may have put there. */
export interface Placed {
  readonly far: UntrustedFiles;
  /** On whose account it is looked at. */
  readonly share: string;
  /** Absolute. */
  readonly path: string;
  readonly uid: OwnUser;
  /** The error for a reason, which is to be read after the file's name. */
  readonly refuse: (why: string) => HandoverError;
}

/** Users besides root and our own that may own what is on the way. It may throw what to do. */
export type Accepts = (owner: number, at: string, way: PathReader) => boolean;

/** A file that a program of another user may write. */
export interface PlacedFile extends Placed {
  /** The field of the resource that names it. */
  readonly field: string;
  readonly most: number;
  readonly accepts: (stat: Opened['stat']) => Accepts;
}

/**
 * Reads a file that no user but root, our own and those accepted could have written or put there, with a link for instance: it
 * would be another file than the one that the resource means. Checks the path after opening the file, and compares the two.
 */
export const openPlaced = async (file: PlacedFile): Promise<Opened> => {
  const { path, field, most, refuse } = file;
  const seen = await look(file, { path, most, follow: false }).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw refuse('does not exist');
    if (code === 'ELOOP') throw refuse(`is a link; set ${field} to the file itself`);
    throw homeFileError(error, 'read', path);
  });
  const { opened } = seen;
  if (opened === undefined) throw new TypeError(`${path} was to be read`);
  const { stat } = opened;
  if ((stat.mode & 0o022) !== 0) throw refuse(`is writable by others; chmod go-w ${quoted(path)}`);
  // With a hard link, another user could make a file of root look like one of their own (link(2)).
  if (stat.nlink > 1) throw refuse('has a second hard link; remove one of the two');
  checkPlace(seen, file, file.accepts(stat));
  if (seen.last?.dev !== stat.dev || seen.last.ino !== stat.ino)
    throw refuse('was replaced while handover read it; handover reads it again');
  return opened;
};

const look = async ({ far, share, refuse }: Placed, ask: PathQuery): Promise<PathSnapshot> => {
  try {
    return await far.look(ask, share);
  } catch (error) {
    throw isCode(error, 'FILE_NO_ANSWER') && error.path !== undefined
      ? refuse(error.message.slice(error.path.length + 1))
      : error;
  }
};

/** Which file or socket lies at a path, if no other user could change what the path means. */
export const checkedPlace = async (placed: Placed, accepts: Accepts): Promise<string> => {
  const seen = await look(placed, { path: placed.path });
  checkPlace(seen, placed, accepts);
  if (seen.last === undefined) throw placed.refuse('cannot be read: no such file');
  return `${seen.last.dev} ${seen.last.ino}`;
};

const checkPlace = (seen: PathSnapshot, { path, uid, refuse }: Placed, accepts: Accepts): void => {
  const way = replayPath(seen);
  const facts: PathReader['facts'] = (at) => {
    const there = way.facts(at);
    // A socket that all users may write is one to which they may connect.
    const found = there?.kind === 'other' ? { ...there, mode: there.mode & ~0o022 } : there;
    if (found === undefined || uid === undefined || found.uid === 0 || found.uid === uid) return found;
    return accepts(found.uid, at, way) ? { ...found, uid: 0 } : found;
  };
  try {
    trustedPath({ ...way, facts }, path, uid);
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    throw refuse(`could have been put there by another user: ${error.message}`);
  }
};
