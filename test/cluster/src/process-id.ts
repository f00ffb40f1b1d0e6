import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Identifies a process even if its pid is reused. */
export interface ProcessId {
  readonly pid: number;
  /** Boot and start time, as the system counts them; compared for equality only. */
  readonly started: string;
}

const bootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
};

/** Undefined when there is no such process, or only its zombie. */
const startedAt = (pid: number): string | undefined => {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // Field 2, the name, may hold spaces and brackets: count from behind it (proc(5)).
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${bootId()}/${fields[19]}`;
    } catch {
      return undefined;
    }
  }
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return line === '' || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '');
  } catch {
    return undefined;
  }
};

export const identify = (pid: number): ProcessId | undefined => {
  const started = startedAt(pid);
  return started === undefined ? undefined : { pid, started };
};

export const isAlive = (process: ProcessId): boolean => startedAt(process.pid) === process.started;

/** Sends the signal if it is still the same process. */
export const signalIfAlive = (target: ProcessId, signal: NodeJS.Signals): boolean => {
  if (!isAlive(target)) return false;
  try {
    return process.kill(target.pid, signal);
  } catch {
    return false;
  }
};
