import type { TrustBundle } from '@handover/core';
import {
  authorityRef,
  idOf,
  isStatic,
  type Key,
  keysOf,
  keyText,
  ownBundleOf,
  PLATFORM,
  platformObjectIn,
  profileObjectOf,
  type ResourceKey,
  secretOf,
  targetsOf,
  toldOfPlatform,
} from '@handover/engine';
import { type Plural, placeKey, placeOf } from '../objects/place.ts';
import { issuedLeaves, passwordSecrets } from '../resources/password-secrets.ts';
import { type ResolvedResources, sourcesOf } from '../resources/resolved-resources.ts';

const authorityKey = (id: string): ResourceKey => ({ kind: 'Authority', id });

const authoritiesOf = ({ spec }: TrustBundle): readonly ResourceKey[] =>
  spec.sources.flatMap(({ authority }) =>
    authority === undefined ? [] : [authorityKey(authorityRef(authority, 'default'))],
  );

/** The resources whose passes write a bundle: its authorities, or else the TrustBundle itself. */
const keepersOf = (bundle: TrustBundle): readonly ResourceKey[] =>
  isStatic(bundle) ? [{ kind: 'TrustBundle', id: bundle.metadata.name }] : authoritiesOf(bundle);

/** Keys by name, each once. */
class KeysBy<K extends Key> {
  readonly #keys = new Map<string, Map<string, K>>();

  add(name: string, key: K): void {
    const known = this.#keys.get(name) ?? new Map<string, K>();
    this.#keys.set(name, known.set(keyText(key), key));
  }

  of(name: string): readonly K[] {
    return [...(this.#keys.get(name)?.values() ?? [])];
  }
}

/** Which work an API object is the business of. */
export class WorkIndex {
  readonly keys: readonly Key[];
  readonly #byObject = new KeysBy<Key>();
  readonly #byState = new KeysBy<ResourceKey>();
  readonly #gates: ReadonlyMap<string, string>;

  /** `platform`: whether facts about it are kept at all. */
  constructor(
    { catalogue, gates }: Pick<ResolvedResources, 'catalogue' | 'gates'>,
    trustNamespace: string,
    platform: boolean,
  ) {
    this.#gates = new Map(gates.map((gate) => [placeKey(gate), gate.part]));
    const { authorities, trustBundles, tlsProfiles } = catalogue;
    const touches = (object: string, key: Key): void => this.#byObject.add(placeKey(placeOf(object)), key);
    for (const [id, authority] of authorities) {
      touches(ownBundleOf(authority), authorityKey(id));
      this.#byState.add(id, authorityKey(id));
    }
    for (const leaf of issuedLeaves(catalogue))
      touches(secretOf(leaf), authorityKey(authorityRef(leaf.spec.authority, leaf.metadata.namespace)));
    const told = platform ? toldOfPlatform(catalogue) : [];
    for (const namespace of told) touches(platformObjectIn(namespace), PLATFORM);
    for (const profile of tlsProfiles)
      touches(profileObjectOf(profile), { kind: 'TLSProfile', id: idOf(profile) });
    for (const bundle of trustBundles) {
      for (const key of keepersOf(bundle)) {
        for (const object of targetsOf(bundle, catalogue)) touches(object, key);
        for (const source of sourcesOf(bundle, trustNamespace)) this.#byObject.add(placeKey(source), key);
        for (const { id } of authoritiesOf(bundle)) this.#byState.add(id, key);
      }
    }
    for (const { place, key } of passwordSecrets(catalogue)) this.#byObject.add(placeKey(place), key);
    this.keys = [...(told.length === 0 ? [] : [PLATFORM]), ...keysOf(catalogue)];
  }

  /** Work that an object's change calls for. */
  of(plural: Plural, key: string): readonly Key[] {
    return this.#byObject.of(`${plural} ${key}`);
  }

  /** The key of an object that decides, by being there and by its annotations, what is injected; undefined: none does. */
  gate(plural: Plural, key: string): string | undefined {
    return this.#gates.get(`${plural} ${key}`);
  }

  /** Work that an authority's new state calls for: its own, and that of every authority that shares a bundle with it. */
  ofState(authority: string): readonly ResourceKey[] {
    return this.#byState.of(authority);
  }
}
