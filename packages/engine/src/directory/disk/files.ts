import { constants, lstatSync, readdirSync, readlinkSync, renameSync, statSync } from 'node:fs';
import { chmod, link, mkdir, open, stat, symlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HandoverError } from '@handover/material';
import { EngineError, type EngineErrorCode } from '../../error.ts';
import { readBounded } from '../../snapshot/read-bounded.ts';
import { removeOurs } from './remove.ts';
import { type OwnUser, quoted } from './trusted-path.ts';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;
// A link in its place would redirect the write; a FIFO would block it.
const FLAGS = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
const NEW_LINE = 10;

/** Appends whole lines durably. A last line that a crash cut short stays as it is; the new lines start on a line of their own. */
const appendLines = async (path: string, lines: string, mode: number): Promise<{ readonly size: number }> => {
  const file = await open(path, FLAGS, mode);
  try {
    const facts = await file.stat();
    const { size } = facts;
    if (!facts.isFile())
      throw Object.assign(new Error(`${path} is not a file`), {
        code: facts.isDirectory() ? 'EISDIR' : 'ENXIO',
      });
    if (size === 0) {
      const owner = await stat(dirname(path));
      // A run as root must not leave a file that the directory's owner cannot write.
      if (process.getuid?.() === 0) await file.chown(owner.uid, owner.gid);
      await file.chmod(mode); // the umask may have cleared bits
    }
    const last = Buffer.alloc(1);
    if (size > 0) await file.read(last, 0, 1, size - 1);
    const torn = size > 0 && last[0] !== NEW_LINE;
    const bytes = Buffer.from(`${torn ? '\n' : ''}${lines}`);
    await file.writeFile(bytes);
    await file.datasync();
    return { size: size + bytes.length };
  } finally {
    await file.close();
  }
};

export interface Ownership {
  readonly mode: number;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
}

export interface FileFacts {
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeMs: number;
}

/** What the directory home does to a disk. Small, so that a test can make each operation fail or end the process there. */
export interface FileReader {
  /** Undefined when the file does not exist, or is a directory. */
  read(path: string): Uint8Array | undefined;
  list(path: string): readonly string[];
  target(path: string): string | undefined;
  facts(path: string): FileFacts | undefined;
}

interface FileWriter {
  makeDirectory(path: string, mode: number): Promise<void>;
  /** Creates the file whole and durably; it must not exist. */
  create(path: string, content: string | Uint8Array, ownership: Ownership): Promise<void>;
  /** Appends whole lines durably; creates the file if needed, and ends a last line that was cut short. */
  append(path: string, lines: string, mode: number): Promise<{ readonly size: number }>;
  /** Overwrites a file in place with content of the same length, which takes no more space; creates it if needed. Not durable at once. */
  overwrite(path: string, content: string, mode: number): Promise<void>;
  symlink(target: string, path: string): Promise<void>;
  /** Adds a hard link to a file; fails when the name exists. */
  link(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Does not enter folders of another user; succeeds if the path does not exist. */
  remove(path: string): Promise<void>;
  /** Makes the names in a directory durable. */
  sync(directory: string): Promise<void>;
}

export type Files = FileReader & FileWriter;

const REMEDIES: Readonly<Record<string, readonly [code: EngineErrorCode, remedy: string]>> = {
  ENOSPC: ['HOME_DISK_FULL', 'the disk is full; free some space'],
  EDQUOT: ['HOME_DISK_FULL', 'the quota is used up; free some space'],
  EROFS: ['HOME_READ_ONLY', 'the file system is read-only; remount it read-write'],
  EACCES: ['HOME_FORBIDDEN', 'permission denied; run as the owner of the directory, or as root'],
  EPERM: ['HOME_FORBIDDEN', 'not permitted; only root may give files to another user'],
  ENOTDIR: ['HOME_MALFORMED', 'a file is where a directory should be; move it away'],
  EISDIR: ['HOME_MALFORMED', 'a directory is where a file should be; move it away'],
  ENXIO: ['HOME_MALFORMED', 'a pipe, a socket or a device is where a file should be; move it away'],
  ELOOP: ['HOME_MALFORMED', 'a link is where a file should be; move it away'],
};

const OWNER_WRITES = 0o200;

/** Of a directory that its own owner may not write; root may, whatever its mode. */
export const isClosed = ({ kind, mode, uid }: FileFacts, own: OwnUser): boolean =>
  kind === 'directory' && own !== undefined && own !== 0 && uid === own && (mode & OWNER_WRITES) === 0;

export const closedRemedy = (directory: string): string =>
  `permission denied; chmod u+w ${quoted(directory)}`;

const ownRemedy = (directory: string): string | undefined => {
  const facts = orUndefined(directory, () => factsOf(directory));
  return facts !== undefined && isClosed(facts, process.getuid?.()) ? closedRemedy(directory) : undefined;
};

/** A system error in our words. The previous files are intact: nothing changes in place. */
export const homeFileError = (cause: unknown, verb: string, path: string): unknown => {
  const code = (cause as NodeJS.ErrnoException)?.code;
  if (cause instanceof HandoverError || code === undefined) return cause;
  const [ours, known] = REMEDIES[code] ?? ['HOME_IO_FAILED', `system error ${code}`];
  const remedy = (code === 'EACCES' ? ownRemedy(dirname(path)) : undefined) ?? known;
  return new EngineError(ours, `cannot ${verb} ${path}: ${remedy}`, { path, retry: 'later', cause });
};

const tried = async <T>(verb: string, path: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw homeFileError(error, verb, path);
  }
};

const orUndefined = <T>(path: string, read: () => T): T | undefined => {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return undefined;
    throw homeFileError(error, 'read', path);
  }
};

const factsOf = (path: string): FileFacts => {
  const stat = lstatSync(path);
  const kind = stat.isFile()
    ? 'file'
    : stat.isDirectory()
      ? 'directory'
      : stat.isSymbolicLink()
        ? 'link'
        : 'other';
  return { kind, mode: stat.mode & 0o7777, uid: stat.uid, gid: stat.gid, mtimeMs: stat.mtimeMs };
};

/** Larger than the largest Secret; keeps a stray log file or a device out of memory. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** Not mkdir's own `recursive`: on a read-only file system it reports ENOENT, which misleads. */
const makePath = async (path: string, mode: number): Promise<void> => {
  try {
    await mkdir(path, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const parent = dirname(path);
    if (code === 'ENOENT' && parent !== path) {
      await makePath(parent, mode);
      return makePath(path, mode);
    }
    if (code !== 'EEXIST') throw error;
    if (statSync(path).isDirectory()) return;
    throw Object.assign(new Error(`${path} is not a directory`), { code: 'ENOTDIR' });
  }
  await chmod(path, mode); // the umask may have cleared bits
};

/** The disk. Reads are synchronous: a home of 1,000 leaves has 5,000 small files, and a promise for each costs more. */
export const diskFiles: Files = {
  read: (path) =>
    orUndefined(path, () =>
      statSync(path).isDirectory() ? undefined : readBounded(path, { most: MAX_FILE_BYTES }).bytes,
    ),
  list: (path) => orUndefined(path, () => readdirSync(path)) ?? [],
  target: (path) =>
    orUndefined(path, () => (lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined)),
  facts: (path) => orUndefined(path, () => factsOf(path)),
  makeDirectory: (path, mode) => tried('create', path, () => makePath(path, mode)),
  create: (path, content, { mode, uid, gid }) =>
    tried('write', path, async () => {
      const file = await open(path, 'wx', mode);
      try {
        await file.writeFile(content);
        if (uid !== undefined || gid !== undefined) await file.chown(uid ?? -1, gid ?? -1);
        await file.chmod(mode); // the umask may have cleared bits; after chown, which may clear more
        await file.sync();
      } finally {
        await file.close();
      }
    }),
  overwrite: (path, content, mode) =>
    tried('write', path, async () => {
      const file = await open(path, O_RDWR | O_CREAT | O_NOFOLLOW, mode);
      try {
        await file.write(content, 0, 'utf8');
      } finally {
        await file.close();
      }
    }),
  append: (path, lines, mode) => tried('append to', path, () => appendLines(path, lines, mode)),
  symlink: (target, path) => tried('link', path, () => symlink(target, path)),
  link: (from, to) => link(from, to),
  // Synchronous: a queued rename would run later than the check of the lock that allowed it.
  rename: (from, to) => tried('replace', to, async () => renameSync(from, to)),
  remove: (path) => tried('remove', path, () => removeOurs(path)),
  sync: (directory) =>
    tried('sync', directory, async () => {
      const handle = await open(directory, 'r');
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    }),
};

/** Replaces a file as a whole: the old content stays until the new one is durable. */
export const replaceFile = async (
  files: Files,
  directory: string,
  name: string,
  content: string,
  mode: number,
): Promise<void> => {
  const temporary = `${directory}/.${name}.tmp`;
  await files.remove(temporary);
  await files.create(temporary, content, { mode });
  await files.rename(temporary, `${directory}/${name}`);
  await files.sync(directory);
};
