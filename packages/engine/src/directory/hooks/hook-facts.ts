import type { ObjectId, StoredObject } from '../../snapshot/home.ts';
import type { Hook } from '../../snapshot/hooks.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';

/** The generation that signed the leaf, or the newest that is trusted. */
const generationIn = async (
  snapshot: Snapshot,
  hook: Hook,
  stored: StoredObject | undefined,
): Promise<number | undefined> => {
  const [authority] = hook.authorities;
  const record = stored?.record;
  if (authority === undefined || record === undefined) return undefined;
  const state = (await snapshot.authorities.load(authority))?.state;
  const held =
    record.leaf === undefined
      ? new Set(record.anchors.map(({ fingerprint }) => fingerprint))
      : new Set([record.leaf.issuer]);
  const numbers = (state?.generations ?? [])
    .filter(({ anchors }) => anchors.some(({ fingerprint }) => held.has(fingerprint)))
    .map(({ number }) => number);
  return numbers.length === 0 ? undefined : Math.max(...numbers);
};

/** What the environment of a hook says, by variable. */
export async function hookFacts(
  snapshot: Snapshot,
  out: string,
  hook: Hook,
  objects: ReadonlyMap<ObjectId, StoredObject>,
  reason: string,
): Promise<Readonly<Record<string, string>>> {
  const [first = ''] = hook.objects;
  const [kind = '', name = ''] = hook.name.split(' ');
  const generation = await generationIn(snapshot, hook, objects.get(first));
  return {
    HANDOVER_REASON: reason,
    HANDOVER_DIRECTORY: `${out}/${first.split('/').slice(0, 3).join('/')}`,
    ...(kind === 'Leaf' ? { HANDOVER_LEAF: name } : {}),
    ...(kind === 'TrustBundle' ? { HANDOVER_BUNDLE: name } : {}),
    ...(hook.authorities.length === 0 ? {} : { HANDOVER_AUTHORITY: hook.authorities.join(' ') }),
    ...(generation === undefined ? {} : { HANDOVER_GENERATION: String(generation) }),
  };
}
