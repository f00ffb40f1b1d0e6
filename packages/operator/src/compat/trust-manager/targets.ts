import {
  ADOPT,
  type ForeignBundleSpec,
  type ForeignBundleTemplate,
  MANAGED_LABEL,
  Password,
  type Pkcs12Profile,
  TRUST_MANAGER,
  writeJks,
  writeTrustStore,
} from '@handover/core';
import type { KubeObject, ManagedFields } from '@handover/kube';
import { bytesOf, type Certificate } from '@handover/material';
import { cut, MOST_NAME, textOf } from '../../cache/bounds.ts';
import { Projection } from '../../cache/projection.ts';
import { type Pool, sha256 } from './pool.ts';
import type { SourceKind } from './sources.ts';

type Metadata = KubeObject['metadata'];

/** Whose an object is: a Bundle may write its own targets, and what its owner gave over. */
export type Holder = 'bundle' | 'handover' | 'foreign';

const ownersIn = ({ ownerReferences = [] }: Metadata): readonly string[] =>
  ownerReferences
    .filter(({ apiVersion, kind }) => kind === 'Bundle' && apiVersion.startsWith(`${TRUST_MANAGER.group}/`))
    .map(({ name }) => name);

const isKept = ({ labels }: Metadata): boolean => labels?.[MANAGED_LABEL] === 'true';

/** A target has the name of its Bundle. It is known also when it lost its label or its owner; the hash alone says nothing beside the label of another Bundle. */
export const holderOf = ({ metadata }: KubeObject): Holder => {
  const { name = '', labels = {}, annotations = {} } = metadata;
  if (isKept(metadata)) return 'handover';
  const label = labels[TRUST_MANAGER.bundle];
  const isTarget =
    label === name ||
    ownersIn(metadata).includes(name) ||
    (label === undefined && annotations[TRUST_MANAGER.hash] !== undefined);
  return isTarget || labels[ADOPT] === 'true' ? 'bundle' : 'foreign';
};

/** Written by a Bundle or by Handover. A selector that takes such an object would keep each CA for ever. */
export const isOutput = ({ metadata }: KubeObject): boolean =>
  isKept(metadata) ||
  metadata.labels?.[TRUST_MANAGER.bundle] === metadata.name ||
  metadata.annotations?.[TRUST_MANAGER.hash] !== undefined ||
  ownersIn(metadata).length > 0;

/** The Bundle that a target belongs to. */
export interface BundleId {
  readonly name: string;
  readonly uid: string;
}

/** What is known of a target without reading its data. */
export interface TargetSeen {
  readonly kind: SourceKind;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly holder: Holder;
  /** UID of its controlling owner. */
  readonly controller: string | undefined;
  readonly bundle: string | undefined;
  readonly hash: string | undefined;
  /** Hashes of its labels and annotations; undefined: too many to keep. */
  readonly marks: ReadonlySet<string> | undefined;
  /** Data keys that trust-manager, or Handover in its stead, wrote last: at most one more than any target has. */
  readonly keys: readonly string[];
  /** Whether its owner gave it over. */
  readonly isAdopted: boolean;
  /** Whether another program or person wrote some of its data. */
  readonly hasOtherData: boolean;
  readonly going: boolean;
}

/** Everything in a target of one kind, in any namespace. */
export interface TargetContent {
  readonly hash: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly pem: readonly [key: string, text: string];
  readonly binary: readonly (readonly [key: string, bytes: Uint8Array])[];
}

type Formats = NonNullable<ForeignBundleSpec['target']['additionalFormats']>;
type Fields = Readonly<Record<string, unknown>>;

/** Hash first: names of certificates may be long, and are cut by some programs. */
const aliasOf = ({ fingerprint, subject }: Certificate): string => `${fingerprint.slice(0, 8)}|${subject}`;

/** An alias of JKS has no capitals, and entries stand in the order of their aliases. */
const jksOf = ({ certificates }: Pool, password: string): Uint8Array =>
  writeJks(
    {
      trusted: certificates
        .map((certificate) => ({ alias: aliasOf(certificate).toLowerCase(), certificate }))
        .sort((a, b) => (a.alias < b.alias ? -1 : 1)),
    },
    Password.open(password),
  );

const pkcs12Of = ({ certificates }: Pool, text: string, profile: Pkcs12Profile = 'LegacyRC2'): Uint8Array =>
  writeTrustStore(
    certificates.map((certificate) => ({ alias: aliasOf(certificate), certificate })),
    text === '' ? undefined : { password: Password.open(text), profile },
  );

const entriesInOrder = (map: Readonly<Record<string, string>>): readonly string[] =>
  Object.keys(map)
    .sort(byBytes)
    .map((key) => `${key}${map[key]}`);

/** Go's order of strings. */
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** As trust-manager computes it: a target that trust-manager wrote, and that is right, is not written again. */
const hashOf = (pem: string, { jks, pkcs12 }: Formats, template: ForeignBundleTemplate): string =>
  sha256(
    pem,
    jks?.password ?? '',
    pkcs12?.password ?? '',
    pkcs12?.profile ?? '',
    ...entriesInOrder(template.metadata?.annotations ?? {}),
    ...entriesInOrder(template.metadata?.labels ?? {}),
  );

export const contentOf = (
  pool: Pool,
  template: ForeignBundleTemplate,
  formats: Formats = {},
): TargetContent => {
  const { jks, pkcs12 } = formats;
  return {
    hash: hashOf(pool.pem, formats, template),
    labels: template.metadata?.labels ?? {},
    annotations: template.metadata?.annotations ?? {},
    pem: [template.key, pool.pem],
    binary: [
      ...(jks === undefined ? [] : [[jks.key, jksOf(pool, jks.password)] as const]),
      ...(pkcs12 === undefined
        ? []
        : [[pkcs12.key, pkcs12Of(pool, pkcs12.password, pkcs12.profile)] as const]),
    ],
  };
};

/** An API server takes no larger object than this, all in all. */
const MOST_BYTES = 1_000_000;

/** Why this cannot be written; undefined: it can. */
export const tooLarge = ({ pem, binary }: TargetContent): string | undefined => {
  const size = pem[1].length + binary.reduce((sum, [, bytes]) => sum + bytes.length, 0);
  return size <= MOST_BYTES ? undefined : `${size} bytes are more than a target can hold (${MOST_BYTES})`;
};

/** Every tenant may label a ConfigMap as a target, and annotate it with 256 kB: of one object no more than this is kept. */
const MOST_MARKS = 64;
/** PEM, JKS and PKCS#12. */
const MOST_KEYS = 3;
/** SHA-256 in hex. */
const HASH_LENGTH = 64;

const marksOf = ({ labels = {}, annotations = {} }: Pick<KubeObject['metadata'], 'labels' | 'annotations'>) =>
  [labels, annotations].flatMap((map, index) =>
    Object.entries(map).map(([key, value]) => sha256(`${index} ${key} ${value}`)),
  );

/** The data of others goes with an object that has an owner, when that owner goes: such an object gets none. One that trust-manager made its own stays so, unless its owner says otherwise. */
export const isGuest = ({ isAdopted, hasOtherData, controller }: TargetSeen, { uid }: BundleId): boolean =>
  isAdopted || (hasOtherData && controller !== uid);

/** A key that another manager wrote has left the list of keys, so the data itself need not be read. */
export const isRight = (seen: TargetSeen, content: TargetContent, bundle: BundleId): boolean => {
  const keys = new Set([content.pem[0], ...content.binary.map(([key]) => key)]);
  return (
    (seen.controller === bundle.uid) !== isGuest(seen, bundle) &&
    seen.bundle === bundle.name &&
    seen.hash === content.hash &&
    marksOf(content).every((mark) => seen.marks?.has(mark) ?? true) &&
    seen.keys.length === keys.size &&
    seen.keys.every((key) => keys.has(key))
  );
};

const keysIn = ({ fieldsV1 }: ManagedFields): readonly string[] =>
  ['f:data', 'f:binaryData'].flatMap((part) =>
    Object.keys((fieldsV1?.[part] as Fields | undefined) ?? {}).flatMap((field) =>
      field.startsWith('f:') ? [field.slice(2)] : [],
    ),
  );

const shortOf = (uid: string | undefined): string | undefined =>
  uid === undefined ? undefined : cut(uid, MOST_NAME);

export const targetSeen = (kind: SourceKind, object: KubeObject): TargetSeen => {
  const { metadata } = object;
  const { labels = {}, annotations = {}, ownerReferences = [], managedFields = [] } = metadata;
  const hash = annotations[TRUST_MANAGER.hash];
  const isFew = Object.keys(labels).length + Object.keys(annotations).length <= MOST_MARKS;
  const isOurs = ({ manager }: ManagedFields): boolean => manager === TRUST_MANAGER.manager;
  return {
    kind,
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    holder: holderOf(object),
    // Any owner but the Bundle is another one.
    controller: shortOf(ownerReferences.find(({ controller }) => controller === true)?.uid),
    bundle: textOf(labels[TRUST_MANAGER.bundle]),
    hash: hash?.length === HASH_LENGTH ? hash : undefined,
    marks: isFew ? new Set(marksOf(metadata)) : undefined,
    keys: [...new Set(managedFields.filter(isOurs).flatMap(keysIn))]
      .slice(0, MOST_KEYS + 1)
      .map((key) => cut(key, MOST_NAME + 1)),
    isAdopted: labels[ADOPT] === 'true',
    hasOtherData: managedFields.some((fields) => !isOurs(fields) && keysIn(fields).length > 0),
    going: metadata.deletionTimestamp !== undefined,
  };
};

const projectionOf = (kind: SourceKind): Projection<KubeObject, TargetSeen> =>
  new Projection(`${kind} of a Bundle`, { keep: (object) => targetSeen(kind, object) });

/** One that there is no room for is written as if it were not there, which the API server refuses: the Bundle's status names it. */
export const TARGETS = {
  ConfigMap: projectionOf('ConfigMap'),
  Secret: projectionOf('Secret'),
} as const satisfies Readonly<Record<SourceKind, Projection<KubeObject, TargetSeen>>>;

export interface TargetPlace {
  readonly kind: SourceKind;
  readonly namespace: string;
  readonly name: string;
}

const ownerOf = ({ name, uid }: BundleId) => ({
  apiVersion: `${TRUST_MANAGER.group}/v1alpha1`,
  kind: 'Bundle',
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

/** What to apply to an object that was seen so, or was not there. Without content: all that trust-manager wrote leaves it, but for the label. */
export const bodyOf = (
  { kind, namespace, name }: TargetPlace,
  bundle: BundleId,
  seen: TargetSeen | undefined,
  content?: TargetContent,
): KubeObject => {
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
  const binary = Object.fromEntries((content?.binary ?? []).map(([key, bytes]) => [key, base64(bytes)]));
  const [key = '', pem = ''] = content?.pem ?? [];
  const parts =
    content === undefined
      ? {}
      : kind === 'Secret'
        ? { data: { [key]: base64(bytesOf(pem)), ...binary } }
        : { data: { [key]: pem }, ...(content.binary.length === 0 ? {} : { binaryData: binary }) };
  return {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      namespace,
      ...(seen === undefined ? {} : { resourceVersion: seen.resourceVersion }),
      labels: { ...content?.labels, [TRUST_MANAGER.bundle]: bundle.name },
      ...(content === undefined
        ? {}
        : { annotations: { ...content.annotations, [TRUST_MANAGER.hash]: content.hash } }),
      ...(seen !== undefined && isGuest(seen, bundle) ? {} : { ownerReferences: [ownerOf(bundle)] }),
    },
    ...parts,
  };
};
