import { filesUnder } from '../../act/platform.ts';
import type { FileData, ObjectId, StoredObject } from '../../snapshot/home.ts';
import { digestOf } from '../../snapshot/stored-object.ts';
import type { Files, Ownership } from '../disk/files.ts';
import { RECORD_FILE } from '../disk/volume.ts';
import { directoryEntries, type Entries, type Entry } from './entries.ts';
import { SECRET_FILES } from './foreign-files.ts';

export const objectParts = (id: ObjectId): { folder: string; key: string } => {
  const [namespace, kind, name, key = ''] = id.split('/');
  return { folder: `${namespace}/${kind}/${name}`, key };
};

/** Folders of objects, as `namespace/kind/name`. A link is none: it may lead to files of others. */
export const foldersIn = (
  files: Pick<Files, 'list' | 'facts'>,
  root: string,
  kinds: readonly string[] = ['secrets', 'configmaps'],
): readonly string[] =>
  files
    .list(root)
    .filter((namespace) => files.facts(`${root}/${namespace}`)?.kind === 'directory')
    .flatMap((namespace) => kinds.map((kind) => `${namespace}/${kind}`))
    .filter((kind) => files.facts(`${root}/${kind}`)?.kind === 'directory')
    .flatMap((kind) => files.list(`${root}/${kind}`).map((name) => `${kind}/${name}`))
    .filter((folder) => files.facts(`${root}/${folder}`)?.kind === 'directory');

export const recordsIn = (files: Pick<Files, 'read'>, root: string, folder: string): Entries => {
  const text = files.read(`${root}/${folder}/..data/${RECORD_FILE}`);
  return directoryEntries(text === undefined ? undefined : Buffer.from(text).toString('utf8'));
};

/** Of a Leaf: everything else may hold its key. */
export const PUBLIC_FILES: readonly string[] = ['tls.crt', 'ca.crt'];

/** Owner and mode of one file of an object. */
export const ownershipIn = (key: string, name: string, ownership: Ownership): Ownership =>
  key !== '' || PUBLIC_FILES.includes(name) ? { ...ownership, mode: 0o644 } : ownership;

/** Names of the files that make an object as it was written, those in other formats included. */
export const filesOf = (key: string, entries: Entries): readonly string[] => [
  ...namesOf(key),
  ...(entries[key]?.record.outputs?.files ?? []),
];

/** Names of the files that make an object. */
export const namesOf = (key: string): readonly string[] => (key === '' ? SECRET_FILES : filesUnder(key));

export const only = (data: FileData, names: readonly string[]): FileData =>
  Object.fromEntries(Object.entries(data).filter(([name]) => names.includes(name)));

export const describe = ({ mode, uid, gid }: Ownership): string =>
  `${mode.toString(8)} ${uid ?? '-'} ${gid ?? '-'}`;

/** Stands for an object that is not there, or cannot be read. */
export const NOTHING: StoredObject = { data: {}, record: undefined, version: '' };

/** Whether its files are not as they were written. */
export const isChanged = (entry: Entry, data: FileData): boolean => entry.record.digest !== digestOf(data);
