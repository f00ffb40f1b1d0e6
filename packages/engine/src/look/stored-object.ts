import { createHash } from 'node:crypto';
import type { LeafSeen, ObjectSeen } from '@handover/core';
import {
  type Certificate,
  HandoverError,
  type Instant,
  PrivateKey,
  parseCertificates,
} from '@handover/material';
import type { AuthorityId, ObjectId, StoredObject } from './home.ts';

type Data = StoredObject['data'];

/** What has been worked out about data before. Data is never changed in place, so that it stands for its content. */
const digests = new WeakMap<Data, string>();

/** Hex SHA-256 over names and values, in the order of the names. */
export const digestOf = (data: Data): string => {
  let digest = digests.get(data);
  if (digest === undefined) {
    digest = computeDigest(data);
    digests.set(data, digest);
  }
  return digest;
};

const computeDigest = (data: Data): string => {
  const hash = createHash('sha256');
  for (const key of Object.keys(data).sort()) {
    const value = data[key] ?? '';
    hash.update(`${key.length}:${key}${Buffer.byteLength(value)}:`).update(value);
  }
  return hash.digest('hex');
};

/** The key of an object's data that holds its bundle. */
export const bundleKeyOf = (id: ObjectId): string => id.split('/')[3] ?? 'ca.crt';

/** Texts that were read before: a fleet shares a few bundles, and reads them at every look. */
const texts = new Map<string, readonly Certificate[]>();
const MOST_CHARACTERS = 4_000_000;
let characters = 0;

/** Certificates in the order they stand there; none when the text is not what it should be. */
export const readableCertificates = (pem: string | undefined): readonly Certificate[] => {
  if (pem === undefined) return [];
  const known = texts.get(pem);
  if (known !== undefined) return known;
  const certificates = readCertificates(pem);
  if (characters + pem.length > MOST_CHARACTERS) {
    texts.clear();
    characters = 0;
  }
  characters += pem.length;
  texts.set(pem, certificates);
  return certificates;
};

const readCertificates = (pem: string): readonly Certificate[] => {
  try {
    return parseCertificates(pem).certificates;
  } catch (error) {
    if (error instanceof HandoverError) return [];
    throw error;
  }
};

type ReadableLeaf = { readonly chain: readonly [Certificate, ...Certificate[]]; readonly key: string };

const leaves = new WeakMap<Data, { readonly found: ReadableLeaf | undefined }>();

/** Data that was put together from a leaf and its own key need not be read again to know that they fit. */
export const rememberLeaf = (data: Data, found: ReadableLeaf): void => {
  leaves.set(data, { found });
};

/** The leaf and what rides behind it, if its key is there and fits. */
export const readableLeaf = (data: Data): ReadableLeaf | undefined => {
  let known = leaves.get(data);
  if (known === undefined) {
    known = { found: readLeaf(data) };
    leaves.set(data, known);
  }
  return known.found;
};

const readLeaf = (data: Data): ReadableLeaf | undefined => {
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

const issuerOf = (leaf: Certificate, cas: readonly Certificate[]): Certificate | undefined =>
  cas.find((ca) =>
    leaf.authorityKeyId !== undefined && ca.subjectKeyId !== undefined
      ? leaf.authorityKeyId === ca.subjectKeyId
      : leaf.issuerKey === ca.subjectKey,
  );

/** What a leaf nobody keeps a record of is taken for: every doubt counts against it. */
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
    issuer: issuerOf(leaf, cas)?.fingerprint ?? 'unknown',
    chain: behind.map(({ fingerprint }) => fingerprint),
    notBefore: leaf.notBefore,
    notAfter: leaf.notAfter,
    spec: same ? before.spec : 'foreign',
    writtenAt: now,
    issuerSince: now,
    replacedOne: true,
    othersExpire: ends.length === 0 ? undefined : (Math.max(...ends) as Instant),
  };
};

interface Remembered {
  readonly id: ObjectId;
  readonly authority: AuthorityId;
  readonly obstacle: string | undefined;
  readonly seen: ObjectSeen;
}

const sights = new WeakMap<StoredObject, Remembered>();

/**
 * An object as the planner sees it. As long as nobody else touched the data, the record that was written with it is the
 * whole truth and nothing is parsed; else the data is read anew, and nothing in it is older than now.
 */
export const seenAs = (
  id: ObjectId,
  stored: StoredObject,
  authority: AuthorityId,
  known: readonly Certificate[],
  now: Instant,
  obstacle: string | undefined = stored.obstacle,
): ObjectSeen => {
  const last = sights.get(stored);
  if (last?.id === id && last.authority === authority && last.obstacle === obstacle) return last.seen;
  const base = { id, version: stored.version, ...(obstacle === undefined ? {} : { obstacle }) };
  const { record } = stored;
  const revision = record?.revisions[authority];
  if (record !== undefined && record.digest === digestOf(stored.data)) {
    const { anchors, leaf } = record;
    // Of a bundle that others share, since when its own part has been as it is.
    const changedAt = record.sources?.[authority]?.since ?? record.changedAt;
    const seen = { ...base, revision, anchors, changedAt, leaf };
    sights.set(stored, { id, authority, obstacle, seen });
    return seen;
  }
  const cas = readableCertificates(stored.data[bundleKeyOf(id)]);
  return {
    ...base,
    // A lower one would be rewritten in any case; a higher one means that the authority is older than its objects.
    revision: revision !== undefined && revision > 0 ? revision - 1 : undefined,
    anchors: cas.map(({ fingerprint }) => ({ fingerprint, since: now })),
    changedAt: now,
    leaf: foreignLeaf(stored, [...known, ...cas], now),
  };
};
