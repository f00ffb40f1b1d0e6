import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, dirname, resolve } from 'node:path';
import { birthOf } from './cluster-process.ts';
import { listen } from './http.ts';
import type { StatusPlace } from './server.ts';

/** One line of /proc/net/unix: inode and name. Older versions of libuv fill the name up with zero bytes, which read as `@`. */
const ENTRY = /^(?:\S+ ){6}\s*(\d+) @(handover-status\/[0-9a-f]+\/)(\d+)\//gm;

/** Two containers may share a network and each have a directory of their own by the same name. */
const directoryId = (path: string): string => {
  const found = statSync(dirname(path), { throwIfNoEntry: false });
  return found === undefined ? dirname(path) : `${found.dev}:${found.ino}`;
};

const registryName = ({ port, socket, file }: StatusPlace): string => {
  const path = file ?? socket;
  return path === undefined ? `port ${port}` : `${directoryId(resolve(path))} ${basename(path)}`;
};

/** True when the process is of this user and holds that socket: a name alone proves nothing. */
function holds(pid: number, inode: string): boolean {
  try {
    const link = `socket:[${inode}]`;
    const folder = `/proc/${pid}/fd`;
    if (statSync(`/proc/${pid}`).uid !== process.getuid?.()) return false;
    return readdirSync(folder).some((fd) => linkIn(`${folder}/${fd}`) === link);
  } catch {
    return false; // it has ended, or is of another user
  }
}

function linkIn(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // closed meanwhile
  }
}

/**
 * The processes that share one place for their status, as the kernel lists them: each holds an abstract socket whose name says the place
 * and the process. It needs no directory and no answer of a process, and ends with its process. So a process that takes the place
 * knows which others to wait for, even when it has just started.
 */
export class ProcessRegistry {
  readonly #name: string;
  /** Sockets that a process was seen to hold. An inode is another socket's only after this one has ended. */
  readonly #seen = new Map<string, number>();

  constructor(place: StatusPlace) {
    const id = createHash('sha256').update(registryName(place)).digest('hex').slice(0, 32);
    this.#name = `handover-status/${id}/`;
  }

  /** Puts this process on the roll; the result takes it off. */
  async enter(): Promise<() => void> {
    const server = createServer((socket) => socket.destroy()).unref();
    await listen(server, { path: `\0${this.#name}${process.pid}/${randomBytes(8).toString('hex')}/` });
    return () => server.close();
  }

  /** The other processes on the roll. */
  pids(): readonly number[] {
    const pids = new Set<number>();
    const inodes = new Set<string>();
    for (const [, inode = '', name, digits] of readFileSync('/proc/net/unix', 'utf8').matchAll(ENTRY)) {
      const pid = Number(digits);
      if (name !== this.#name || pid === process.pid || birthOf(pid) === undefined) continue;
      if (this.#seen.get(inode) !== pid && !holds(pid, inode)) continue;
      this.#seen.set(inode, pid);
      inodes.add(inode);
      pids.add(pid);
    }
    for (const inode of this.#seen.keys()) if (!inodes.has(inode)) this.#seen.delete(inode);
    return [...pids];
  }
}
