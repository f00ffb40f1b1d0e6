import cluster from 'node:cluster';
import { readFileSync } from 'node:fs';
import { isIPv4, type Socket } from 'node:net';
import { endianness } from 'node:os';

/** True in a worker of `node:cluster`, which PM2's cluster mode is too. */
export const isClusterWorker = (): boolean => cluster.isWorker;

/** Process ids of the workers that this process has started. */
export const ownWorkers = (): readonly number[] =>
  Object.values(cluster.workers ?? {}).flatMap((worker) => {
    const pid = worker?.isDead() === false ? worker.process.pid : undefined;
    return pid === undefined ? [] : [pid];
  });

/** Text of a file below /proc; undefined where there is none (another system, a process that ended). */
function procText(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return undefined;
  }
}

/** Parent and start, of a process that has not ended. The command's name before them may hold any character but no newline. */
function startIn(stat: string): { readonly parent: number; readonly birth: string } | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, birth = ''] = [fields[0], fields[1], fields[19]];
  return state === 'Z' || state === 'X' ? undefined : { parent: Number(parent), birth };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * When the process with this id began, in ticks since the machine's start; undefined when it does not run, or was not started by `parent`. With it
 * an id that was given to another process, or is of another container, is told apart. Without /proc neither is known, nor checked.
 */
export function birthOf(pid: number, parent?: number): string | undefined {
  const stat = procText(`${pid}/stat`);
  if (stat === undefined) return process.platform !== 'linux' && isRunning(pid) ? 'unknown' : undefined;
  const start = startIn(stat);
  return parent === undefined || start?.parent === parent ? start?.birth : undefined;
}

/** An address and port as /proc/net/tcp writes them: groups of four bytes in the machine's order. */
function kernelName(address: string, port: number): string {
  const bytes = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address);
  if (endianness() === 'LE') bytes.swap32();
  return `${bytes.toString('hex')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

function ipv6Bytes(address: string): Buffer {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) {
    return Buffer.from([...Array(10).fill(0), 0xff, 0xff, ...mapped.split('.').map(Number)]);
  }
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? [];
  const groups = (part: string | undefined): number[] =>
    (part ?? '')
      .split(':')
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16));
  const [before, after] = [groups(head), groups(tail)];
  const all = [...before, ...Array(Math.max(0, 8 - before.length - after.length)).fill(0), ...after];
  return Buffer.from(all.slice(0, 8).flatMap((group) => [group >> 8, group & 0xff]));
}

/**
 * True when the other end of a TCP connection is a process of this machine and of this process's user. Anyone can connect
 * to a status port; only a process of the same user may speak for the cluster. Linux says whose a connection is; elsewhere
 * the address alone counts.
 */
export function isOwnConnection(socket: Socket): boolean {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (remoteAddress === undefined || remotePort === undefined || localPort === undefined) return false;
  if (remoteAddress !== localAddress) return false;
  if (process.platform !== 'linux') return true;
  const plain = /^::ffff:(.+)$/i.exec(remoteAddress)?.[1] ?? remoteAddress;
  const names = [plain, remoteAddress, ...(isIPv4(plain) ? [`::ffff:${plain}`] : [])];
  const lines = `${procText('net/tcp') ?? ''}\n${procText('net/tcp6') ?? ''}`.split('\n');
  return names.some((address) => {
    const from = kernelName(address, remotePort);
    const to = kernelName(address, localPort);
    return lines.some((line) => {
      const [, local, remote, , , , , uid] = line.trim().split(/\s+/);
      return local === from && remote === to && Number(uid) === process.getuid?.();
    });
  });
}
