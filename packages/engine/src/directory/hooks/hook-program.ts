import { accessSync, closeSync, constants, openSync, readSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { FileReader } from '../disk/files.ts';
import { type OwnUser, trustedPath } from '../disk/trusted-path.ts';

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** Linux reads no more of a first line, and follows interpreters that are scripts themselves five deep: execve(2). */
const FIRST_LINE = 256;
const DEEPEST = 5;

/** The beginning of a file; empty: we may run it and not read it, or it is gone. */
const beginningOf = (path: string): string => {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const bytes = Buffer.alloc(FIRST_LINE);
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, FIRST_LINE, 0));
  } catch {
    return '';
  } finally {
    if (file !== undefined) closeSync(file);
  }
};

/** The programs that run a script: the one after `#!`, and the one that env(1) looks for. */
const interpretersOf = (script: string): readonly string[] => {
  const [, line] = /^#![ \t]*([^\n]*)/.exec(beginningOf(script)) ?? [];
  const [interpreter, ...words] = (line ?? '').trim().split(/[ \t]+/);
  if (interpreter === undefined || interpreter === '') return [];
  const path = interpreter.includes('/') ? interpreter : `./${interpreter}`;
  if (basename(path) !== 'env') return [path];
  const program = words
    .map((word) => word.replace(/^-S/, ''))
    .find((word) => word !== '' && !word.startsWith('-') && !word.includes('='));
  return program === undefined ? [path] : [path, program];
};

/**
 * The file that a hook's first word names: a path, or a name in PATH; undefined: not found. Refuses a program that another
 * user could change, because it runs with our rights; of a script also the program that runs it.
 */
export const hookProgram = (
  files: FileReader,
  program: string,
  cwd: string,
  uid: OwnUser,
  searchPath: string = process.env.PATH ?? '',
  depth = 0,
): string | undefined => {
  const candidates = program.includes('/')
    ? [resolve(cwd, program)]
    : searchPath.split(':').map((directory) => resolve(cwd, directory, program));
  const found = candidates.find(isExecutable);
  if (found === undefined) return undefined;
  trustedPath(files, found, uid);
  if (depth < DEEPEST)
    for (const one of interpretersOf(found)) hookProgram(files, one, cwd, uid, searchPath, depth + 1);
  return found;
};
