import { EngineError } from '../../error.ts';
import type { FileFacts, FileReader } from './files.ts';

/** The user we run as; undefined: do not check owners. */
export type OwnUser = number | undefined;

const MOST_LINKS = 40;
const STICKY = 0o1000;
const WRITABLE_BY_OTHERS = 0o022;

/** A path quoted for a shell. */
export const quoted = (path: string): string =>
  /^[\w./@:+,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;

const userName = (uid: number): string => (uid === 0 ? 'root' : String(uid));

/** `place`: a directory that others may share, in which one file of ours is to lie. */
type Role = 'parent' | 'itself' | 'place';

/** Refuses a path that a user other than root and our own could change. */
export function refuseChangeable(path: string, facts: FileFacts, uid: OwnUser, role: Role): void {
  const isLink = facts.kind === 'link';
  if (uid !== undefined && facts.uid !== uid && facts.uid !== 0) {
    const chown = `chown ${isLink ? '-h ' : ''}${userName(uid)} ${quoted(path)}`;
    throw new EngineError(
      'HOME_FOREIGN_OWNER',
      `${path} belongs to user ${facts.uid}, and that user could change what ${userName(uid)} does; run as that user, or check the contents and ${chown}`,
      { path },
    );
  }
  // In a sticky directory such as /tmp only the owner of an entry can replace it: inode(7).
  const isSticky = role === 'parent' && facts.kind === 'directory' && (facts.mode & STICKY) !== 0;
  if (isLink || isSticky || (facts.mode & WRITABLE_BY_OTHERS) === 0) return;
  // Programs of all users need a directory such as /tmp as it is.
  const isShared = role === 'place' && facts.kind === 'directory' && (facts.mode & STICKY) !== 0;
  const remedy = isShared
    ? 'use a directory that only root or its owner can write'
    : `chmod go-w ${quoted(path)}, and check the contents`;
  throw new EngineError(
    'HOME_WRITABLE_BY_OTHERS',
    `${path} can be changed by other users (mode ${facts.mode.toString(8).padStart(4, '0')}); ${remedy}`,
    { path },
  );
}

/** What a walk along a path asks of a disk. */
export type PathReader = Pick<FileReader, 'facts' | 'target'>;

/** Resolves a path, link by link from the root on; `visit` sees everything on the way. What does not exist ends the way. */
export function walkPath(
  files: PathReader,
  path: string,
  visit: (at: string, facts: FileFacts, isLast: boolean) => void = () => {},
): string {
  const stepsOf = (text: string): string[] =>
    text
      .split('/')
      .filter((step) => step !== '' && step !== '.')
      .reverse();
  const ahead = stepsOf(path);
  const root = files.facts('/');
  if (root !== undefined) visit('/', root, ahead.length === 0);
  let at = '';
  let links = 0;
  for (let step = ahead.pop(); step !== undefined; step = ahead.pop()) {
    if (step === '..') {
      at = at.slice(0, Math.max(0, at.lastIndexOf('/')));
      continue;
    }
    const next = `${at}/${step}`;
    const facts = files.facts(next);
    if (facts === undefined) return [next, ...ahead.reverse()].join('/');
    visit(next, facts, ahead.length === 0);
    if (facts.kind !== 'link') {
      at = next;
      continue;
    }
    if (++links > MOST_LINKS)
      throw new EngineError('HOME_MALFORMED', `the links in ${path} form a loop; correct them`, { path });
    const target = files.target(next) ?? '';
    if (target.startsWith('/')) at = '';
    ahead.push(...stepsOf(target));
  }
  return at === '' ? '/' : at;
}

/**
 * Resolves a path. Refuses it if a user other than root and our own could redirect it or change its contents, as StrictModes of
 * sshd_config(5) does: the file that was checked is the file that is used.
 * A path that does not exist yet passes: the permissions of its parents decide which users can create it.
 */
export const trustedPath = (files: PathReader, path: string, uid: OwnUser, last: Role = 'itself'): string =>
  walkPath(files, path, (at, facts, isLast) => refuseChangeable(at, facts, uid, isLast ? last : 'parent'));
