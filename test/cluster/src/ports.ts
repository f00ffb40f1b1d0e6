import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import { identify, isAlive, type ProcessId } from './process-id.ts';

// Below the range of outgoing connections on Linux (ip_local_port_range, from 32768), so that no client takes the port between
// reserving and listening.
const FIRST = 20_000;
const COUNT = 10_000;
const TRIES = 200;

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });

const claim = (path: string): boolean => {
  try {
    writeFileSync(path, JSON.stringify(identify(process.pid)), { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
};

const isStale = (path: string): boolean => {
  try {
    return !isAlive(JSON.parse(readFileSync(path, 'utf8')) as ProcessId);
  } catch {
    return false;
  }
};

export interface Reservation {
  readonly ports: readonly number[];
  /** Files to remove when the ports are free again. */
  readonly files: readonly string[];
}

/** Loopback ports that no other harness on this machine gets until the files are removed. */
export async function reservePorts(directory: string, count: number): Promise<Reservation> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const ports: number[] = [];
  const files: string[] = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries > TRIES) throw new HandoverError('CLUSTER_NO_PORT', 'no free port between 20000 and 30000');
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const path = join(directory, String(port));
    if (!(await isFree(port))) continue;
    if (isStale(path)) rmSync(path, { force: true });
    if (!claim(path)) continue;
    ports.push(port);
    files.push(path);
  }
  return { ports, files };
}
