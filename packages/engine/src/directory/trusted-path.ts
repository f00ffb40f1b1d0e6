import { EngineError } from '../error.ts';
import type { FileFacts, FileReader } from './files.ts';

/** The user we run as; undefined: owners are not looked at. */
export type OwnUser = number | undefined;

const MOST_LINKS = 40;
const STICKY = 0o1000;
const WRITABLE_BY_OTHERS = 0o022;

/** A path as a shell takes it. */
export const quoted = (path: string): string =>
  /^[\w./@:+,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;

const nameOf = (uid: number): string => (uid === 0 ? 'root' : String(uid));

/** Refuses what a user other than root and ourselves could change. */
export function refuseChangeable(
  path: string,
  facts: FileFacts,
  uid: OwnUser,
  role: 'parent' | 'itself',
): void {
  const isLink = facts.kind === 'link';
  if (uid !== undefined && facts.uid !== uid && facts.uid !== 0) {
    const chown = `chown ${isLink ? '-h ' : ''}${nameOf(uid)} ${quoted(path)}`;
    throw new EngineError(
      'HOME_FOREIGN_OWNER',
      `${path} belongs to user ${facts.uid}, who could change what ${nameOf(uid)} does; run as that user, or look at what is in it and ${chown}`,
      { path },
    );
  }
  // In a sticky directory, as that of temporary files, only its owner replaces an entry: inode(7).
  const isSticky = role === 'parent' && facts.kind === 'directory' && (facts.mode & STICKY) !== 0;
  if (isLink || isSticky || (facts.mode & WRITABLE_BY_OTHERS) === 0) return;
  throw new EngineError(
    'HOME_WRITABLE_BY_OTHERS',
    `${path} may be written by others (mode ${facts.mode.toString(8).padStart(4, '0')}); chmod go-w ${quoted(path)}, and look at what is in it`,
    { path },
  );
}

/**
 * Where a path leads, link by link from the root on. Refuses it if a user other than root and ourselves could make it lead
 * elsewhere or change what is there, as StrictModes of sshd_config(5): so what was looked at is what is used afterwards.
 * What does not exist yet is fine: its parents decide who makes it.
 */
export function trustedPath(files: Pick<FileReader, 'facts' | 'target'>, path: string, uid: OwnUser): string {
  const stepsOf = (text: string): string[] =>
    text
      .split('/')
      .filter((step) => step !== '' && step !== '.')
      .reverse();
  const ahead = stepsOf(path);
  const root = files.facts('/');
  if (root !== undefined) refuseChangeable('/', root, uid, ahead.length === 0 ? 'itself' : 'parent');
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
    refuseChangeable(next, facts, uid, ahead.length === 0 ? 'itself' : 'parent');
    if (facts.kind !== 'link') {
      at = next;
      continue;
    }
    if (++links > MOST_LINKS)
      throw new EngineError('HOME_MALFORMED', `${path} leads in a circle; correct its links`, { path });
    const target = files.target(next) ?? '';
    if (target.startsWith('/')) at = '';
    ahead.push(...stepsOf(target));
  }
  return at === '' ? '/' : at;
}
