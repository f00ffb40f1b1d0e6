import { readFileSync } from 'node:fs';
import type { HandoverError } from '@handover/material';
import { EngineError } from '../../error.ts';
import { openPlaced } from '../disk/placed-file.ts';
import type { OwnUser } from '../disk/trusted-path.ts';
import type { UntrustedFiles } from '../disk/untrusted-files.ts';

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
 * The process that a pid file names. A file of another user could name any process, and we may be root: then all user ids
 * of the process must be that user's. Without /proc the file must be ours or root's. `path` is absolute.
 */
export async function processIn(far: UntrustedFiles, path: string, uid: OwnUser): Promise<number> {
  const { bytes, stat } = await openPlaced({
    far,
    share: `pid file ${path}`,
    path,
    field: 'pidFile',
    most: MAX_BYTES,
    uid,
    accepts:
      ({ uid: its }) =>
      (owner) =>
        owner === its,
    refuse: (why) => refused(path, why),
  });
  const [text = ''] = Buffer.from(bytes).toString('latin1').trim().split('\n', 1);
  const pid = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (pid === 0) throw refused(path, 'holds no pid');
  if (pid === 1 || pid === process.pid)
    throw refused(path, `names process ${pid}, ${pid === 1 ? 'which is init' : 'which is handover itself'}`);
  const owners = process.platform === 'linux' ? ownersOf(pid) : [];
  if (owners === undefined) throw refused(path, `names process ${pid}, which is not running; start it`);
  if (owners === 'kernel') throw refused(path, `names process ${pid}, which is a kernel thread`);
  const isOurs = uid === undefined || stat.uid === 0 || stat.uid === uid;
  if (isOurs || (owners.length > 0 && owners.every((owner) => owner === stat.uid))) return pid;
  throw refused(
    path,
    `belongs to user ${stat.uid}, and process ${pid} to user ${owners[0] ?? 'unknown'}; the file must belong to the user of the process, or the file and its folders to root`,
  );
}
