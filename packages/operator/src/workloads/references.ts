import type { Selector } from '@handover/engine';
import type { KubeObject } from '@handover/kube';
import { isMap, type Json } from '@handover/material';
import { MOST_NAME, upTo } from '../cache/bounds.ts';

/** An object that a pod reads, and how. */
export interface Reference {
  readonly plural: 'secrets' | 'configmaps' | 'clustertrustbundles';
  /** With `signer`: how the names of all its bundles begin. */
  readonly name: string;
  /** Reads every ClusterTrustBundle of a signer whose labels these are. */
  readonly signer?: Selector;
  /** Keys it takes; undefined: all. */
  readonly keys: readonly string[] | undefined;
  /** Whether a change never reaches a running container: environment, subPath, a copy made at the start. */
  readonly frozen: boolean;
}

const ANY_NAME = '*';

/** What a pod reads whose references are not known. */
export const EVERYTHING: readonly Reference[] = (
  ['secrets', 'configmaps', 'clustertrustbundles'] as const
).map((plural) => ({ plural, name: ANY_NAME, keys: undefined, frozen: true }));

/** Whether it stands for every object of its kind that the pod can read. */
export const readsAll = ({ name }: Pick<Reference, 'name'>): boolean => name === ANY_NAME;

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isMap) : []);
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const named = (value: unknown): string | undefined => {
  const name = text(value);
  return name === undefined || name.length > MOST_NAME ? undefined : name;
};

type Source = Omit<Reference, 'frozen'>;

/** Whether it can be this object that is read: of a signer's bundles, labels decide. */
export const mayRead = (
  { plural, name, signer }: Reference,
  object: { readonly plural: string; readonly name: string },
): boolean =>
  plural === object.plural &&
  (readsAll({ name }) || (signer === undefined ? name === object.name : object.name.startsWith(name)));

/** Selectors longer than this count as selecting everything: an honest one is far shorter. */
const MOST_SELECTOR = 4_096;
const OPERATORS: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

const selectorOf = (value: Json): Selector => {
  if (JSON.stringify(value).length > MOST_SELECTOR) return {};
  const { matchLabels, matchExpressions } = value;
  return {
    matchLabels: Object.fromEntries(
      Object.entries(isMap(matchLabels) ? matchLabels : {}).map(([key, wanted]) => [key, String(wanted)]),
    ),
    matchExpressions: list(matchExpressions).flatMap(({ key, operator, values }) =>
      typeof key === 'string' && OPERATORS.includes(String(operator))
        ? [
            {
              key,
              operator: operator as 'In',
              values: Array.isArray(values) ? values.map(String) : [],
            },
          ]
        : [],
    ),
  };
};

/** By signer. The API server takes a bundle of a signer only under a name that begins with it; without a selector none is meant. */
const signedBy = (value: unknown): readonly Source[] => {
  if (!isMap(value) || !isMap(value.labelSelector)) return [];
  const signer = named(value.signerName);
  if (signer === undefined) return [];
  const name = `${signer.replace('/', ':')}:`;
  return [{ plural: 'clustertrustbundles', name, keys: undefined, signer: selectorOf(value.labelSelector) }];
};

/** A pod that takes more keys of one object than this counts as taking all of them. */
const MOST_KEYS = 32;
/** Characters in all names that one pod reads by: an honest one has far fewer. */
const MOST_REFERENCES = 16_384;

const keysOf = (items: unknown): readonly string[] | undefined => {
  const keys = list(items).flatMap(({ key }) => named(key) ?? []);
  return keys.length === 0 || keys.length > MOST_KEYS ? undefined : keys;
};

const sourceOf = (plural: Reference['plural'], value: unknown, nameField = 'name'): readonly Source[] => {
  if (!isMap(value)) return [];
  const name = named(value[nameField]);
  return name === undefined ? [] : [{ plural, name, keys: keysOf(value.items) }];
};

/** What a volume is made of, as far as we could have written it. */
const sourcesOf = (volume: Json): readonly Source[] => [
  ...sourceOf('secrets', volume.secret, 'secretName'),
  ...sourceOf('configmaps', volume.configMap),
  ...list(isMap(volume.projected) ? volume.projected.sources : undefined).flatMap((source) => [
    ...sourceOf('secrets', source.secret),
    ...sourceOf('configmaps', source.configMap),
    ...sourceOf('clustertrustbundles', source.clusterTrustBundle),
    ...signedBy(source.clusterTrustBundle),
  ]),
];

const factFiles = (container: Json): readonly Reference[] => [
  ...list(container.env).flatMap(({ valueFrom }) =>
    isMap(valueFrom)
      ? [...keyed('secrets', valueFrom.secretKeyRef), ...keyed('configmaps', valueFrom.configMapKeyRef)]
      : [],
  ),
  ...list(container.envFrom).flatMap(({ secretRef, configMapRef }) =>
    [...sourceOf('secrets', secretRef), ...sourceOf('configmaps', configMapRef)].map((source) => ({
      ...source,
      frozen: true,
    })),
  ),
];

const keyed = (plural: Reference['plural'], value: unknown): readonly Reference[] => {
  if (!isMap(value)) return [];
  const [name, key] = [named(value.name), named(value.key)];
  return name === undefined
    ? []
    : [{ plural, name, keys: key === undefined ? undefined : [key], frozen: true }];
};

/**
 * Everything that a pod reads and that could be ours: volumes, projected ones too, and environment, of containers, init
 * containers and ephemeral ones. What an init container reads is as old as the pod, unless it runs on beside the others.
 */
export const referencesOf = ({ spec }: KubeObject): readonly Reference[] => {
  if (!isMap(spec)) return [];
  const volumes = new Map(list(spec.volumes).map((volume) => [text(volume.name) ?? '', sourcesOf(volume)]));
  const containers: readonly (readonly [Json, boolean])[] = [
    ...list(spec.containers).map((container) => [container, false] as const),
    ...list(spec.ephemeralContainers).map((container) => [container, false] as const),
    ...list(spec.initContainers).map(
      (container) => [container, container.restartPolicy !== 'Always'] as const,
    ),
  ];
  const found = new Map<string, Reference>();
  const add = (reference: Reference): void => {
    const { plural, name, keys, signer } = reference;
    const key = `${plural} ${name} ${keys?.join(',') ?? '*'} ${JSON.stringify(signer)}`;
    const before = found.get(key);
    // One frozen copy is enough.
    found.set(key, { ...reference, frozen: reference.frozen || before?.frozen === true });
  };
  for (const [container, copies] of containers) {
    for (const reference of factFiles(container)) add(reference);
    for (const mount of list(container.volumeMounts)) {
      const frozen = copies || text(mount.subPath) !== undefined || text(mount.subPathExpr) !== undefined;
      for (const source of volumes.get(text(mount.name) ?? '') ?? []) add({ ...source, frozen });
    }
  }
  const all = [...found.values()];
  const few = upTo(MOST_REFERENCES, all, ({ name, keys = [], signer }) =>
    keys.reduce((sum, key) => sum + key.length, name.length + (JSON.stringify(signer)?.length ?? 0)),
  );
  // What is left out could be ours.
  return few.length === all.length ? few : EVERYTHING;
};
