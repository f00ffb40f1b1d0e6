import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  rmdirSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A mount needs root, and the kernel's FUSE. */
export const canHang = process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/dev/fuse');

export interface HungFileSystem {
  /** Everything below it blocks the process that looks at it. Never look at it here. */
  readonly path: string;
  /** What waits for an answer gets an error, and the file system is gone. */
  end(): void;
}

/** FUSE_INIT of include/uapi/linux/fuse.h: an answer with version 7.31 and no wishes. */
const initAnswer = (unique: bigint): Buffer => {
  const answer = Buffer.alloc(80);
  answer.writeUInt32LE(answer.length, 0);
  answer.writeBigUInt64LE(unique, 8);
  answer.writeUInt32LE(7, 16);
  answer.writeUInt32LE(31, 20);
  answer.writeUInt32LE(4_096, 36); // max_write
  answer.writeUInt32LE(1, 40); // time_gran
  return answer;
};

/**
 * A real file system that never answers: FUSE, with this process as its server. `takes`: it takes each request, which then not even
 * SIGKILL ends; otherwise it does not even do that, as a network file system whose server is gone.
 */
export const hungFileSystem = ({ takes = false } = {}): HungFileSystem => {
  const path = mkdtempSync(join(tmpdir(), 'handover-hung-'));
  const device = openSync('/dev/fuse', constants.O_RDWR | constants.O_NONBLOCK);
  const options = 'fd=3,rootmode=40000,user_id=0,group_id=0,allow_other';
  const { status, stderr } = spawnSync('mount', ['-i', '-t', 'fuse', '-o', options, 'handover-hung', path], {
    stdio: ['ignore', 'ignore', 'pipe', device],
  });
  if (status !== 0) {
    closeSync(device);
    rmdirSync(path);
    throw new Error(`cannot mount: ${stderr}`);
  }
  const request = Buffer.alloc(128 * 1024);
  const take = (): void => {
    try {
      for (;;) {
        readSync(device, request);
        if (request.readUInt32LE(4) === 26) writeSync(device, initAnswer(request.readBigUInt64LE(8)));
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  };
  let isOver = false;
  const taking = takes ? setInterval(take, 5) : undefined;
  return {
    path,
    end: () => {
      if (isOver) return;
      isOver = true;
      clearInterval(taking);
      // Ends all requests: the kernel's Documentation/filesystems/fuse.rst, "Aborting a filesystem connection".
      closeSync(device);
      spawnSync('umount', ['-l', path]);
      rmdirSync(path);
    },
  };
};
