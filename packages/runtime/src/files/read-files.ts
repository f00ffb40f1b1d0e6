import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import type { HandoverError } from '@handover/material';
import { fileError, RuntimeError } from '../error.ts';
import type { PathResolver } from './resolve-path.ts';

/** File contents by label. */
export type FileContents<Label extends string> = Readonly<Record<Label, Buffer>>;

function mustBeSmallFile(path: string, stats: Stats, maxBytes: number): void {
  if (!stats.isFile()) {
    const what = stats.isDirectory() ? 'a directory' : stats.isFIFO() ? 'a pipe' : 'a socket or device';
    throw new RuntimeError('FILE_NOT_REGULAR', `${path} is ${what}, not a file`, { path });
  }
  if (stats.size > maxBytes) throw tooLarge(path, maxBytes);
}

const tooLarge = (path: string, maxBytes: number): HandoverError =>
  new RuntimeError('FILE_TOO_LARGE', `${path} is over ${maxBytes} bytes; is it the right file?`, { path });

/** The size from stat may be wrong (a growing file, /proc), so the limit applies to the bytes read. */
async function readBounded(handle: FileHandle, path: string, size: number, maxBytes: number) {
  let buffer = Buffer.allocUnsafe(Math.min(size, maxBytes) + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null);
    length += bytesRead;
    if (length > maxBytes) throw tooLarge(path, maxBytes);
    if (bytesRead === 0 || length === size) return buffer.subarray(0, length);
    if (length === buffer.length) {
      buffer = Buffer.concat([buffer], Math.min(buffer.length * 2, maxBytes + 1));
    }
  }
}

/** Reads one regular file. `real` contains no links; `path` is the name for messages. */
export async function readSmallFile(path: string, real: string, maxBytes: number): Promise<Buffer> {
  let handle: FileHandle | undefined;
  try {
    // lstat comes first because opening a device can have effects. O_NONBLOCK: a pipe put in the file's place between the
    // two calls would otherwise block a thread of the pool for ever.
    mustBeSmallFile(path, await lstat(real), maxBytes);
    handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    const stats = await handle.stat();
    mustBeSmallFile(path, stats, maxBytes);
    return await readBounded(handle, path, stats.size, maxBytes);
  } catch (cause) {
    throw fileError(path, cause);
  } finally {
    await handle?.close().catch(() => undefined);
  }
}

/** Follows the links of each path. Goes on after a failure, so that all directories get watched. */
export async function resolveAll<Label extends string>(
  files: Readonly<Record<Label, string>>,
  resolver: PathResolver,
): Promise<{ readonly real: Readonly<Record<Label, string>> } | { readonly failure: unknown }> {
  const real: Partial<Record<Label, string>> = {};
  let failure: unknown;
  for (const label of Object.keys(files) as Label[]) {
    try {
      real[label] = await resolver.resolve(files[label]);
    } catch (error) {
      failure ??= error;
    }
  }
  return failure === undefined ? { real: real as Record<Label, string> } : { failure };
}

/** Reads all files from their resolved paths. */
export async function readAll<Label extends string>(
  files: Readonly<Record<Label, string>>,
  real: Readonly<Record<Label, string>>,
  maxBytes: number,
): Promise<FileContents<Label>> {
  const contents = await Promise.all(
    (Object.keys(files) as Label[]).map(
      async (label) => [label, await readSmallFile(files[label], real[label], maxBytes)] as const,
    ),
  );
  return Object.fromEntries(contents) as Record<Label, Buffer>;
}

/** Equal for equal contents. */
export const contentsDigest = (contents: FileContents<string>): string => {
  const digest = createHash('sha256');
  for (const label of Object.keys(contents).sort()) {
    const bytes = contents[label] ?? Buffer.alloc(0);
    digest.update(`${label} ${bytes.length}\n`).update(bytes);
  }
  return digest.digest('base64');
};
