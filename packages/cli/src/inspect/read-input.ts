import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { MAX_PEM_BYTES } from '@handover/material';
import { CliError } from '../error.ts';
import { namedFileError, readNamed } from '../named-file.ts';

/** Holds at most the limit in memory. */
const collect = async (chunks: AsyncIterable<Uint8Array>, path: string): Promise<Buffer> => {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > MAX_PEM_BYTES) {
      throw new CliError('FILE_TOO_LARGE', `${path} is over ${MAX_PEM_BYTES} bytes; split it`, { path });
    }
    parts.push(chunk);
  }
  return Buffer.concat(parts, length);
};

/** The pipe that the shell opened: `<(command)` is /dev/fd/63. A named FIFO may never get data. */
const openPipe = (path: string): AsyncIterable<Uint8Array> | undefined => {
  const [, digits] = /^\/dev\/fd\/(\d{1,9})$/.exec(path) ?? [];
  if (digits === undefined || !fstatSync(Number(digits)).isFIFO()) return undefined;
  return new Socket({ fd: Number(digits), readable: true, writable: false });
};

/** The bytes of a regular file, of an open pipe or, for `-`, of standard input. */
export const readInput = async (path: string, stdin: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const name = path === '-' ? 'standard input' : path;
  try {
    const pipe = path === '-' || path === '/dev/stdin' ? stdin : openPipe(path);
    return pipe === undefined ? readNamed(path, MAX_PEM_BYTES) : await collect(pipe, name);
  } catch (cause) {
    throw namedFileError(name, cause);
  }
};
