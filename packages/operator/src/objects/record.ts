import {
  claimOf,
  isDate,
  isObjectRecord,
  type ObjectRecord,
  type Seal,
  type StoredObject,
  sealIn,
} from '@handover/engine';
import { after, type Instant, instant, isMap, recordOf } from '@handover/material';

export { RECORD } from '@handover/core';
export const FIELD_MANAGER = 'handover';

/** What is remembered about one part of an API object, in an annotation of that object. */
export interface RecordEntry {
  readonly record: ObjectRecord;
  /** The time we believed it to be when we sent it. */
  readonly at: Instant;
  readonly seal?: Seal | undefined;
  /** Of an entry that was read: what stands there and is sealed, whatever date the API server gave it since. */
  readonly sealed?: { readonly claim: NonNullable<StoredObject['claim']>; readonly at: Instant } | undefined;
}
export type RecordEntries = Readonly<Record<string, RecordEntry>>;

const FORMAT = 1;

const isEntry = (value: unknown): value is RecordEntry =>
  isMap(value) && isDate(value.at) && isObjectRecord(value.record);

const jsonIn = (text: string | undefined): unknown => {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** A later date than that of the sending was the API server's: it is remembered beside the record, which stays as it was sealed. */
const readEntry = ({
  record,
  at,
  seal,
  landed,
}: RecordEntry & { readonly landed?: unknown }): RecordEntry => {
  const known = sealIn(seal);
  const { claim } = claimOf(record, known);
  if (claim === undefined) return { record, at };
  const entry = { record, at, seal: known, sealed: { claim, at } };
  return isDate(landed) && landed > at ? redated(entry, at, landed) : entry;
};

/** A damaged annotation counts as none: then the object is not ours, and is looked at with every doubt. */
const parse = (text: string | undefined): RecordEntries => {
  const value = jsonIn(text);
  if (!isMap(value) || value.format !== FORMAT || !isMap(value.parts)) return recordOf([]);
  return recordOf(
    Object.entries(value.parts).flatMap(([part, entry]) =>
      isEntry(entry) ? [[part, readEntry(entry)] as const] : [],
    ),
  );
};

const storedEntry = ({ record, at, seal, sealed }: RecordEntry): object => {
  if (sealed === undefined) return { record, at, seal };
  const landed = at > sealed.at ? { landed: at } : {};
  return { record: JSON.parse(sealed.claim.text), at: sealed.at, seal, ...landed };
};

/** `keptIn`: the namespace that the authority's state lies in, so that two of them do not keep the same object. */
export const formatRecord = (entries: RecordEntries, keptIn: string): string =>
  JSON.stringify({
    format: FORMAT,
    keptIn,
    parts: Object.fromEntries(Object.entries(entries).map(([part, entry]) => [part, storedEntry(entry)])),
  });

/** Where the state lies that an object was made from; undefined: it does not say. */
export const keptIn = (text: string | undefined): string | undefined => {
  const value = jsonIn(text);
  return isMap(value) && typeof value.keptIn === 'string' ? value.keptIn : undefined;
};

/** The API server writes whole seconds: the truth is up to one later. */
const TRUNCATED_MS = 1_000;

/**
 * Entries with the API server's own time of our last write. What we believed the time to be when we sent a write may be long
 * before it landed: a promise to reload within `reloadWithin` must not count from then.
 */
export const readEntries = (text: string | undefined, landed: Instant | undefined): RecordEntries => {
  const entries = parse(text);
  const latest = Math.max(...Object.values(entries).map(({ at }) => at));
  const sent = instant(latest);
  const shown = landed === undefined ? sent : after(landed, TRUNCATED_MS);
  if (shown <= sent) return entries;
  return recordOf(
    Object.entries(entries).map(
      ([part, entry]) => [part, entry.at === sent ? redated(entry, sent, shown) : entry] as const,
    ),
  );
};

/** What is dated at the sending happened when it landed. */
const redated = (entry: RecordEntry, sent: Instant, landed: Instant): RecordEntry => {
  const { record } = entry;
  const { leaf } = record;
  const dated = (time: Instant): Instant => (time === sent ? landed : time);
  return {
    ...entry,
    at: landed,
    record: {
      ...record,
      anchors: record.anchors.map(({ fingerprint, since }) => ({ fingerprint, since: dated(since) })),
      changedAt: dated(record.changedAt),
      ...(record.sources === undefined
        ? {}
        : {
            sources: Object.fromEntries(
              Object.entries(record.sources).map(([id, { anchors, since }]) => [
                id,
                { anchors, since: dated(since) },
              ]),
            ),
          }),
      ...(leaf === undefined
        ? {}
        : { leaf: { ...leaf, writtenAt: dated(leaf.writtenAt), issuerSince: dated(leaf.issuerSince) } }),
    },
  };
};
