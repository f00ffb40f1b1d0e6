import { createHash, hash } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import { FOREIGN_SPEC, type LeafSeen, type ObjectSeen, type Obstacle, sameObstacle } from '@handover/core';
import {
  bytesOf,
  type Certificate,
  HandoverError,
  type Instant,
  PrivateKey,
  parseCertificates,
} from '@handover/material';
import type { AuthorityId, FileData, ObjectId, StoredObject } from './home.ts';

export const filesFrom = (texts: Readonly<Record<string, string>>): FileData =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, bytesOf(text)]));

/** Certificates as one PEM file. */
export const pemFile = (certificates: readonly Certificate[]): Uint8Array =>
  bytesOf(certificates.map(({ pem }) => pem).join(''));

const digests = new WeakMap<FileData, string>();

/** Hex SHA-256 over names and values, in the order of the names. */
export const digestOf = (data: FileData): string => {
  const digest = digests.get(data) ?? computeDigest(data);
  digests.set(data, digest);
  return digest;
};

const computeDigest = (data: FileData): string => {
  const sum = createHash('sha256');
  for (const key of Object.keys(data).sort()) {
    const value = data[key] ?? new Uint8Array();
    sum.update(`${key.length}:${key}${value.length}:`).update(value);
  }
  return sum.digest('hex');
};

/** The key of an object's data that holds its bundle. */
export const bundleKeyOf = (id: ObjectId): string => id.split('/')[3] ?? 'ca.crt';

/**
 * Certificates of files that were read before, by digest: a fleet shares a few bundles, and reads them at every look. What was read last stays, as
 * far as there is room: certificates can be so short that they take twenty times their text.
 */
const shared = new Map<string, readonly Certificate[]>();
/** Of this process’s heap, at about 4 KiB each. */
const MOST_SHARED = Math.max(6_000, Math.floor(getHeapStatistics().heap_size_limit / 25_000));
let certificatesShared = 0;
/** To hash a bundle takes longer than to look it up. */
const hashes = new WeakMap<Uint8Array, string>();
/** A file with more than these is read each time: with what stays in memory of it others would be pushed out. */
const MOST_EACH = 1_000;

/** Certificates in the order they stand there; none when the file is no PEM of certificates. */
export const readableCertificates = (pem: Uint8Array | undefined): readonly Certificate[] => {
  if (pem === undefined) return [];
  const digest = hashes.get(pem) ?? hash('sha256', pem, 'base64');
  hashes.set(pem, digest);
  const known = shared.get(digest);
  // Last in the order of the map: it was used last.
  shared.delete(digest);
  if (known !== undefined) {
    shared.set(digest, known);
    return known;
  }
  const certificates = readCertificates(pem);
  if (certificates.length > MOST_EACH) return certificates;
  shared.set(digest, certificates);
  certificatesShared += certificates.length + 1;
  for (const [oldest, read] of shared) {
    if (certificatesShared <= MOST_SHARED) break;
    shared.delete(oldest);
    certificatesShared -= read.length + 1;
  }
  return certificates;
};

const readCertificates = (pem: Uint8Array): readonly Certificate[] => {
  try {
    return parseCertificates(pem).certificates;
  } catch (error) {
    if (error instanceof HandoverError) return [];
    throw error;
  }
};

type ReadableLeaf = { readonly chain: readonly [Certificate, ...Certificate[]]; readonly key: Uint8Array };

const leaves = new WeakMap<FileData, { readonly found: ReadableLeaf | undefined }>();

/** Data that was put together from a leaf and its own key need not be read again to know that they fit. */
export const rememberLeaf = (data: FileData, found: ReadableLeaf): void => {
  leaves.set(data, { found });
};

/** The leaf and what rides behind it, if its key is there and fits. */
export const readableLeaf = (data: FileData): ReadableLeaf | undefined => {
  const known = leaves.get(data) ?? { found: readLeaf(data) };
  leaves.set(data, known);
  return known.found;
};

const readLeaf = (data: FileData): ReadableLeaf | undefined => {
  const [leaf, ...behind] = readableCertificates(data['tls.crt']);
  const key = data['tls.key'];
  if (leaf === undefined || key === undefined) return undefined;
  try {
    if (!PrivateKey.parse(key).matches(leaf)) return undefined;
  } catch (error) {
    if (error instanceof HandoverError) return undefined;
    throw error;
  }
  return { chain: [leaf, ...behind], key };
};

const findIssuer = (leaf: Certificate, cas: readonly Certificate[]): Certificate | undefined =>
  cas.find((ca) =>
    leaf.authorityKeyId !== undefined && ca.subjectKeyId !== undefined
      ? leaf.authorityKeyId === ca.subjectKeyId
      : leaf.issuerKey === ca.subjectKey,
  );

/** What a leaf without a record is taken for: every doubt counts against it. */
const foreignLeaf = (
  stored: StoredObject,
  cas: readonly Certificate[],
  now: Instant,
): LeafSeen | undefined => {
  const found = readableLeaf(stored.data);
  if (found === undefined) return undefined;
  const [leaf, ...behind] = found.chain;
  const before = stored.record?.leaf;
  const same = before?.fingerprint === leaf.fingerprint;
  const ends = [before?.othersExpire, same ? undefined : before?.notAfter].filter((end) => end !== undefined);
  return {
    fingerprint: leaf.fingerprint,
    issuer: findIssuer(leaf, cas)?.fingerprint ?? 'unknown',
    chain: behind.map(({ fingerprint }) => fingerprint),
    notBefore: leaf.notBefore,
    notAfter: leaf.notAfter,
    spec: same ? before.spec : FOREIGN_SPEC,
    writtenAt: now,
    issuerSince: now,
    replacedOne: true,
    othersExpire: ends.length === 0 ? undefined : (Math.max(...ends) as Instant),
  };
};

interface Remembered {
  readonly id: ObjectId;
  readonly authority: AuthorityId;
  readonly obstacle: Obstacle | undefined;
  readonly seen: ObjectSeen;
}

const lastSeen = new WeakMap<StoredObject, Remembered>();

/**
 * An object as the planner sees it. As long as the data is as we wrote it, the record that was written with it is the
 * whole truth and nothing is parsed; else the data is read again, and nothing in it is older than now.
 */
export const seenAs = (
  id: ObjectId,
  stored: StoredObject,
  authority: AuthorityId,
  known: readonly Certificate[],
  now: Instant,
  obstacle: Obstacle | undefined = stored.obstacle,
): ObjectSeen => {
  const last = lastSeen.get(stored);
  if (last?.id === id && last.authority === authority && sameObstacle(last.obstacle, obstacle))
    return last.seen;
  const base = { id, version: stored.version, ...(obstacle === undefined ? {} : { obstacle }) };
  const { record } = stored;
  const revision = record?.revisions[authority];
  if (record !== undefined && record.digest === digestOf(stored.data)) {
    const { anchors, leaf } = record;
    // Of a bundle that others share, since when its own part has been as it is.
    const changedAt = record.sources?.[authority]?.since ?? record.changedAt;
    const seen = { ...base, revision, anchors, changedAt, leaf };
    lastSeen.set(stored, { id, authority, obstacle, seen });
    return seen;
  }
  const cas = readableCertificates(stored.data[bundleKeyOf(id)]);
  return {
    ...base,
    edited: true,
    // A lower one would be rewritten in any case; a higher one means that the authority is older than its objects.
    revision: revision !== undefined && revision > 0 ? revision - 1 : undefined,
    anchors: cas.map(({ fingerprint }) => ({ fingerprint, since: now })),
    changedAt: now,
    leaf: foreignLeaf(stored, [...known, ...cas], now),
  };
};
