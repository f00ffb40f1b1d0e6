import type { ObjectSeen } from '@handover/core';
import {
  type Certificate,
  HandoverError,
  type Instant,
  isExpired,
  iso,
  minute,
  PrivateKey,
  parseCertificates,
} from '@handover/material';
import { isStatic } from '../act/static-bundle.ts';
import { isCode } from '../error.ts';
import type { Observation } from '../observe/observe.ts';
import { targetsOf } from '../snapshot/catalogue.ts';
import type { FileData, ObjectId, StoredObject } from '../snapshot/home.ts';
import { extrasOf } from '../snapshot/shared-bundles.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { bundleKeyOf, readableCertificates } from '../snapshot/stored-object.ts';

/** What is wrong with the targets of TrustBundles without an authority. */
export async function staticDamage(snapshot: Snapshot): Promise<readonly Damage[]> {
  const found: Damage[] = [];
  for (const bundle of snapshot.catalogue.trustBundles.filter(isStatic)) {
    const { certificates, missing } = await extrasOf(snapshot, bundle, undefined);
    for (const object of targetsOf(bundle, snapshot.catalogue)) {
      const stored = (await snapshot.objects.read(object)) ?? {};
      // Without one of its sources it is not known what belongs there, and its targets stay as they are.
      const problems =
        missing === undefined ? bundleDamage(object, stored, certificates, snapshot.now) : [missing];
      found.push(...problems.map((problem) => ({ object, problem })));
    }
  }
  return found;
}

/** Something that is wrong with what an object holds now. */
export interface Damage {
  readonly object: ObjectId;
  readonly problem: string;
}

const LEAF_FILES = ['tls.crt', 'tls.key', 'ca.crt'] as const;
const listed = (names: readonly string[]): string =>
  names.length < 2
    ? `${names.join()} is missing`
    : `${names.slice(0, -1).join(', ')} and ${names.at(-1)} are missing`;

/** What `read` makes of the file, or why it cannot be read. */
const attempt = <T>(read: () => T): T | HandoverError => {
  try {
    return read();
  } catch (error) {
    if (error instanceof HandoverError) return error;
    throw error;
  }
};

const certificatesIn = (name: string, file: Uint8Array): readonly Certificate[] | string => {
  if (file.length === 0) return `${name} is empty`;
  const found = attempt(() => parseCertificates(file).certificates);
  if (!(found instanceof HandoverError)) return found;
  return isCode(found, 'PEM_NO_CERTIFICATE')
    ? `${name} holds no certificate`
    : `${name} cannot be read: ${found.message}`;
};

const bundleTrouble = (name: string, file: Uint8Array, now: Instant): string | undefined => {
  const found = certificatesIn(name, file);
  if (typeof found === 'string') return found;
  const isUsable = (ca: Certificate): boolean => ca.isCa && ca.notBefore <= now && !isExpired(ca, now);
  return found.some(isUsable) ? undefined : `${name} holds no CA that is valid now`;
};

/** Of a leaf and its key; a file that is missing is told elsewhere. */
const leafTroubles = (data: FileData, now: Instant): readonly string[] => {
  const troubles: string[] = [];
  const { 'tls.crt': chain, 'tls.key': pem } = data;
  const found = chain === undefined ? undefined : certificatesIn('tls.crt', chain);
  if (typeof found === 'string') troubles.push(found);
  const leaf = typeof found === 'string' ? undefined : found?.[0];
  if (leaf !== undefined && isExpired(leaf, now))
    troubles.push(`the leaf in tls.crt expired at ${iso(leaf.notAfter)}`);
  if (leaf !== undefined && now < leaf.notBefore)
    troubles.push(`the leaf in tls.crt is not valid before ${iso(leaf.notBefore)}`);
  if (pem === undefined) return troubles;
  if (pem.length === 0) return [...troubles, 'tls.key is empty'];
  const key = attempt(() => PrivateKey.parse(pem, 'tls.key'));
  if (key instanceof HandoverError) troubles.push(`tls.key cannot be read: ${key.message}`);
  else if (leaf !== undefined && !key.matches(leaf))
    troubles.push('tls.key is not the key of the certificate in tls.crt');
  return troubles;
};

const troublesIn = (
  object: ObjectId,
  isLeaf: boolean,
  data: FileData,
  now: Instant,
  isUnread: (name: string) => boolean,
): readonly string[] => {
  const bundle = bundleKeyOf(object);
  const missing = (isLeaf ? LEAF_FILES : [bundle]).filter((name) => data[name] === undefined);
  const anchors = isUnread(bundle) ? undefined : data[bundle];
  const trouble = anchors === undefined ? undefined : bundleTrouble(bundle, anchors, now);
  return [
    ...(missing.length === 0 ? [] : [listed(missing)]),
    ...(isLeaf ? leafTroubles(without(data, isUnread), now) : []),
    ...(trouble === undefined ? [] : [trouble]),
  ];
};

const known = new WeakMap<Observation, ReadonlySet<ObjectId>>();

/** A pass that takes a step writes its objects within this time. */
const PASS = 5 * minute;

/**
 * Objects that are not as they were written, and old ones that were put back. A pass writes its objects after each change of the authority, except
 * between a generation's end and changes that leave one more in the state (a distrust, strategy Instant): an object that is further
 * behind than there are generations, or was not written long after the last step, is not one that `handover run` is about to write.
 */
const doubtfulIn = (observation: Observation): ReadonlySet<ObjectId> => {
  const { revision: last = 0, generations = [] } = observation.record?.state ?? {};
  const { at = observation.now } = observation.record?.history?.at(-1) ?? {};
  const behind =
    observation.now - at > PASS ? 0 : generations.filter(({ role }) => role !== 'retained').length;
  const isOld = ({ revision, elsewhere, obstacle }: ObjectSeen): boolean =>
    revision !== undefined && revision + behind < last && elsewhere !== true && obstacle === undefined;
  const found =
    known.get(observation) ??
    new Set(observation.seen.objects.filter((one) => one.edited === true || isOld(one)).map(({ id }) => id));
  known.set(observation, found);
  return found;
};

const without = (data: FileData, isUnread: (name: string) => boolean): FileData =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !isUnread(name)));

/** CAs that another program put into the bundle of an object. As long as the object is as it was written last there are none. */
const foreignCas = (observation: Observation, object: ObjectId): readonly string[] => {
  const { responsibilities, record, stored } = observation;
  const { certificates = [], missing } = responsibilities.bundles.get(object) ?? {};
  if (!doubtfulIn(observation).has(object) || record === undefined || missing !== undefined) return [];
  const own = record.state.generations.flatMap(({ anchors }) => anchors);
  return othersIn(object, stored.get(object)?.data ?? {}, [...own, ...certificates]);
};

const MOST_CAS = 5;
/** Certificates in the bundle of an object that are not among those that belong there. */
const othersIn = (
  object: ObjectId,
  data: FileData,
  belong: readonly Pick<Certificate, 'fingerprint'>[],
): readonly string[] => {
  const wanted = new Set(belong.map(({ fingerprint }) => fingerprint));
  const name = bundleKeyOf(object);
  return readableCertificates(data[name])
    .filter(({ fingerprint }) => !wanted.has(fingerprint))
    .slice(0, MOST_CAS)
    .map(
      ({ subject, fingerprint }) =>
        `${name} holds a CA that does not belong there: ${subject} (SHA-256 ${fingerprint}); Handover removes it in its next pass`,
    );
};

/** What is wrong with a bundle that no authority writes. */
const bundleDamage = (
  object: ObjectId,
  { data, damage = [], unread = {}, obstacle }: Partial<StoredObject>,
  belong: readonly Certificate[],
  now: Instant,
): readonly string[] => [
  ...Object.values(unread),
  ...troublesIn(object, false, data ?? {}, now, (name) => name in unread),
  ...(obstacle === undefined ? othersIn(object, data ?? {}, belong) : [String(obstacle)]),
  ...damage,
];

/** What another program did to the files of the objects that an authority is asked for, though they may still verify. */
export const alteredIn = (observation: Observation): readonly Damage[] => {
  const { responsibilities, stored } = observation;
  const { leaves, bundles } = responsibilities;
  return [...new Set([...leaves.keys(), ...bundles.keys()])].flatMap((object) =>
    [...(stored.get(object)?.damage ?? []), ...foreignCas(observation, object)].map((problem) => ({
      object,
      problem,
    })),
  );
};

/** What is wrong with the files of one object. */
export const damageOf = (observation: Observation, object: ObjectId): readonly string[] => {
  const { responsibilities, stored, now } = observation;
  const { data = {}, damage = [], unread = {} } = stored.get(object) ?? {};
  const isLeaf = responsibilities.leaves.has(object);
  return [
    ...Object.values(unread),
    ...troublesIn(object, isLeaf, data, now, (name) => name in unread),
    ...foreignCas(observation, object),
    ...damage,
  ];
};

/**
 * What is wrong with the objects that an authority is asked for, read from their bytes: the record beside them is not believed.
 * Whether chains verify against bundles is told by the trust matrix.
 */
export const damageIn = (observation: Observation): readonly Damage[] => {
  const { responsibilities, seen } = observation;
  const { leaves, bundles, refused } = responsibilities;
  const obstacles = new Map(seen.objects.map(({ id, obstacle }) => [id, obstacle]));
  const damaged = [...new Set([...leaves.keys(), ...bundles.keys()])].flatMap((object) => {
    const obstacle = obstacles.get(object);
    const troubles = damageOf(observation, object);
    return [...troubles, ...(obstacle === undefined ? [] : [String(obstacle)])].map((problem) => ({
      object,
      problem,
    }));
  });
  return [...damaged, ...refused.map(({ leaf, why }) => ({ object: leaf, problem: why }))];
};
