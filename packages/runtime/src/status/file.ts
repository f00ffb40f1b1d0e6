import { readFile } from 'node:fs/promises';
import type { Clock, Instant } from '@handover/material';
import { writeAtomically } from '../atomic-write.ts';
import { RuntimeError } from '../error.ts';
import { warn } from '../warn.ts';

/** The file says when it was written; a controller takes the process for dead after a few missed writes. */
const HEARTBEAT_MS = 10_000;
const STALE_MS = 35_000;

/** Keeps a file up to date. */
export interface StatusFile {
  /** Writes soon. Calls made before a write begins share that write. */
  changed(): void;
  close(): Promise<void>;
}

/** True when another process that `pid` names writes this file too. */
async function isWrittenBy(pid: number | undefined, path: string, now: Instant): Promise<boolean> {
  if (pid === undefined) return false;
  try {
    const { pid: writer, at } = JSON.parse(await readFile(path, 'utf8')) as { pid?: unknown; at?: unknown };
    return writer === pid && now - Date.parse(String(at)) < STALE_MS;
  } catch {
    return false; // no file, or no document
  }
}

/** Writes the text now, at each change and every 10 s. `stranger` is a process that must not write the same file. */
export async function keepFile(
  path: string,
  render: () => Promise<string>,
  stranger: () => number | undefined,
  clock: Clock,
): Promise<StatusFile> {
  let queue = Promise.resolve();
  let waiting = false;
  let closed = false;
  let complained = false;
  const write = async () => {
    const other = stranger();
    if (await isWrittenBy(other, path, clock.now())) {
      throw Object.assign(
        new Error(`process ${other}, which started this one, writes it too; call serveStatus in one of them`),
        { code: 'EEXIST' },
      );
    }
    await writeAtomically(path, `${await render()}\n`, 0o644);
  };
  const failed = (cause: unknown) => {
    if (!complained && !closed) {
      warn('STATUS_WRITE_FAILED', `the status document cannot be written to ${path}`, String(cause));
    }
    complained = true;
  };
  const changed = () => {
    if (waiting || closed) return;
    waiting = true;
    queue = queue.then(async () => {
      waiting = false;
      if (closed) return;
      await write().then(() => {
        complained = false;
      }, failed);
    });
  };
  try {
    await write();
  } catch (cause) {
    throw new RuntimeError(
      'STATUS_WRITE_FAILED',
      `the status document cannot be written to ${path}: ${(cause as Error).message}`,
      { path, cause },
    );
  }
  const heartbeat = clock.every(HEARTBEAT_MS, changed).unref();
  return {
    changed,
    close: async () => {
      closed = true;
      heartbeat.cancel();
      await queue;
    },
  };
}
