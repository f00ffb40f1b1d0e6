import type { Resource, TrustBundle } from '@handover/core';
import { type Catalogue, catalogueOf, type Labels, type ObjectId, type Target } from '@handover/engine';
import type { Source } from '../home/fresh.ts';
import type { Held } from '../home/held.ts';
import { fieldPlace, idOfPlace, type Place, type Plural } from '../home/place.ts';
import { type Declared, oldestFirst } from './declared.ts';
import { bundlesByAnnotation, type InjectSource } from './injections.ts';

export interface Absent {
  readonly target: string;
  readonly why: string;
}

/** The resources of a cluster, sorted, and everything that is wrong with them. */
export interface Register {
  readonly catalogue: Catalogue;
  readonly declared: readonly Declared[];
  /** Why a resource is left out, by its uid. */
  readonly problems: ReadonlyMap<string, string>;
  /** Targets that a TrustBundle names and that are not there, by its name. They hold nothing up. */
  readonly absent: ReadonlyMap<string, readonly Absent[]>;
  /** Objects that bundles are made from. */
  readonly sources: readonly Place[];
  readonly signers: ReadonlyMap<ObjectId, string>;
}

export const FIELD_PLURALS: readonly Plural[] = [
  'apiservices',
  'validatingwebhookconfigurations',
  'mutatingwebhookconfigurations',
  'customresourcedefinitions',
];

export interface RegisterOptions {
  readonly source: Source;
  readonly namespaces: ReadonlyMap<string, Labels> | undefined;
  readonly trustNamespace: string;
  /** Whether this API server has ClusterTrustBundles. */
  readonly clusterTrustBundles: boolean;
  /** Where annotations say that an object's caBundle comes from; undefined: nobody asked for annotations. */
  readonly sourceOf: ((held: Held) => InjectSource | undefined) | undefined;
}

type Placement = { readonly id: ObjectId } | { readonly why: string };

const placementOf = async (
  target: Target,
  { source, clusterTrustBundles }: RegisterOptions,
): Promise<Placement> => {
  if (target.clusterTrustBundle !== undefined) {
    if (!clusterTrustBundles)
      return { why: 'this API server has no ClusterTrustBundles; switch them on, or leave the target out' };
    const { name } = target.clusterTrustBundle;
    return { id: idOfPlace({ plural: 'clustertrustbundles', namespace: undefined, name, part: '' }) };
  }
  if (target.inject === undefined) return { why: 'it names no object' };
  const { kind, name, webhooks } = target.inject;
  const place = fieldPlace(kind, name, webhooks);
  const held = await source.held(place);
  if (held === undefined) return { why: 'it does not exist (yet)' };
  if (!held.injectable)
    return {
      why: kind === 'APIService' ? 'it is served by the API server itself' : 'it has no conversion webhook',
    };
  if (place.plural.endsWith('webhookconfigurations') && Object.keys(held.texts).length === 0)
    return { why: 'it has no webhooks' };
  return { id: idOfPlace(place) };
};

const describeTarget = ({ inject, clusterTrustBundle }: Target): string =>
  inject === undefined ? `ClusterTrustBundle ${clusterTrustBundle?.name}` : `${inject.kind} ${inject.name}`;

const injectedBy = (bundles: readonly TrustBundle[]): ((held: Held) => boolean) => {
  const taken = new Set(
    bundles.flatMap(({ spec }) =>
      spec.targets.flatMap(({ inject }) =>
        inject === undefined ? [] : [`${fieldPlace(inject.kind, inject.name).plural} ${inject.name}`],
      ),
    ),
  );
  return ({ plural, name }) => taken.has(`${plural} ${name}`);
};

const sourcesOf = (bundles: readonly TrustBundle[], trustNamespace: string): readonly Place[] =>
  bundles.flatMap(({ spec }) =>
    spec.sources.flatMap(({ secret, configMap }): Place[] => {
      const data = secret ?? configMap;
      if (data === undefined) return [];
      const [namespace, name] = data.name.includes('/') ? data.name.split('/') : [trustNamespace, data.name];
      return [
        {
          plural: secret === undefined ? 'configmaps' : 'secrets',
          namespace,
          name: name ?? '',
          part: data.key,
        },
      ];
    }),
  );

/** Reads everything that is declared. A resource that cannot be read, or wants what another has, is left out and named. */
export async function registerOf(declared: readonly Declared[], options: RegisterOptions): Promise<Register> {
  const problems = new Map<string, string>();
  const uids = new Map<Resource, string>();
  for (const { uid, resource, problem } of [...declared].sort(oldestFirst)) {
    if (resource !== undefined) uids.set(resource, uid);
    else if (problem !== undefined) problems.set(uid, problem);
  }
  const own = [...uids.keys()];
  const bundles = own.filter((resource) => resource.kind === 'TrustBundle');
  const annotated =
    options.sourceOf === undefined
      ? []
      : bundlesByAnnotation(
          (await Promise.all(FIELD_PLURALS.map((plural) => options.source.all(plural)))).flat(),
          options.sourceOf,
          injectedBy(bundles),
        );
  const all = [...bundles, ...annotated];
  const placements = new Map<Target, ObjectId>();
  const absent = new Map<string, Absent[]>();
  const signers = new Map<ObjectId, string>();
  for (const bundle of all) {
    for (const target of bundle.spec.targets) {
      if (target.configMap !== undefined || target.secret !== undefined) continue;
      const placement = await placementOf(target, options);
      if ('id' in placement) {
        placements.set(target, placement.id);
        const signer = target.clusterTrustBundle?.signerName;
        if (signer !== undefined) signers.set(placement.id, signer);
      } else {
        const known = absent.get(bundle.metadata.name) ?? [];
        known.push({ target: describeTarget(target), why: placement.why });
        absent.set(bundle.metadata.name, known);
      }
    }
  }
  const catalogue = catalogueOf([...own, ...annotated], {
    namespaces: options.namespaces,
    place: (target) => placements.get(target),
    onConflict: (resource, problem) => {
      const uid = uids.get(resource);
      if (uid !== undefined) problems.set(uid, problem.message);
    },
  });
  return { catalogue, declared, problems, absent, sources: sourcesOf(all, options.trustNamespace), signers };
}
