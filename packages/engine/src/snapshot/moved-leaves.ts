import { type Instant, isExpired, iso } from '@handover/material';
import { certificatesBesideJunk } from './beside-junk.ts';
import { type Catalogue, idOf, leftOutAuthority } from './catalogue.ts';
import type { AuthorityId, AuthorityRecord, ObjectId, StoredObject } from './home.ts';
import type { Responsibilities } from './responsibilities.ts';
import { trustedOf } from './shared-bundles.ts';
import { readableLeaf } from './stored-object.ts';

interface Asking {
  readonly responsibilities: Responsibilities;
  readonly record: AuthorityRecord | undefined;
  readonly catalogue: Catalogue;
  readonly now: Instant;
}

/**
 * The Authority that made a Secret whose certificates this one may not replace; undefined: it may. What the Secret says of its maker is a claim, and
 * refuses no more than the Leaf of that very Secret.
 */
const otherMaker = (
  { data, record: written, claim }: StoredObject,
  { responsibilities, record, catalogue, now }: Asking,
): AuthorityId | undefined => {
  const maker = written?.issuedBy ?? claim?.seal.by;
  if (maker === undefined || maker === responsibilities.id) return undefined;
  const cas = certificatesBesideJunk(data['ca.crt']).filter((one) => one.isCa && !isExpired(one, now));
  const [leaf] = readableLeaf(data)?.chain ?? [];
  if (cas.length === 0 && (leaf === undefined || isExpired(leaf, now))) return undefined;
  if (catalogue.authorities.has(maker) || leftOutAuthority(catalogue, maker) !== undefined) return maker;
  // A renamed Authority takes its CAs over by spec.adopt: then nothing that programs use goes.
  const own = new Set(record === undefined ? undefined : trustedOf(record).map((one) => one.fingerprint));
  return record === undefined || cas.every(({ fingerprint }) => own.has(fingerprint)) ? undefined : maker;
};

/**
 * The same duties, without Leaves whose Secrets another Authority made. To move such a Leaf would replace its certificate and its CAs in one write:
 * programs with the old CAs would refuse it, and it them. docs/decisions/0410
 */
export const withoutMovedLeaves = (
  asking: Asking,
  stored: ReadonlyMap<ObjectId, StoredObject>,
): Responsibilities => {
  const { id, leaves, outputs, policy, refused } = asking.responsibilities;
  const moved = new Map<ObjectId, { readonly leaf: string; readonly why: string }>();
  for (const [object, leaf] of leaves) {
    const found = stored.get(object);
    const maker = found && otherMaker(found, asking);
    if (found !== undefined && maker !== undefined)
      moved.set(object, { leaf: idOf(leaf), why: whyNot(id, maker, found) });
  }
  if (moved.size === 0) return asking.responsibilities;
  const stay = <T>(entries: ReadonlyMap<ObjectId, T>): ReadonlyMap<ObjectId, T> =>
    new Map([...entries].filter(([object]) => !moved.has(object)));
  return {
    ...asking.responsibilities,
    leaves: stay(leaves),
    outputs: stay(outputs),
    policy: { ...policy, leaves: policy.leaves.filter(({ object }) => !moved.has(object)) },
    refused: [...refused, ...moved.values()],
  };
};

const whyNot = (id: AuthorityId, maker: AuthorityId, { data }: StoredObject): string => {
  const end = readableLeaf(data)?.chain[0].notAfter;
  const until = end === undefined ? '' : `, which is not renewed and ends at ${iso(end)}`;
  return `LEAF_MOVED: its Secret holds a certificate of Authority ${maker}${until}; take spec.authority ${maker} again, or ask ${id} by a Leaf with another secretName, or delete the Secret`;
};
