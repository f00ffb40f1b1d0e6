import { CAINJECTOR, INJECTABLE_PLURALS, type InjectablePlural, MANAGED_LABEL } from '@handover/core';
import type { FileData } from '@handover/engine';
import type { KubeObject, ManagedFields } from '@handover/kube';
import { type Instant, instant } from '@handover/material';
import { cut, knownAnnotations, labelsOf, MOST_NAME, MOST_SAID, textOf } from '../cache/bounds.ts';
import { Projection } from '../cache/projection.ts';
import { keeperOf } from './keepers.ts';
import { hasField, SHAPES, withDigests } from './parts.ts';
import { PLURALS, type Plural } from './place.ts';
import { FIELD_MANAGER, keptIn, RECORD, type RecordEntries, readEntries } from './record.ts';

/** All that is kept of an API object: never the schemas of a CRD, nor keys that are not ours to write. */
export interface ObjectProjection {
  readonly plural: Plural;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly version: string;
  readonly entries: RecordEntries;
  /** Namespace that the state lies in that it was made from; undefined: it does not say. */
  readonly keptIn: string | undefined;
  readonly data: FileData;
  /** Names in a ConfigMap's `binaryData`. */
  readonly binary: readonly string[];
  /** There was no room for it, and this stands for it: see `Watched`. */
  readonly overBudget?: true;
  readonly labelled: boolean;
  /** Of a ClusterTrustBundle: pods may choose it by them. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Its data cannot be changed any more; it can only be deleted. */
  readonly immutable: boolean;
  /** Whether there is a field for a bundle at all. */
  readonly injectable: boolean;
  /** Annotations that say something to us. */
  readonly annotations: Readonly<Record<string, string>>;
  /** What keeps it, in words; undefined: unknown. */
  readonly owner: string | undefined;
  /** Another controller that keeps its caBundle. */
  readonly keeper: string | undefined;
  /** Manager other than us that last set what is ours in it. */
  readonly lastForeign: string | undefined;
}

const timeOf = ({ time }: ManagedFields): number => (time === undefined ? Number.NaN : Date.parse(time));

/** When the API server last took a write of ours. */
const landedAt = (managed: readonly ManagedFields[]): Instant | undefined => {
  const times = managed
    .filter(({ manager, subresource }) => manager === FIELD_MANAGER && subresource === undefined)
    .map(timeOf);
  const latest = Math.max(...times.filter((time) => !Number.isNaN(time)));
  return Number.isFinite(latest) ? instant(latest) : undefined;
};

const latestOf = (managed: readonly ManagedFields[]): string | undefined => {
  let latest: ManagedFields | undefined;
  for (const entry of managed) {
    if (entry.manager === FIELD_MANAGER || entry.subresource !== undefined) continue;
    if (latest === undefined || timeOf(entry) >= timeOf(latest)) latest = entry;
  }
  return latest?.manager;
};

/** The name that a managed field of ours has in the API server's own account of which manager set what. */
const MARKS: Readonly<Record<Plural, RegExp>> = {
  secrets: /"f:data"/,
  configmaps: /"f:(data|binaryData)"/,
  clustertrustbundles: /"f:trustBundle"/,
  ...(Object.fromEntries(INJECTABLE_PLURALS.map((plural) => [plural, /"f:caBundle"/])) as Record<
    InjectablePlural,
    RegExp
  >),
};

/** The manager that set what is ours, not one that edits beside it. A removal is not on record: then it is the last of all. */
const lastForeign = (plural: Plural, managed: readonly ManagedFields[]): string | undefined =>
  latestOf(managed.filter(({ fieldsV1 }) => MARKS[plural].test(JSON.stringify(fieldsV1 ?? {})))) ??
  latestOf(managed);

const ownerOf = ({ metadata }: KubeObject): string | undefined => {
  const { ownerReferences = [], annotations = {}, managedFields = [] } = metadata;
  const controller = ownerReferences.find((reference) => reference.controller === true) ?? ownerReferences[0];
  if (controller !== undefined) return cut(`${controller.kind} ${controller.name}`, MOST_SAID);
  const certificate = annotations[CAINJECTOR.certificateName];
  if (certificate !== undefined) return cut(`cert-manager's Certificate ${certificate}`, MOST_SAID);
  return shortOf(latestOf(managedFields));
};

/** The API server takes no manager with a longer name. */
const shortOf = (manager: string | undefined): string | undefined =>
  manager === undefined ? undefined : cut(manager, MOST_NAME);

/** A record of ours has less than 1 KiB for each key that we keep in the object. What is longer counts as none. */
const MOST_RECORD = 128 * 1_024;

export const projectObject = (plural: Plural, object: KubeObject): ObjectProjection => {
  const { metadata } = object;
  const { managedFields = [], annotations = {} } = metadata;
  const recorded = textOf(annotations[RECORD], MOST_RECORD);
  const entries = readEntries(recorded, landedAt(managedFields));
  return {
    plural,
    namespace: metadata.namespace,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    version: metadata.resourceVersion ?? '',
    entries,
    keptIn: textOf(keptIn(recorded)),
    data: withDigests(plural, SHAPES[plural].data(object), entries),
    binary: Object.keys(object.binaryData ?? {}),
    labelled: metadata.labels?.[MANAGED_LABEL] === 'true',
    ...(plural === 'clustertrustbundles' ? { labels: labelsOf(metadata.labels) } : {}),
    immutable: object.immutable === true,
    injectable: hasField(plural, object),
    annotations: knownAnnotations('object', annotations),
    owner: ownerOf(object),
    keeper: keeperOf(object),
    lastForeign: shortOf(lastForeign(plural, managedFields)),
  };
};

/** An API server takes no larger object; the bundle of a ConfigMap is kept whole. */
const MOST = 2 * 1_024 * 1_024;

const projectionOf = (plural: Plural): Projection<KubeObject, ObjectProjection> =>
  new Projection(plural, {
    keep: (object, part) => {
      const held = projectObject(plural, object);
      return part === '' ? held : sourceOnly(held, part);
    },
    // It cannot be written while its contents are not known, and it is not taken for one that is not there.
    shell: (object) => {
      const { name, namespace, uid, resourceVersion } = object.metadata;
      const known = { name, namespace, uid, resourceVersion } as KubeObject['metadata'];
      return {
        ...projectObject(plural, { metadata: known }),
        labelled: object.metadata.labels?.[MANAGED_LABEL] === 'true',
        injectable: hasField(plural, object),
        overBudget: true,
      };
    },
    most: MOST,
    essential: true,
  });

/** A Secret that is looked at for its CA often has a private key beside it, which is not needed here. */
const sourceOnly = (held: ObjectProjection, part: string): ObjectProjection => {
  const { 'tls.key': key, ...data } = held.data;
  return key === undefined || part === 'tls.key' ? held : { ...held, data };
};

export const OBJECTS = Object.fromEntries(
  PLURALS.map((plural) => [plural, projectionOf(plural)]),
) as unknown as Readonly<Record<Plural, Projection<KubeObject, ObjectProjection>>>;
