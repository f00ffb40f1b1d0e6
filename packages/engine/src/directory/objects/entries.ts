import { isMap } from '@handover/material';
import type { ObjectRecord } from '../../snapshot/home.ts';
import { isObjectRecord } from '../../snapshot/object-record.ts';
import type { Seal } from '../../snapshot/seal.ts';

const FORMAT = 'handover.dev/object/1';

/** What the record file of a folder says about one object. */
export interface Entry {
  readonly version: string;
  readonly ownership: string;
  readonly record: ObjectRecord;
  readonly seal?: Seal | undefined;
  /** Paths outside the folder that its files were written to as well. */
  readonly copies?: readonly string[] | undefined;
}

/** One folder may hold several objects, each a key of it; `''` is an object that is the whole folder. */
export type Entries = Readonly<Record<string, Entry>>;

/** Entries of a record file; a damaged one counts as none: then the object is not ours, and is looked at with every doubt. */
export const directoryEntries = (text: string | undefined): Entries => {
  if (text === undefined || text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (!isMap(value) || value.format !== FORMAT || !isMap(value.objects)) return {};
    const good = Object.entries(value.objects).filter(
      ([, entry]) =>
        isMap(entry) &&
        typeof entry.version === 'string' &&
        isObjectRecord(entry.record) &&
        (entry.copies === undefined || Array.isArray(entry.copies)),
    );
    return Object.fromEntries(good) as Entries;
  } catch {
    return {};
  }
};

export const formatEntries = (objects: Entries): string => `${JSON.stringify({ format: FORMAT, objects })}\n`;
