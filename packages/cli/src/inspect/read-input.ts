import { open } from 'node:fs/promises';
import { HandoverError, MAX_PEM_BYTES } from '@handover/material';

const KNOWN: Readonly<Record<string, readonly [code: string, what: string]>> = {
  ENOENT: ['FILE_MISSING', 'does not exist; correct the path'],
  ENOTDIR: ['FILE_MISSING', 'lies below something that is not a directory; correct the path'],
  EACCES: ['FILE_FORBIDDEN', 'may not be read by you; correct its mode, or ask its owner'],
  EPERM: ['FILE_FORBIDDEN', 'may not be read by you; correct its mode, or ask its owner'],
  EISDIR: ['FILE_NOT_REGULAR', 'is a directory; name the files in it'],
  ELOOP: ['FILE_LINK_LOOP', 'is a link that leads back to itself; correct the link'],
};

const fileError = (path: string, cause: unknown): HandoverError => {
  if (cause instanceof HandoverError) return cause;
  const errno = (cause as NodeJS.ErrnoException | undefined)?.code ?? 'unknown error';
  const [code, what] = KNOWN[errno] ?? ['FILE_UNREADABLE', `cannot be read (${errno}); try another copy`];
  return new HandoverError(code, `${path} ${what}`, { path, cause });
};

/** No more than the limit is ever held, whatever the source says about its size: it may grow, or be a device. */
const collect = async (chunks: AsyncIterable<Uint8Array>, path: string): Promise<Buffer> => {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > MAX_PEM_BYTES) {
      throw new HandoverError('FILE_TOO_LARGE', `${path} is over ${MAX_PEM_BYTES} bytes; split it`, { path });
    }
    parts.push(chunk);
  }
  return Buffer.concat(parts, length);
};

/** The bytes of a file or, for `-`, of standard input. Pipes are fine: `<(command)` is one. */
export const readInput = async (path: string, stdin: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  try {
    if (path === '-') return await collect(stdin, 'standard input');
    const handle = await open(path);
    try {
      return await collect(handle.createReadStream({ autoClose: false }), path);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw fileError(path === '-' ? 'standard input' : path, cause);
  }
};
