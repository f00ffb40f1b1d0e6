import {
  API_VERSION,
  INJECT_FROM,
  injectableOf,
  type Leaf,
  TAKE_OVER,
  type TrustBundle,
} from '@handover/core';
import type { Place } from '../objects/place.ts';
import type { ObjectProjection } from '../objects/projection.ts';

/** Where an annotation says that a caBundle comes from. */
export type InjectSource = TrustBundle['spec']['sources'][number];

/** What an annotation comes to: a source, or a reason why there is none now. */
export interface InjectionRequest {
  readonly source?: InjectSource | undefined;
  readonly refused?: string | undefined;
  /** Objects whose change may change the answer. */
  readonly follow?: readonly Place[] | undefined;
}

/** What an annotation can refer to. */
export interface Around {
  /** By `namespace/name`. */
  readonly leaves: ReadonlyMap<string, Leaf>;
  /** Why an Authority cannot be used; undefined: it can. */
  readonly whyNot: (id: string) => string | undefined;
  readonly held: (place: Place) => Promise<ObjectProjection | undefined>;
}

export type InjectionOf = (held: ObjectProjection, around: Around) => Promise<InjectionRequest | undefined>;

/** An object that asks for a bundle and does not get it. */
export interface InjectionRefusal {
  readonly held: ObjectProjection;
  readonly why: string;
}

/** Both parts of `namespace/name`; undefined: it is no such reference. */
export const namespacedName = (
  value: string,
): { readonly namespace: string; readonly name: string } | undefined => {
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(value) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
};

/** A source by our own annotation: `namespace/authority`. */
export const ownInjection: InjectionOf = async ({ annotations }, { whyNot }) => {
  const value = annotations[INJECT_FROM];
  if (value === undefined) return undefined;
  if (namespacedName(value) === undefined)
    return {
      refused: `${INJECT_FROM}: ${quotedNames(value)} is not the name of an Authority; write namespace/name`,
    };
  const why = whyNot(value);
  if (why !== undefined) return { refused: `${INJECT_FROM}: ${why}` };
  return { source: { authority: value } };
};

/** As much of it as is good for a message. */
export const quotedNames = (value: string): string => JSON.stringify(value.slice(0, 200));

/**
 * The program that owns the field already; then it is left alone. A field that we have written is ours: a later write by another
 * program is drift, and repeated ones are reported as Contended.
 */
export const conflictOf = (held: ObjectProjection, takeOver: boolean): string | undefined => {
  if (takeOver || held.annotations[TAKE_OVER] === 'true') return undefined;
  if (held.keeper === undefined || Object.keys(held.entries).length > 0) return undefined;
  return `its caBundle is kept by ${held.keeper}; remove it there, or set ${TAKE_OVER}: "true" on it`;
};

export interface Injections {
  readonly bundles: readonly TrustBundle[];
  readonly refusals: readonly InjectionRefusal[];
  readonly follow: readonly Place[];
}

/**
 * Annotations as TrustBundles: one for each source, with every object that names it as a target. So that injection by
 * annotation is kept by the very same code, and counts in a rotation like any other verifier.
 */
export const bundlesByAnnotation = async (
  held: readonly ObjectProjection[],
  injectionOf: (held: ObjectProjection) => Promise<InjectionRequest | undefined>,
  taken: (object: ObjectProjection) => boolean,
): Promise<Injections> => {
  const bySource = new Map<
    string,
    { readonly source: InjectSource; readonly targets: TrustBundle['spec']['targets'][number][] }
  >();
  const refusals: InjectionRefusal[] = [];
  const follow = new Set<Place>();
  for (const object of held) {
    const kind = injectableOf(object.plural);
    if (kind === undefined || !object.injectable || taken(object)) continue;
    const wish = await injectionOf(object);
    if (wish === undefined) continue;
    for (const place of wish.follow ?? []) follow.add(place);
    if (wish.refused !== undefined) refusals.push({ held: object, why: wish.refused });
    if (wish.source === undefined) continue;
    const name = sourceKey(wish.source);
    const group = bySource.get(name) ?? { source: wish.source, targets: [] };
    group.targets.push({ inject: { kind, name: object.name } });
    bySource.set(name, group);
  }
  const bundles = [...bySource].map(([name, { source, targets }]) => syntheticBundle(name, source, targets));
  return { bundles, refusals, follow: [...follow] };
};

const PREFIX = 'annotations: ';

const sourceKey = ({ authority, secret, configMap, inline }: InjectSource): string => {
  if (authority !== undefined) return `Authority ${authority}`;
  if (secret !== undefined) return `Secret ${secret.name} ${secret.key}`;
  if (configMap !== undefined) return `ConfigMap ${configMap.name} ${configMap.key}`;
  return inline === undefined ? 'nothing' : 'the API server';
};

/** Its name has a space, which no name that a person gives can have. */
export const syntheticBundle = (
  name: string,
  source: InjectSource,
  targets: readonly TrustBundle['spec']['targets'][number][],
): TrustBundle => ({
  apiVersion: API_VERSION,
  kind: 'TrustBundle',
  metadata: { name: `${PREFIX}${name}`, labels: {}, annotations: {} },
  spec: { sources: [source], targets },
});

export const isSynthetic = ({ metadata }: TrustBundle): boolean => metadata.name.startsWith(PREFIX);
