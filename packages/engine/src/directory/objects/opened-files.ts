import { HandoverError } from '@handover/material';
import type { ObjectId } from '../../snapshot/home.ts';
import type { FileReader, Ownership } from '../disk/files.ts';
import { objectParts, ownershipIn, PUBLIC_FILES } from './object-files.ts';
import type { ObjectOptions } from './object-options.ts';

const WRITABLE_BY_OTHERS = 0o022;

const octal = (mode: number): string => mode.toString(8).padStart(4, '0');

/** What is wrong with the owner of a file, or with its mode, if it allows more than it was written with. `name`: for people. */
export const openedFile = (
  files: Pick<FileReader, 'facts'>,
  path: string,
  wanted: Ownership & { readonly holdsKey: boolean },
  name: string,
): string | undefined => {
  const found = files.facts(path);
  if (found?.kind !== 'file') return undefined;
  const { mode, uid } = found;
  const owner = wanted.uid ?? uid;
  if (uid !== owner)
    return `${name} belongs to user ${uid} instead of ${owner}; that user can ${wanted.holdsKey ? 'read this private key' : 'change it'}; handover run sets it back`;
  const extra = mode & ~wanted.mode & 0o777;
  if (extra === 0) return undefined;
  const why = wanted.holdsKey
    ? 'other users can read this private key'
    : (extra & WRITABLE_BY_OTHERS) === 0
      ? 'that is more than is asked for'
      : 'other users can change it';
  return `${name} has mode ${octal(mode)} instead of ${octal(wanted.mode)}, and ${why}; handover run sets it back`;
};

/** The same of files of one object in its folder. */
export const openedIn = (
  { files, root, uid, ownershipOf }: Pick<ObjectOptions, 'files' | 'root' | 'uid' | 'ownershipOf'>,
  id: ObjectId,
  names: readonly string[],
): readonly string[] => {
  const { folder, key } = objectParts(id);
  let ownership: Ownership;
  try {
    ownership = ownershipOf(id);
  } catch (error) {
    if (error instanceof HandoverError) return []; // it is said as the obstacle that it is
    throw error;
  }
  return names.flatMap((name) => {
    const wanted = {
      uid,
      ...ownershipIn(key, name, ownership),
      holdsKey: key === '' && !PUBLIC_FILES.includes(name),
    };
    return openedFile(files, `${root}/${folder}/..data/${name}`, wanted, name) ?? [];
  });
};
