import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** A process as the lock names it: a pid identifies a process only within one boot and one pid namespace. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time of the process, in the kernel's ticks: the kernel reuses pids. */
  readonly started: string;
  readonly host: string;
  /** Empty where there is no /proc. */
  readonly boot: string;
  readonly pidNamespace: string;
  /** It works until it is stopped, as `handover run` does; other commands end by themselves. */
  readonly stays?: true;
  /** Random: tells two holders apart when all other fields are equal. */
  readonly token: string;
}

const orEmpty = (read: () => string): string => {
  try {
    return read().trim();
  } catch {
    return '';
  }
};

/** Field 22 of /proc/<pid>/stat; the name in field 2 may hold spaces and brackets (proc(5)). */
const startOf = (pid: number): string =>
  orEmpty(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  });

export const ownIdentity = (): ProcessIdentity => ({
  pid: process.pid,
  started: startOf(process.pid),
  host: hostname(),
  boot: orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')),
  pidNamespace: orEmpty(() => readlinkSync('/proc/self/ns/pid')),
  token: randomBytes(16).toString('hex'),
});

/** Whether the other process's pid can be checked from here. Without /proc it compares host names. */
export const isWithinSight = (other: ProcessIdentity, self: ProcessIdentity): boolean =>
  other.boot === self.boot &&
  other.pidNamespace === self.pidNamespace &&
  (self.boot !== '' || other.host === self.host);

/** Only for a process that `isWithinSight`. */
export const isAlive = ({ pid, started }: ProcessIdentity): boolean => {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return started === '' || startOf(pid) === started;
};
