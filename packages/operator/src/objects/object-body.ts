import { isUtf8 } from 'node:buffer';
import { MANAGED_BY, MANAGED_LABEL } from '@handover/core';
import type { FileData, ObjectId } from '@handover/engine';
import { isMap, type Json } from '@handover/material';
import { OperatorError } from '../error.ts';
import { SHAPES } from './parts.ts';
import { isField, placeOf } from './place.ts';
import type { ObjectProjection } from './projection.ts';
import { formatRecord, RECORD, type RecordEntries } from './record.ts';

interface Written {
  /** Everything of ours in the object. */
  readonly data: FileData;
  readonly entries: RecordEntries;
  /** The namespace that the authority's state lies in. */
  readonly keptIn: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly annotations: Readonly<Record<string, string>> | undefined;
}

/** What is sent to the API server: the fields that hold `data`, and the marks by which the object is ours. */
export const bodyOf = (id: ObjectId, { data, entries, keptIn, labels, annotations }: Written): Json => {
  const place = placeOf(id);
  const metadata = {
    ...(isField(place) ? {} : { labels: { ...labels, [MANAGED_BY]: 'handover', [MANAGED_LABEL]: 'true' } }),
    annotations: { ...annotations, [RECORD]: formatRecord(entries, keptIn) },
  };
  return { ...SHAPES[place.plural].body(nonEmpty(id, data)), metadata };
};

/** An empty caBundle means the system's roots: better no write at all. */
const nonEmpty = (id: ObjectId, data: FileData): FileData => {
  const files = Object.values(data);
  if (files.length > 0 && files.every((bytes) => bytes.length > 0)) return data;
  throw new OperatorError('BUNDLE_EMPTY', `${id} would become empty; it stays as it is`, { path: id });
};

const nulls = (names: readonly string[]): Json => Object.fromEntries(names.map((name) => [name, null]));

/**
 * Keys that have to leave an object, as nulls: those of strangers, and those that move between `data` and `binaryData` of a
 * ConfigMap, which must not both have one. Undefined: there are none. Apply takes away only what an apply of ours put there.
 */
export const leaving = (
  held: ObjectProjection,
  strangers: readonly string[],
  data: FileData,
): Json | undefined => {
  const moves = Object.entries(data).flatMap(([name, bytes]) =>
    held.plural === 'configmaps' &&
    Object.hasOwn(held.data, name) &&
    held.binary.includes(name) === isUtf8(bytes)
      ? [name]
      : [],
  );
  const isBinary = (name: string): boolean => held.binary.includes(name);
  const leave = [...strangers, ...moves];
  const binary = leave.filter(isBinary);
  const text = leave.filter((name) => !isBinary(name));
  if (binary.length + text.length === 0) return undefined;
  return { data: nulls(text), ...(binary.length === 0 ? {} : { binaryData: nulls(binary) }) };
};

/** `b` into `a`, maps inside maps. */
export const mergeBody = (a: Json, b: Json): Record<string, unknown> => {
  const merged: Record<string, unknown> = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const before = merged[name];
    merged[name] = isMap(before) && isMap(value) ? mergeBody(before, value) : value;
  }
  return merged;
};
