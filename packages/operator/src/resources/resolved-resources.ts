import { INJECTABLE_PLURALS, type Leaf, type Resource, type TrustBundle } from '@handover/core';
import {
  type Catalogue,
  catalogueOf,
  consentIn,
  idOf,
  type Labels,
  type ObjectId,
  type Target,
  type Unusable,
} from '@handover/engine';
import type { Source } from '../objects/fresh.ts';
import { NO_TRUST_BUNDLES } from '../objects/kinds.ts';
import { fieldPlace, idOfPlace, type Place } from '../objects/place.ts';
import type { ObjectProjection } from '../objects/projection.ts';
import { certificatesUnder } from './certificates-under.ts';
import { type Declared, oldestFirst } from './declared.ts';
import {
  type Around,
  bundlesByAnnotation,
  conflictOf,
  type InjectionOf,
  type InjectionRefusal,
  type InjectionRequest,
  type Injections,
  quotedNames,
  syntheticBundle,
} from './injections.ts';
import { type Select, withNames } from './selected-sources.ts';

/** Messages about single resources begin with their names, as messages about files begin with the file. */
const withoutNames = ({ kind, name }: Declared, id: string, problem: string): string => {
  const [full, short] = [`${kind} ${id}: `, `${kind} ${name}: `];
  const rest = problem.startsWith(full) ? problem.slice(full.length) : problem;
  return rest.startsWith(short) ? rest.slice(short.length) : rest;
};

/** Resources that are declared and not used, with the reason; `problems` are by uid. */
const leftOutOf = (
  declared: readonly Declared[],
  problems: ReadonlyMap<string, string>,
): readonly Unusable[] =>
  declared.flatMap((one) => {
    const problem = problems.get(one.uid);
    if (problem === undefined) return [];
    const id = one.namespace === undefined ? one.name : `${one.namespace}/${one.name}`;
    const code = one.problem === undefined ? 'RESOURCE_CONFLICT' : 'RESOURCE_INVALID';
    return [{ kind: one.kind, id, code, message: withoutNames(one, id, problem) }];
  });

/** Why there is no Authority of a name that an annotation gives. */
const whyNoAuthority = (declared: readonly Declared[], id: string): string => {
  const exists = declared.some(
    ({ kind, namespace, name }) => kind === 'Authority' && `${namespace}/${name}` === id,
  );
  return exists
    ? `Authority ${quotedNames(id)} is invalid, as its status says`
    : `there is no Authority ${quotedNames(id)} (yet)`;
};

export interface Absent {
  readonly target: string;
  readonly why: string;
}

/** The resources of a cluster, sorted, and everything that is wrong with them. */
export interface ResolvedResources {
  readonly catalogue: Catalogue;
  readonly declared: readonly Declared[];
  /** Why a resource is left out, by its uid. */
  readonly problems: ReadonlyMap<string, string>;
  /** Targets that a TrustBundle names and that are not there, by its name. They hold nothing up. */
  readonly absent: ReadonlyMap<string, readonly Absent[]>;
  /** Objects that bundles are made from. */
  readonly sources: readonly Place[];
  /** Secrets that Authorities name in `spec.adopt`: needed once, by a pass of that Authority before it has a CA. */
  readonly adopted: ReadonlySet<ObjectId>;
  /** Objects that decide, by being there and by their annotations, whether something is injected. */
  readonly gates: readonly Place[];
  /** Who asks for a bundle by annotation and does not get it. */
  readonly refusals: readonly InjectionRefusal[];
  readonly signers: ReadonlyMap<ObjectId, string>;
  /** Objects that may become ours though another program made them: the resource that asks for each says so. */
  readonly adoptable: ReadonlySet<ObjectId>;
  /** Objects that hold nothing but what we put there, and are never made by us. */
  readonly whole: ReadonlySet<ObjectId>;
  /** Why a Leaf that an annotation asks for is left out, by `namespace/name`. */
  readonly leafProblems: ReadonlyMap<string, string>;
}

/** What is asked for by other means than resources and fields. */
export interface More {
  readonly leaves: readonly Leaf[];
  readonly problems: ReadonlyMap<string, string>;
  /** ConfigMaps that get an authority's bundle under a key, and hold nothing else. */
  readonly configMaps: readonly Place[];
  readonly authority: string;
}

export interface ResolveOptions {
  readonly source: Source;
  readonly namespaces: ReadonlyMap<string, Labels> | undefined;
  readonly trustNamespace: string;
  /** Whether this API server has ClusterTrustBundles now. Asked for each target that is one. */
  readonly clusterTrustBundles: () => boolean;
  /** Where annotations say that an object's caBundle comes from; undefined: annotations are not honoured. */
  readonly injectionOf: InjectionOf | undefined;
  /** Whether fields that another controller keeps become ours. */
  readonly takeOver: boolean;
  readonly more?: (() => More) | undefined;
  /** What the selectors of sources take; undefined: this account may see only what it can name. */
  readonly select: Select | undefined;
}

type Placement = { readonly id: ObjectId } | { readonly why: string };

const placementOf = async (
  target: Target,
  { source, clusterTrustBundles, takeOver }: ResolveOptions,
): Promise<Placement> => {
  if (target.clusterTrustBundle !== undefined) {
    if (!clusterTrustBundles()) return { why: NO_TRUST_BUNDLES };
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
  if (place.plural.endsWith('webhookconfigurations') && Object.keys(held.data).length === 0)
    return { why: 'it has no webhooks' };
  const conflict = conflictOf(held, takeOver);
  if (conflict !== undefined) return { why: conflict };
  return { id: idOfPlace(place) };
};

const describeTarget = ({ inject, clusterTrustBundle }: Target): string =>
  inject === undefined ? `ClusterTrustBundle ${clusterTrustBundle?.name}` : `${inject.kind} ${inject.name}`;

const injectedBy = (bundles: readonly TrustBundle[]): ((held: ObjectProjection) => boolean) => {
  const taken = new Set(
    bundles.flatMap(({ spec }) =>
      spec.targets.flatMap(({ inject }) =>
        inject === undefined ? [] : [`${fieldPlace(inject.kind, inject.name).plural} ${inject.name}`],
      ),
    ),
  );
  return ({ plural, name }) => taken.has(`${plural} ${name}`);
};

/** Secrets and ConfigMaps that a bundle is made from. */
export const sourcesOf = ({ spec }: TrustBundle, trustNamespace: string): readonly Place[] =>
  spec.sources.flatMap(({ secret, configMap }): Place[] => {
    const data = secret ?? configMap;
    if (data?.name === undefined) return [];
    const [namespace, name] = data.name.includes('/') ? data.name.split('/') : [trustNamespace, data.name];
    return [
      {
        plural: secret === undefined ? 'configmaps' : 'secrets',
        namespace,
        name: name ?? '',
        part: data.key,
      },
    ];
  });

/** ConfigMaps that ask by annotation: only what is there is a target, nothing is made. */
const bundleOfConfigMaps = async (
  { configMaps, authority }: More,
  { source }: ResolveOptions,
  placements: Map<Target, ObjectId>,
): Promise<readonly TrustBundle[]> => {
  const targets: Target[] = [];
  for (const place of configMaps) {
    if ((await source.held(place)) === undefined) continue;
    const target: Target = {};
    placements.set(target, idOfPlace(place));
    targets.push(target);
  }
  return targets.length === 0
    ? []
    : [syntheticBundle(`ConfigMaps, Authority ${authority}`, { authority }, targets)];
};

const NOTHING: Injections = { bundles: [], refusals: [], follow: [] };

/** An object that has a bundle of one Authority keeps it when its annotation is refused now: a distrust has to reach it. */
const stillInjected = (
  { entries }: ObjectProjection,
  answer: InjectionRequest | undefined,
  { whyNot }: Around,
): InjectionRequest | undefined => {
  if (answer?.refused === undefined || answer.source !== undefined) return answer;
  const authorities = new Set(Object.values(entries).flatMap(({ record }) => Object.keys(record.revisions)));
  const [authority] = authorities;
  if (authority === undefined || authorities.size > 1 || whyNot(authority) !== undefined) return answer;
  return { ...answer, source: { authority } };
};

const injectionsOf = async (
  declared: readonly Declared[],
  resources: readonly Resource[],
  bundles: readonly TrustBundle[],
  { source, injectionOf, takeOver }: ResolveOptions,
): Promise<Injections> => {
  if (injectionOf === undefined) return NOTHING;
  const authorities = new Set(
    resources.flatMap((resource) => (resource.kind === 'Authority' ? [idOf(resource)] : [])),
  );
  const around: Around = {
    leaves: new Map(
      resources.flatMap((resource): (readonly [string, Leaf])[] =>
        resource.kind === 'Leaf' ? [[idOf(resource), resource]] : [],
      ),
    ),
    whyNot: (id) => (authorities.has(id) ? undefined : whyNoAuthority(declared, id)),
    held: (place) => source.held(place),
  };
  return bundlesByAnnotation(
    (await Promise.all(INJECTABLE_PLURALS.map((plural) => source.all(plural)))).flat(),
    async (held) => {
      const wish = await injectionOf(held, around);
      const conflict = wish?.source === undefined ? undefined : conflictOf(held, takeOver);
      const answer = conflict === undefined ? wish : { refused: conflict, follow: wish?.follow };
      return stillInjected(held, answer, around);
    },
    injectedBy(bundles),
  );
};

const adoptedSecrets = ({ authorities }: Catalogue): ReadonlySet<ObjectId> =>
  new Set(
    [...authorities.values()].flatMap(({ metadata, spec }) =>
      spec.adopt?.secret === undefined ? [] : [`${metadata.namespace}/secrets/${spec.adopt.secret}`],
    ),
  );

/** Reads everything that is declared. A resource that cannot be read, or wants what another has, is left out and named. */
export async function resolveResources(
  declared: readonly Declared[],
  options: ResolveOptions,
): Promise<ResolvedResources> {
  const problems = new Map<string, string>();
  const uids = new Map<Resource, string>();
  for (const { uid, resource, problem } of [...declared].sort(oldestFirst)) {
    if (resource !== undefined) uids.set(await withNames(resource, options.select), uid);
    else if (problem !== undefined) problems.set(uid, problem);
  }
  const more = options.more?.();
  const own = [...uids.keys(), ...(more?.leaves ?? [])];
  const bundles = own.filter((resource) => resource.kind === 'TrustBundle');
  const injections = await injectionsOf(declared, own, bundles, options);
  const placements = new Map<Target, ObjectId>();
  const spread = more === undefined ? [] : await bundleOfConfigMaps(more, options, placements);
  const all = [...bundles, ...injections.bundles];
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
  const leafProblems = new Map(more?.problems);
  const catalogue = catalogueOf([...own, ...injections.bundles, ...spread], {
    namespaces: options.namespaces,
    place: (target) => placements.get(target),
    onConflict: (resource, problem) => {
      const uid = uids.get(resource);
      if (uid !== undefined) problems.set(uid, problem.message);
      else if (resource.kind === 'Leaf') leafProblems.set(idOf(resource), problem.message);
    },
  });
  for (const [name, taken] of catalogue.contested ?? [])
    absent.set(name, [...(absent.get(name) ?? []), ...[...taken].map(([target, why]) => ({ target, why }))]);
  return {
    catalogue: { ...catalogue, leftOut: leftOutOf(declared, problems) },
    declared,
    problems,
    absent,
    adoptable: consentIn(catalogue),
    signers,
    leafProblems,
    whole: new Set(more?.configMaps.map(idOfPlace)),
    sources: [
      ...all.flatMap((bundle) => sourcesOf(bundle, options.trustNamespace)),
      ...injections.follow,
      ...(more?.configMaps ?? []),
    ],
    adopted: adoptedSecrets(catalogue),
    gates: injections.follow,
    refusals: injections.refusals,
  };
}

/** Everything about a field object that decides whether and where something is injected. */
export const decisive = (held: ObjectProjection | undefined): string =>
  held === undefined
    ? ''
    : JSON.stringify([
        held.injectable,
        held.annotations,
        held.plural.endsWith('webhookconfigurations') ? Object.keys(held.data).length > 0 : true,
        held.keeper !== undefined && Object.keys(held.entries).length === 0,
      ]);

/** Everything about a source that decides whether something may be taken from it; what that is, is another matter. */
export const gateOf = (held: ObjectProjection | undefined, key: string): string =>
  held === undefined ? '' : JSON.stringify([held.annotations, certificatesUnder(held, key).why]);
