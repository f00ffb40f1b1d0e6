import type { TrustBundle } from '@handover/core';
import type { Held } from '../home/held.ts';
import type { FieldKind } from '../home/place.ts';

/** Where somebody's annotation says that a caBundle comes from. */
export type InjectSource = TrustBundle['spec']['sources'][number];

export const INJECT_FROM = 'handover.dev/inject-ca-from';

const KIND_OF: Readonly<Record<string, FieldKind>> = {
  apiservices: 'APIService',
  validatingwebhookconfigurations: 'ValidatingWebhookConfiguration',
  mutatingwebhookconfigurations: 'MutatingWebhookConfiguration',
  customresourcedefinitions: 'CustomResourceDefinition',
};

/** A source by our own annotation: `namespace/authority`. A value without a slash means nothing. */
export const ownSource = ({ annotations }: Held): InjectSource | undefined => {
  const value = annotations[INJECT_FROM];
  return value === undefined || !/^[^/]+\/[^/]+$/.test(value) ? undefined : { authority: value };
};

/**
 * Annotations as TrustBundles: one for each source, with every object that names it as a target. So that injection by
 * annotation is kept by the very same code, and counts in a rotation like any other verifier.
 */
export const bundlesByAnnotation = (
  held: readonly Held[],
  sourceOf: (held: Held) => InjectSource | undefined,
  taken: (object: Held) => boolean,
): readonly TrustBundle[] => {
  const bySource = new Map<
    string,
    { readonly source: InjectSource; readonly targets: TrustBundle['spec']['targets'][number][] }
  >();
  for (const object of held) {
    const kind = KIND_OF[object.plural];
    if (kind === undefined || !object.injectable || taken(object)) continue;
    const source = sourceOf(object);
    if (source === undefined) continue;
    const key = JSON.stringify(source);
    const group = bySource.get(key) ?? { source, targets: [] };
    group.targets.push({ inject: { kind, name: object.name } });
    bySource.set(key, group);
  }
  return [...bySource.values()].map(({ source, targets }) => syntheticBundle(source, targets));
};

/** Its name has a space, which no name that a person gives can have. */
const syntheticBundle = (
  source: InjectSource,
  targets: readonly TrustBundle['spec']['targets'][number][],
): TrustBundle => ({
  apiVersion: 'handover.dev/v1alpha1',
  kind: 'TrustBundle',
  metadata: { name: `annotations: ${describe(source)}`, labels: {}, annotations: {} },
  spec: { sources: [source], targets },
});

const describe = ({ authority, secret, configMap, inline }: InjectSource): string =>
  authority ?? secret?.name ?? configMap?.name ?? (inline === undefined ? 'nothing' : 'the API server');

export const isSynthetic = ({ metadata }: TrustBundle): boolean => metadata.name.startsWith('annotations: ');
