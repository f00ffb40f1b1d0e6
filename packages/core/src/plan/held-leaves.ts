import type { ObjectSeen } from './observed.ts';

/** A leaf that lies in objects. */
interface HeldLeaf {
  /** The first object that holds it. */
  readonly object: string;
  /** The CAs that signed it, as its objects say. */
  readonly issuers: ReadonlySet<string>;
}

type Objects = ReadonlyMap<string, ObjectSeen>;

/** The objects of a plan never change: they are indexed once, or one leaf in a thousand Secrets would cost a million comparisons for each pod. */
const indexes = new WeakMap<Objects, ReadonlyMap<string, HeldLeaf>>();

const indexOf = (objects: Objects): ReadonlyMap<string, HeldLeaf> => {
  const index = new Map<string, HeldLeaf & { readonly issuers: Set<string> }>();
  for (const { id, leaf } of objects.values()) {
    if (leaf === undefined) continue;
    const known = index.get(leaf.fingerprint);
    if (known === undefined) index.set(leaf.fingerprint, { object: id, issuers: new Set([leaf.issuer]) });
    else known.issuers.add(leaf.issuer);
  }
  return index;
};

/** The leaf of this fingerprint; undefined: no object holds it. */
export const heldLeaf = (objects: Objects, fingerprint: string): HeldLeaf | undefined => {
  const index = indexes.get(objects) ?? indexOf(objects);
  indexes.set(objects, index);
  return index.get(fingerprint);
};
