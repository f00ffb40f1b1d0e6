import type { LeafSeen } from '@handover/core';
import { type Instant, isMap, type Json } from '@handover/material';
import type { ObjectRecord } from './home.ts';

/** A map with these fields and no others: what is not known here cannot be deep enough to break what writes it again. */
const isMapOf = (value: unknown, ...fields: readonly string[]): value is Json =>
  isMap(value) && Object.keys(value).every((field) => fields.includes(field));
const isText = (value: unknown): value is string => typeof value === 'string';
/** Within what a Date can show: any other date would fail wherever it is printed. */
export const isDate = (value: unknown): value is Instant =>
  Number.isFinite(value) && Math.abs(value as number) <= 8.64e15;
const isMaybe = (value: unknown, is: (value: unknown) => boolean): boolean =>
  value === undefined || is(value);

const isAnchor = (value: unknown): boolean =>
  isMapOf(value, 'fingerprint', 'since') && isText(value.fingerprint) && isDate(value.since);

const LEAF_FIELDS = [
  'fingerprint',
  'issuer',
  'chain',
  'notBefore',
  'notAfter',
  'spec',
  'writtenAt',
  'issuerSince',
  'replacedOne',
  'othersExpire',
] as const satisfies readonly (keyof LeafSeen)[];

const isLeaf = (value: unknown): boolean =>
  isMapOf(value, ...LEAF_FIELDS) &&
  [value.fingerprint, value.issuer, value.spec].every(isText) &&
  Array.isArray(value.chain) &&
  value.chain.every(isText) &&
  [value.notBefore, value.notAfter, value.writtenAt, value.issuerSince].every(isDate) &&
  typeof value.replacedOne === 'boolean' &&
  isMaybe(value.othersExpire, isDate);

const isProfile = (value: unknown): boolean =>
  isMapOf(value, 'hash', 'replacedOne') && isText(value.hash) && typeof value.replacedOne === 'boolean';

const isOutputs = (value: unknown): boolean =>
  isMapOf(value, 'print', 'files') &&
  isText(value.print) &&
  Array.isArray(value.files) &&
  value.files.every(isText);

const isSource = (value: unknown): boolean =>
  isMapOf(value, 'anchors', 'since') &&
  Array.isArray(value.anchors) &&
  value.anchors.every(isText) &&
  isDate(value.since);

const RECORD_FIELDS = [
  'digest',
  'revisions',
  'anchors',
  'changedAt',
  'sources',
  'leaf',
  'issuedBy',
  'type',
  'labels',
  'profile',
  'outputs',
] as const satisfies readonly (keyof ObjectRecord)[];

/** Whether something that anyone could have stored has the form of a record; what it says is another matter. */
export const isObjectRecord = (value: unknown): value is ObjectRecord =>
  isMapOf(value, ...RECORD_FIELDS) &&
  isText(value.digest) &&
  isDate(value.changedAt) &&
  isMap(value.revisions) &&
  Object.values(value.revisions).every(Number.isSafeInteger) &&
  Array.isArray(value.anchors) &&
  value.anchors.every(isAnchor) &&
  isMaybe(value.sources, (sources) => isMap(sources) && Object.values(sources).every(isSource)) &&
  isMaybe(value.leaf, isLeaf) &&
  isMaybe(value.issuedBy, isText) &&
  isMaybe(value.type, isText) &&
  isMaybe(value.labels, (labels) => isMap(labels) && Object.values(labels).every(isText)) &&
  isMaybe(value.profile, isProfile) &&
  isMaybe(value.outputs, isOutputs);
