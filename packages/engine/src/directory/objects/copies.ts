import { basename, dirname } from 'node:path';
import { ADOPT } from '@handover/core';
import { sameBytes } from '@handover/material';
import { EngineError } from '../../error.ts';
import type { FileData } from '../../snapshot/home.ts';
import type { Files, Ownership } from '../disk/files.ts';
import { type OwnUser, quoted, trustedPath } from '../disk/trusted-path.ts';
import type { CopyNotes } from './copy-notes.ts';

/** A file of an object that also lies at a path of its own. */
export interface Copy {
  /** Its name in the object. */
  readonly name: string;
  readonly path: string;
  readonly ownership: Ownership;
  readonly holdsKey: boolean;
}

const refuse = (path: string, what: string): never => {
  throw new EngineError('OUTPUT_REFUSED', `${path}: ${what}`, { path, retry: 'later' });
};

const isHome = (files: Files, folder: string): boolean =>
  files.facts(`${folder}/state/authorities`)?.kind === 'directory';

/** Refuses a path among the files that Handover itself writes or reads, of this home or of another. */
const refuseHome = (files: Files, path: string, directory: string): void => {
  if (/\.ya?ml$/.test(path) && isHome(files, directory))
    refuse(path, `handover reads the resources of the home ${directory} from there; choose another path`);
  const steps = directory.split('/');
  for (let depth = 1; depth < steps.length; depth++) {
    const home = steps.slice(0, depth).join('/');
    const isOwn = steps[depth] === 'out' || steps[depth] === 'state';
    if (isOwn && isHome(files, home))
      refuse(path, `it is in a folder that handover writes itself, of the home ${home}; choose another path`);
  }
};

/**
 * Where a copy is written. Each directory on the way belongs to root or the user we run as, and only they can write there: another user
 * can neither redirect the file nor have it replace one of theirs. A file or link at the path itself is replaced, never followed; anything else is refused.
 */
const placeOf = (files: Files, path: string, uid: OwnUser): { directory: string; name: string } => {
  const directory = trustedPath(files, dirname(path), uid, 'place');
  if (files.facts(directory)?.kind !== 'directory')
    refuse(path, `its directory does not exist; make it: install -d -m 0755 ${quoted(dirname(path))}`);
  refuseHome(files, path, directory);
  const name = basename(path);
  const kind = files.facts(`${directory}/${name}`)?.kind;
  if (kind === 'directory') refuse(path, 'a directory is where the file should be; move it away');
  if (kind === 'other')
    refuse(
      path,
      'a device, pipe or socket is where the file should be; move it away, or choose another path',
    );
  return { directory, name };
};

/** Refuses a copy that must not be written; `written`: paths that were written for this object before. */
export const checkCopy = (
  files: Files,
  { path }: Copy,
  uid: OwnUser,
  written: readonly string[],
  mayAdopt: boolean,
  notes: CopyNotes,
): void => {
  const { directory, name } = placeOf(files, path, uid);
  if (mayAdopt || written.includes(path) || files.facts(`${directory}/${name}`) === undefined) return;
  if (notes.isOurs(path)) return;
  refuse(
    path,
    `handover did not write this file; move it away, or set ${ADOPT}: "true" on the resource that asks for it`,
  );
};

/** A group that is not asked for is that of this process, or of a directory that passes its own on; without rights it does not matter. */
const isOfGroup = (files: Files, path: string, found: number, { gid, mode }: Ownership): boolean =>
  gid === undefined
    ? (mode & 0o070) === 0 || found === process.getegid?.() || found === files.facts(dirname(path))?.gid
    : found === gid;

/** Whether a copy is as its object is: bytes, owner, group and mode. */
export const isCopied = (files: Files, copy: Copy, data: FileData, uid: OwnUser): boolean => {
  const { ownership, path, name } = copy;
  const facts = files.facts(path);
  return (
    facts?.kind === 'file' &&
    facts.mode === ownership.mode &&
    facts.uid === (ownership.uid ?? uid ?? facts.uid) &&
    isOfGroup(files, path, facts.gid, ownership) &&
    sameBytes(files.read(path), data[name])
  );
};

/** Writes copies, each whole by one rename. */
export const writeCopies = async (
  files: Files,
  copies: readonly Copy[],
  data: FileData,
  uid: OwnUser,
  notes: CopyNotes,
): Promise<void> => {
  for (const copy of copies) {
    const bytes = data[copy.name];
    if (bytes === undefined || isCopied(files, copy, data, uid)) continue;
    const { directory, name } = placeOf(files, copy.path, uid);
    const temporary = `${directory}/.${name}.handover`;
    await notes.keep(copy.path);
    await notes.note(copy.path, bytes);
    await files.remove(temporary);
    try {
      await files.create(temporary, bytes, copy.ownership);
      await files.rename(temporary, `${directory}/${name}`);
    } catch (error) {
      await files.remove(temporary).catch(() => {}); // it may hold a key; the first error says why
      throw error;
    }
    await files.sync(directory);
  }
};
