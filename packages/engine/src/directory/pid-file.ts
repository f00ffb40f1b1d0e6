import { lstatSync, readFileSync, type Stats } from 'node:fs';
import { HandoverError } from '@handover/material';
import { EngineError } from '../error.ts';
import { readBounded } from '../look/read-bounded.ts';
import { type FileReader, homeFileError } from './files.ts';
import { type OwnUser, quoted, trustedPath } from './trusted-path.ts';

/** PostgreSQL's postmaster.pid has eight lines; the pid is the first. */
const MAX_BYTES = 4_096;
/** PF_KTHREAD of include/linux/sched.h, in field 9 of /proc/<pid>/stat. */
const KERNEL_THREAD = 0x0020_0000;

const refused = (path: string, why: string): HandoverError =>
  new EngineError('PID_FILE_REFUSED', `no signal was sent: pid file ${path} ${why}`, { path });

/** The user ids of a process; undefined: it does not exist. */
const ownersOf = (pid: number): readonly number[] | 'kernel' | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const flags = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[6]);
    if ((flags & KERNEL_THREAD) !== 0) return 'kernel';
    const [, uids] = /^Uid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return uids?.split(/\s+/).map(Number);
  } catch {
    return undefined;
  }
};

/**
 * Refuses a file that a user other than root, our own and the file's owner could have put there, with a link for instance:
 * it may be another file than the one that the Leaf means. Checks the path after opening the file, and compares the two.
 */
const refuseMisplaced = (files: FileReader, path: string, uid: OwnUser, stat: Stats): void => {
  const ofOwner: Pick<FileReader, 'facts' | 'target'> = {
    target: (at) => files.target(at),
    facts: (at) => {
      const facts = files.facts(at);
      return facts?.uid === stat.uid ? { ...facts, uid: 0 } : facts;
    },
  };
  let found: Stats;
  try {
    found = lstatSync(trustedPath(ofOwner, path, uid));
  } catch (error) {
    if (error instanceof HandoverError)
      throw refused(path, `could have been put there by another user: ${error.message}`);
    throw homeFileError(error, 'read', path);
  }
  if (found.dev !== stat.dev || found.ino !== stat.ino)
    throw refused(path, 'was replaced while handover read it; handover reads it again');
};

/**
 * The process that a pid file names. A file of another user could name any process, and we may be root: then all user ids
 * of the process must be that user's. Without /proc the file must be ours or root's. `path` is absolute.
 */
export function processIn(files: FileReader, path: string, uid: OwnUser): number {
  const { bytes, stat } = opened(path);
  if ((stat.mode & 0o022) !== 0) throw refused(path, `is writable by others; chmod go-w ${quoted(path)}`);
  // With a hard link, another user could make a file of root look like a pid file of their own (link(2)).
  if (stat.nlink > 1) throw refused(path, 'has a second hard link; remove one of the two');
  const [text = ''] = Buffer.from(bytes).toString('latin1').trim().split('\n', 1);
  const pid = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (pid === 0) throw refused(path, 'holds no pid');
  if (pid === 1 || pid === process.pid)
    throw refused(path, `names process ${pid}, ${pid === 1 ? 'which is init' : 'which is handover itself'}`);
  const owners = process.platform === 'linux' ? ownersOf(pid) : [];
  if (owners === undefined) throw refused(path, `names process ${pid}, which is not running; start it`);
  if (owners === 'kernel') throw refused(path, `names process ${pid}, which is a kernel thread`);
  refuseMisplaced(files, path, uid, stat);
  const isOurs = uid === undefined || stat.uid === 0 || stat.uid === uid;
  if (isOurs || (owners.length > 0 && owners.every((owner) => owner === stat.uid))) return pid;
  throw refused(
    path,
    `belongs to user ${stat.uid}, and process ${pid} to user ${owners[0] ?? 'unknown'}; the file must belong to the user of the process, or the file and its folders to root`,
  );
}

const opened = (path: string): ReturnType<typeof readBounded> => {
  try {
    return readBounded(path, { most: MAX_BYTES, follow: false });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw refused(path, 'does not exist');
    if (code === 'ELOOP') throw refused(path, 'is a link; set pidFile to the file itself');
    throw homeFileError(error, 'read', path);
  }
};
