import { EngineError } from '../../error.ts';
import { closedRemedy, type FileReader, isClosed } from './files.ts';
import { type OwnUser, quoted, refuseChangeable, trustedPath } from './trusted-path.ts';

/**
 * Refuses a home that is not there, or that another user could change: it names the hooks to run, holds keys, and programs trust what is in `out`.
 * A *.yaml may be a link if every step of its path is as safe; `out`, `state` and what Handover uses in them must not be links. A link that
 * stands in the place of an object stops that object: `refuseOpened`.
 */
export function refuseUntrustedHome(files: FileReader, directory: string, uid: OwnUser): void {
  const facts = files.facts(directory);
  if (facts?.kind !== 'directory' && facts?.kind !== 'link')
    throw new EngineError(
      'HOME_MISSING',
      facts === undefined
        ? `${directory} does not exist; make one with handover init ${directory}`
        : `${directory} is a file; name a directory`,
      { path: directory },
    );
  const home = trustedPath(files, directory, uid);
  for (const name of files.list(home)) {
    if (/\.ya?ml$/.test(name) && !name.startsWith('.')) refuseFile(files, `${home}/${name}`, uid);
  }
  const state = files.facts(`${home}/state`);
  refuseFolders(files, `${home}/out`, uid, FOLDERS_OF_OUT);
  refuseFolders(files, `${home}/state`, uid, FOLDERS_OF_STATE);
  if (state !== undefined && (state.mode & 0o077) !== 0) {
    throw new EngineError(
      'HOME_STATE_EXPOSED',
      `${home}/state holds private keys, and other users have access to it; chmod 0700 ${quoted(`${home}/state`)}, and replace the keys if another user may have read them`,
      { path: `${home}/state` },
    );
  }
}

const refuseFile = (files: FileReader, path: string, uid: OwnUser): void => {
  const facts = files.facts(path);
  if (facts?.kind === 'link') trustedPath(files, path, uid);
  else if (facts !== undefined) refuseChangeable(path, facts, uid, 'itself');
};

/** Refuses a folder of `out` (`namespace/kind/name`) that another user could redirect: its permissions may change at any time. */
export const refuseOpened = (files: FileReader, out: string, folder: string, uid: OwnUser): void => {
  let path = out;
  for (const step of ['', ...folder.split('/')]) {
    path = step === '' ? path : `${path}/${step}`;
    refuseFolders(files, path, uid, { folders: 0, files: true });
  }
};

/** Refuses a folder of `out` that this process owns but may not write: the files in it could not be replaced. */
export const refuseClosed = (
  { files, root, uid }: { readonly files: FileReader; readonly root: string; readonly uid: OwnUser },
  folder: string,
): void => {
  const path = `${root}/${folder}`;
  const facts = files.facts(path);
  if (facts === undefined || !isClosed(facts, uid)) return;
  throw new EngineError('HOME_FORBIDDEN', `cannot write ${path}: ${closedRemedy(path)}`, {
    path,
    retry: 'later',
  });
};

interface Depth {
  /** Levels of folders below. */
  readonly folders: number;
  /** Whether files must be ours, too. Files of `out` may belong to the program that reads them. */
  readonly files: boolean;
  /** Whether a link of this name, right below, is left alone: nothing goes through it. */
  readonly leaves?: (name: string, folders: number) => boolean;
}

/** What the state holds; a link of another name is none of ours. */
const STATE_NAMES: readonly string[] = [
  'acks',
  'authorities',
  'clock.json',
  'copies',
  'lock',
  'log',
  'reload-requests',
  'reloads',
  'requests',
  'resources.json',
];

/** Namespace, kind, name. Below the name handover replaces everything as a whole, and trusts nothing that it reads. */
const FOLDERS_OF_OUT: Depth = { folders: 3, files: false, leaves: () => true };
const STATE_DEPTH = 8;
const FOLDERS_OF_STATE: Depth = {
  folders: STATE_DEPTH,
  files: true,
  leaves: (name, folders) => folders === STATE_DEPTH && !STATE_NAMES.includes(name),
};

const refuseFolders = (files: FileReader, path: string, uid: OwnUser, depth: Depth): void => {
  const facts = files.facts(path);
  if (facts === undefined || (facts.kind === 'file' && !depth.files)) return;
  if (facts.kind === 'link') {
    throw new EngineError(
      'HOME_MALFORMED',
      `${path} is a link to ${files.target(path)}, and handover would write its files there; replace the link with what it leads to`,
      { path },
    );
  }
  refuseChangeable(path, facts, uid, 'itself');
  if (facts.kind !== 'directory' || depth.folders === 0) return;
  for (const name of files.list(path)) {
    const child = `${path}/${name}`;
    if (depth.leaves?.(name, depth.folders) === true && files.facts(child)?.kind === 'link') continue;
    refuseFolders(files, child, uid, { ...depth, folders: depth.folders - 1 });
  }
};
