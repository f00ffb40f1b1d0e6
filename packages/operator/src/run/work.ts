import type { TrustBundle } from '@handover/core';
import {
  authorityRef,
  idOf,
  isStatic,
  ownBundleOf,
  platformObjectIn,
  profileObjectOf,
  secretOf,
  targetsOf,
  toldOfPlatform,
} from '@handover/engine';
import { keyOf, type Place, placeOf } from '../objects/place.ts';
import { type ResolvedResources, sourcesOf } from '../resources/resolved-resources.ts';

/** What one pass is about. */
export type Work =
  | { readonly kind: 'Authority' | 'TrustBundle' | 'TLSProfile' | 'platform'; readonly id: string }
  /** Single bundles of other work. */
  | { readonly kind: 'Drift'; readonly id: string }
  | { readonly kind: 'resources' };

export const RESOURCES = 'resources';
/** Facts about the platform, wherever somebody wants to know them. */
export const PLATFORM = 'platform';
export const workKey = (kind: 'Authority' | 'TrustBundle' | 'TLSProfile', id: string): string =>
  `${kind} ${id}`;

/** Work on what has drifted under other work, which is named by its key. */
export const driftKey = (work: string): string => `Drift ${work}`;

export const workOf = (key: string): Work => {
  if (key === RESOURCES) return { kind: 'resources' };
  if (key === PLATFORM) return { kind: 'platform', id: '' };
  const [kind = ''] = key.split(' ', 1);
  if (kind !== 'Authority' && kind !== 'TrustBundle' && kind !== 'TLSProfile' && kind !== 'Drift')
    throw new TypeError(`no such work: ${key}`);
  return { kind, id: key.slice(kind.length + 1) };
};

/** Work that must not run side by side: of one authority, of one profile, of bundles without an authority. */
export const laneOf = (key: string): string => {
  const work = workOf(key);
  switch (work.kind) {
    case 'Drift':
      return laneOf(work.id);
    case 'Authority':
    case 'TLSProfile':
    case 'resources':
      return key;
    case 'TrustBundle':
    case 'platform':
      return 'cluster';
    default:
      return work satisfies never;
  }
};

/** On whose account work is done: a namespace, or the cluster. */
export const shareOf = (key: string): string => {
  const work = workOf(key);
  switch (work.kind) {
    case 'Drift':
      return shareOf(work.id);
    case 'Authority':
    case 'TLSProfile':
      return `namespace ${work.id.split('/', 1)[0]}`;
    case 'resources':
      return RESOURCES;
    case 'TrustBundle':
    case 'platform':
      return 'cluster';
    default:
      return work satisfies never;
  }
};

const authoritiesOf = ({ spec }: TrustBundle): readonly string[] =>
  spec.sources.flatMap(({ authority }) =>
    authority === undefined ? [] : [authorityRef(authority, 'default')],
  );

/** Who keeps a bundle: its authorities, or nobody but itself. */
const keepersOf = (bundle: TrustBundle): readonly string[] =>
  isStatic(bundle)
    ? [workKey('TrustBundle', bundle.metadata.name)]
    : authoritiesOf(bundle).map((id) => workKey('Authority', id));

const placeKey = (place: Pick<Place, 'plural' | 'namespace' | 'name'>): string =>
  `${place.plural} ${keyOf(place)}`;

/** Which work an API object is the business of. */
export class WorkIndex {
  readonly keys: readonly string[];
  readonly #byObject = new Map<string, Set<string>>();
  readonly #neighbours = new Map<string, Set<string>>();

  readonly #gates: ReadonlyMap<string, string>;

  /** `platform`: whether facts about it are kept at all. */
  constructor({ catalogue, gates }: ResolvedResources, trustNamespace: string, platform: boolean) {
    this.#gates = new Map(gates.map((gate) => [placeKey(gate), gate.part]));
    const { authorities, leaves, trustBundles, tlsProfiles } = catalogue;
    const touches = (place: Pick<Place, 'plural' | 'namespace' | 'name'>, key: string): void => {
      const known = this.#byObject.get(placeKey(place)) ?? new Set();
      this.#byObject.set(placeKey(place), known.add(key));
    };
    for (const authority of authorities.values())
      touches(placeOf(ownBundleOf(authority)), workKey('Authority', idOf(authority)));
    for (const leaf of leaves) {
      const authority = authorityRef(leaf.spec.authority, leaf.metadata.namespace);
      touches(placeOf(secretOf(leaf)), workKey('Authority', authority));
    }
    const told = platform ? toldOfPlatform(catalogue) : [];
    for (const namespace of told) touches(placeOf(platformObjectIn(namespace)), PLATFORM);
    for (const profile of tlsProfiles)
      touches(placeOf(profileObjectOf(profile)), workKey('TLSProfile', idOf(profile)));
    for (const bundle of trustBundles) {
      const keepers = keepersOf(bundle);
      for (const object of targetsOf(bundle, catalogue))
        for (const key of keepers) touches(placeOf(object), key);
      for (const source of sourcesOf(bundle, trustNamespace)) for (const key of keepers) touches(source, key);
      for (const id of authoritiesOf(bundle)) {
        const known = this.#neighbours.get(id) ?? new Set();
        for (const key of keepers) known.add(key);
        this.#neighbours.set(id, known);
      }
    }
    this.keys = [
      ...(told.length === 0 ? [] : [PLATFORM]),
      ...tlsProfiles.map((profile) => workKey('TLSProfile', idOf(profile))),
      ...trustBundles.filter(isStatic).map(({ metadata }) => workKey('TrustBundle', metadata.name)),
      ...[...authorities.keys()].map((id) => workKey('Authority', id)),
    ];
  }

  /** Work that an object's change calls for. */
  of(plural: string, key: string): Iterable<string> {
    return this.#byObject.get(`${plural} ${key}`) ?? [];
  }

  /** The key of an object that decides, by being there and by its annotations, what is injected; undefined: none does. */
  gate(plural: string, key: string): string | undefined {
    return this.#gates.get(`${plural} ${key}`);
  }

  /** Work that an authority's new state calls for: its own, and that of whoever shares a bundle with it. */
  ofState(authority: string): Iterable<string> {
    return new Set([workKey('Authority', authority), ...(this.#neighbours.get(authority) ?? [])]);
  }
}
