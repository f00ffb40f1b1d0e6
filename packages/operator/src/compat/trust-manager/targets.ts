import {
  ADOPT,
  type ForeignBundleSpec,
  type ForeignBundleTemplate,
  Password,
  type Pkcs12Profile,
  TRUST_MANAGER,
  writeJks,
  writeTrustStore,
} from '@handover/core';
import type { KubeObject, ManagedFields } from '@handover/kube';
import { bytesOf, type Certificate } from '@handover/material';
import { type Pool, sha256 } from './pool.ts';
import type { SourceKind } from './sources.ts';

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
  readonly uid: string;
  /** Of its controlling owner. */
  readonly controller: string | undefined;
  readonly bundle: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Data keys that trust-manager, or Handover in its stead, wrote last. */
  readonly keys: readonly string[];
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

const isDifferent = (
  wanted: Readonly<Record<string, string>>,
  is: Readonly<Record<string, string>>,
): boolean => Object.entries(wanted).some(([key, value]) => is[key] !== value);

/** A key that somebody else wrote has left the list of keys, so the data itself need not be read. */
export const isRight = (seen: TargetSeen, content: TargetContent, bundle: BundleId): boolean => {
  const keys = new Set([content.pem[0], ...content.binary.map(([key]) => key)]);
  return (
    seen.controller === bundle.uid &&
    seen.bundle === bundle.name &&
    seen.annotations[TRUST_MANAGER.hash] === content.hash &&
    !isDifferent(content.labels, seen.labels) &&
    !isDifferent(content.annotations, seen.annotations) &&
    seen.keys.length === keys.size &&
    seen.keys.every((key) => keys.has(key))
  );
};

/** Whether an object is a target already, also one that lost its label or its owner; or whether its owner gave it over. */
export const isGiven = ({ metadata }: KubeObject, bundle: string): boolean =>
  metadata.labels?.[TRUST_MANAGER.bundle] === bundle ||
  metadata.labels?.[ADOPT] === 'true' ||
  metadata.annotations?.[TRUST_MANAGER.hash] !== undefined ||
  (metadata.ownerReferences ?? []).some(
    ({ apiVersion, kind, name }) =>
      kind === 'Bundle' && name === bundle && apiVersion.startsWith(`${TRUST_MANAGER.group}/`),
  );

const keysIn = ({ manager, fieldsV1 }: ManagedFields): readonly string[] =>
  manager !== TRUST_MANAGER.manager
    ? []
    : ['f:data', 'f:binaryData'].flatMap((part) =>
        Object.keys((fieldsV1?.[part] as Fields | undefined) ?? {}).flatMap((field) =>
          field.startsWith('f:') ? [field.slice(2)] : [],
        ),
      );

export const targetSeen = (kind: SourceKind, { metadata }: KubeObject): TargetSeen => {
  const { labels = {}, annotations = {}, ownerReferences = [], managedFields = [] } = metadata;
  return {
    kind,
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    uid: metadata.uid ?? '',
    controller: ownerReferences.find(({ controller }) => controller === true)?.uid,
    bundle: labels[TRUST_MANAGER.bundle],
    labels,
    annotations,
    keys: [...new Set(managedFields.flatMap(keysIn))],
    going: metadata.deletionTimestamp !== undefined,
  };
};

export interface TargetPlace {
  readonly kind: SourceKind;
  readonly namespace: string;
  readonly name: string;
}

/** What to apply. Without content: all that trust-manager wrote leaves the object. */
export const bodyOf = (
  { kind, namespace, name }: TargetPlace,
  bundle: BundleId,
  resourceVersion: string | undefined,
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
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      labels: { ...content?.labels, [TRUST_MANAGER.bundle]: bundle.name },
      ...(content === undefined
        ? {}
        : { annotations: { ...content.annotations, [TRUST_MANAGER.hash]: content.hash } }),
      ownerReferences: [
        {
          apiVersion: `${TRUST_MANAGER.group}/v1alpha1`,
          kind: 'Bundle',
          name: bundle.name,
          uid: bundle.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    ...parts,
  };
};
