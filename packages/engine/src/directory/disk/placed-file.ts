import { lstatSync, type Stats } from 'node:fs';
import { HandoverError } from '@handover/material';
import { type Opened, readBounded } from '../../look/read-bounded.ts';
import { type FileReader, homeFileError } from './files.ts';
import { type OwnUser, quoted, trustedPath } from './trusted-path.ts';

type PathReader = Pick<FileReader, 'facts' | 'target'>;

/** A file that a program of another user may write. */
export interface PlacedFile {
  readonly files: PathReader;
  /** Absolute. */
  readonly path: string;
  /** The field of the resource that names it. */
  readonly field: string;
  readonly most: number;
  readonly uid: OwnUser;
  /** Users besides root and our own that may own what is on the way. It may throw what to do. */
  readonly accepts: (owner: number, at: string, stat: Stats) => boolean;
  /** The error for a reason, which is to be read after the file's name. */
  readonly refuse: (why: string) => HandoverError;
}

/**
 * Reads a file that no user but root, our own and those accepted could have written or put there, with a link for instance: it
 * would be another file than the one that the resource means. Checks the path after opening the file, and compares the two.
 */
export const openPlaced = (file: PlacedFile): Opened => {
  const { path, refuse } = file;
  const opened = open(file);
  const { stat } = opened;
  if ((stat.mode & 0o022) !== 0) throw refuse(`is writable by others; chmod go-w ${quoted(path)}`);
  // With a hard link, another user could make a file of root look like one of their own (link(2)).
  if (stat.nlink > 1) throw refuse('has a second hard link; remove one of the two');
  let found: Stats;
  try {
    found = lstatSync(checkedPlace(file, (owner, at) => file.accepts(owner, at, stat)));
  } catch (error) {
    throw error instanceof HandoverError ? error : homeFileError(error, 'read', path);
  }
  if (found.dev !== stat.dev || found.ino !== stat.ino)
    throw refuse('was replaced while handover read it; handover reads it again');
  return opened;
};

const open = ({ path, field, most, refuse }: PlacedFile): Opened => {
  try {
    return readBounded(path, { most, follow: false });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw refuse('does not exist');
    if (code === 'ELOOP') throw refuse(`is a link; set ${field} to the file itself`);
    throw homeFileError(error, 'read', path);
  }
};

/** The path without links, if no other user could change what it means. */
export const checkedPlace = (
  { files, path, uid, refuse }: Pick<PlacedFile, 'files' | 'path' | 'uid' | 'refuse'>,
  accepts: (owner: number, at: string) => boolean,
): string => {
  const facts: PathReader['facts'] = (at) => {
    const there = files.facts(at);
    // A socket that all users may write is one to which they may connect.
    const found = there?.kind === 'other' ? { ...there, mode: there.mode & ~0o022 } : there;
    if (found === undefined || uid === undefined || found.uid === 0 || found.uid === uid) return found;
    return accepts(found.uid, at) ? { ...found, uid: 0 } : found;
  };
  try {
    return trustedPath({ facts, target: (at) => files.target(at) }, path, uid);
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    throw refuse(`could have been put there by another user: ${error.message}`);
  }
};
