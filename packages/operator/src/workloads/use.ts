import { type Labels, type ObjectId, type Responsibilities, selects } from '@handover/engine';
import { placeOf } from '../objects/place.ts';
import type { Pod } from './pods.ts';
import { type Reference, readsAll } from './references.ts';

/** What a pod reads of one authority. */
export interface Use {
  readonly presents: ReadonlySet<ObjectId>;
  readonly verifies: ReadonlySet<ObjectId>;
  readonly frozen: boolean;
}

/** Objects of an authority, by the API object that holds them. */
export type Managed = ReadonlyMap<string, readonly ManagedObject[]>;

/** An object, and which keys of it a pod that presents its leaf or trusts its bundle takes; `keys` undefined: all. */
interface ManagedObject {
  readonly id: ObjectId;
  readonly shows: (takes: (key: string) => boolean, keys: readonly string[] | undefined) => boolean;
  readonly trusts: (takes: (key: string) => boolean) => boolean;
}

const LEAF_KEYS = ['tls.crt', 'tls.key'];

/** What an authority keeps, and Secrets that no Leaf asks for any more. */
export const managedBy = (responsibilities: Responsibilities, issued: readonly ObjectId[]): Managed => {
  const found = new Map<string, ManagedObject[]>();
  const add = (id: ObjectId, leaf: boolean): void => {
    const { plural, namespace = '', name, part } = placeOf(id);
    const key = `${plural} ${namespace}/${name}`;
    const outputs = responsibilities.outputs.get(id) ?? [];
    const named = (trust: boolean): readonly string[] =>
      outputs.filter(({ content }) => (content === 'trust') === trust).map((output) => output.name);
    found.set(key, [
      ...(found.get(key) ?? []),
      {
        id,
        shows: (takes, keys) => {
          if (!leaf) return false;
          // Of a Secret that no Leaf asks for any more it is not known what else is in it: all but ca.crt may hold its leaf.
          if (!responsibilities.leaves.has(id)) return keys?.some((one) => one !== 'ca.crt') ?? true;
          return [...LEAF_KEYS, ...named(false)].some(takes);
        },
        trusts: (takes) => (leaf ? takes('ca.crt') : part === '' || takes(part)) || named(true).some(takes),
      },
    ]);
  };
  for (const id of new Set([...responsibilities.leaves.keys(), ...issued])) add(id, true);
  for (const id of responsibilities.bundles.keys()) add(id, false);
  return found;
};

/** A ClusterTrustBundle of the authority, for pods that read by signer and labels. */
export interface SignedBundle {
  readonly name: string;
  readonly labels: Labels;
}

/** A signer's bundles that this reads. */
const signedOf = (reference: Reference, signed: readonly SignedBundle[]): readonly string[] =>
  signed
    .filter(({ name, labels }) => {
      const { signer } = reference;
      return signer !== undefined && name.startsWith(reference.name) && selects(signer, labels);
    })
    .map(({ name }) => name);

/** What a pod reads of it; undefined: nothing. */
export const useOf = (
  { namespace, references }: Pick<Pod, 'namespace' | 'references'>,
  managed: Managed,
  signed: readonly SignedBundle[] = [],
): Use | undefined => {
  const presents = new Set<ObjectId>();
  const verifies = new Set<ObjectId>();
  let frozen = false;
  for (const reference of references) {
    const { plural, name, keys, frozen: once, signer } = reference;
    const home = plural === 'clustertrustbundles' ? '' : namespace;
    const names = signer === undefined ? [name] : signedOf(reference, signed);
    const objects = readsAll(reference)
      ? [...managed].flatMap(([key, all]) => (key.startsWith(`${plural} ${home}/`) ? all : []))
      : names.flatMap((one) => managed.get(`${plural} ${home}/${one}`) ?? []);
    for (const object of objects) {
      const takes = (key: string): boolean => keys === undefined || keys.includes(key);
      const shows = object.shows(takes, keys);
      const trusts = object.trusts(takes);
      if (shows) presents.add(object.id);
      if (trusts) verifies.add(object.id);
      frozen ||= once && (shows || trusts);
    }
  }
  return presents.size + verifies.size === 0 ? undefined : { presents, verifies, frozen };
};
