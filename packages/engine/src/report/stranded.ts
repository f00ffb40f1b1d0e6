import { ownBundleOf, profileObjectOf, secretOf, targetsOf } from '../snapshot/catalogue.ts';
import type { AuthorityId, ObjectId, ObjectRecord } from '../snapshot/home.ts';
import { fits, type SealKey } from '../snapshot/seal.ts';
import type { RecordedObject, Snapshot } from '../snapshot/snapshot.ts';
import type { Damage } from './damage.ts';

/** An object that an authority made and that no resource asks for any more. */
export interface Stranded extends Damage {
  readonly authorities: readonly AuthorityId[];
}

/** A record is a claim, and each name in one may cost a read of a state. */
const MOST_AUTHORITIES = 100;
/** Each is compared with every object that is asked for. */
const MOST_MOVED = 20;

const askedIn = ({ catalogue }: Pick<Snapshot, 'catalogue'>): ReadonlySet<ObjectId> => {
  const { authorities, leaves, trustBundles, tlsProfiles } = catalogue;
  return new Set([
    ...[...authorities.values()].map(ownBundleOf),
    ...leaves.map(secretOf),
    ...trustBundles.flatMap((bundle) => targetsOf(bundle, catalogue)),
    ...tlsProfiles.map(profileObjectOf),
  ]);
};

/** Whether a resource that is left out may ask for an object: what such a resource asks for is not known. */
const mayBeAskedFor = (
  { leftOut = [] }: Snapshot['catalogue'],
  object: ObjectId,
  makers: readonly AuthorityId[],
): boolean =>
  leftOut.some(({ kind, id }) => {
    if (kind === 'Authority') return makers.includes(id);
    // Only the object of a Leaf has no part of its own.
    return kind === 'TrustBundle'
      ? object.split('/').length > 3
      : object.startsWith(`${id.split('/', 1)[0]}/`);
  });

const makersOf = ({ revisions, issuedBy }: ObjectRecord): readonly AuthorityId[] => [
  ...new Set([...Object.keys(revisions), ...(issuedBy === undefined ? [] : [issuedBy])]),
];

/** Keys of the states that these objects say they were made from, declared or not. */
const sealKeysOf = async (
  snapshot: Snapshot,
  found: readonly RecordedObject[],
): Promise<ReadonlyMap<AuthorityId, SealKey>> => {
  const names = [...new Set(found.flatMap(({ record }) => makersOf(record)))].slice(0, MOST_AUTHORITIES);
  const keys = new Map<AuthorityId, SealKey>();
  for (const name of names) {
    // A state that cannot be read vouches for nothing, and a name in a claim need not be one.
    if (!/^[a-z0-9][-a-z0-9.]*\/[a-z0-9][-a-z0-9.]*$/.test(name)) continue;
    const record = await snapshot.authorities.load(name).catch(() => undefined);
    if (record !== undefined) keys.set(name, record.sealKey);
  }
  return keys;
};

/**
 * Objects that get no updates any more: an authority of this home made them, as its seal shows, and since then it was renamed or
 * removed, or asks for another object in their place. Programs may still read them.
 */
export async function strandedIn(snapshot: Snapshot, only?: AuthorityId): Promise<readonly Stranded[]> {
  const asked = askedIn(snapshot);
  const { authorities: declared } = snapshot.catalogue;
  const found = ((await snapshot.objects.recorded?.()) ?? []).filter(({ id, record }) => {
    const makers = makersOf(record);
    if (asked.has(id) || makers.length === 0 || mayBeAskedFor(snapshot.catalogue, id, makers)) return false;
    return only === undefined || makers.includes(only);
  });
  const keys = found.length === 0 ? new Map<AuthorityId, SealKey>() : await sealKeysOf(snapshot, found);
  const gone = found.filter((object) => fits(object.id, object, keys));
  const moved = found
    .filter((object) => !gone.includes(object))
    .slice(0, MOST_MOVED)
    .flatMap((object) => movedFrom(object, asked, keys));
  return [...moved, ...gone.map((object) => strandedBy(object, declared))].sort((a, b) =>
    a.object < b.object ? -1 : 1,
  );
}

/** A folder that a person renamed or copied: its seal is of another name. */
const movedFrom = (
  object: RecordedObject,
  asked: ReadonlySet<ObjectId>,
  keys: ReadonlyMap<AuthorityId, SealKey>,
): readonly Stranded[] => {
  const from = [...asked].find((id) => fits(id, object, keys));
  if (from === undefined) return [];
  const problem = `it is ${from} under another name, as its record shows, so that it gets no updates; move it back, or remove it once no program reads it`;
  return [{ object: object.id, authorities: makersOf(object.record), problem }];
};

const strandedBy = (
  { id, record }: RecordedObject,
  declared: Snapshot['catalogue']['authorities'],
): Stranded => {
  const authorities = makersOf(record);
  const gone = authorities.filter((maker) => !declared.has(maker));
  const why =
    gone.length === 0 ? 'no resource asks for it any more' : `no resource declares that Authority any more`;
  return {
    object: id,
    authorities,
    problem: `Authority ${gone[0] ?? authorities[0] ?? ''} made it, and ${why}, so that it gets no updates; ${remedy(gone[0])}`,
  };
};

const remedy = (gone: AuthorityId | undefined): string => {
  const again =
    gone === undefined
      ? 'ask for it again'
      : `if you renamed the Authority, take its old name again; else declare ${gone} again (--preset or -f for handover certgen)`;
  return `${again}, or remove it once no program reads it`;
};
