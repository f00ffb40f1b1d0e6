import { sameBytes } from '@handover/material';
import type { FileData } from '../../snapshot/home.ts';
import type { FileReader } from '../disk/files.ts';
import type { OwnUser } from '../disk/trusted-path.ts';
import type { Copy } from './copies.ts';
import type { Entry } from './entries.ts';
import { isChanged } from './object-files.ts';
import { openedFile } from './opened-files.ts';

const atItsPath = (
  files: FileReader,
  { path, name, ownership, holdsKey }: Copy,
  data: FileData,
  uid: OwnUser,
): string | undefined => {
  const facts = files.facts(path);
  if (facts === undefined) return `${path} is missing`;
  if (facts.kind === 'file' && sameBytes(files.read(path), data[name]))
    return openedFile(files, path, { uid, ...ownership, holdsKey }, path);
  return `${path} is not as handover wrote it`;
};

/** What is wrong with the files in other formats that were written for an object. One that is yet to be written is not damaged. */
export const outputDamage = (
  files: FileReader,
  entry: Entry,
  data: FileData,
  copies: readonly Copy[],
  uid: OwnUser,
): readonly string[] => {
  const outputs = entry.record.outputs?.files ?? [];
  if (outputs.length === 0) return [];
  const missing = outputs.filter((name) => !(name in data)).map((name) => `${name} is missing`);
  const isDamaged = missing.length === 0 && isChanged(entry, data);
  return [
    ...missing,
    ...(isDamaged ? [`one of ${Object.keys(data).sort().join(', ')} is not as handover wrote it`] : []),
    ...copies
      .filter(({ path, name }) => name in data && entry.copies?.includes(path))
      .flatMap((copy) => atItsPath(files, copy, data, uid) ?? []),
  ];
};
