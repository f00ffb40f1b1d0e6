import type { Action, Swap } from '@handover/core';
import type { Landing } from './home.ts';
import type { Basis, Stage } from './stage.ts';

/** The thin adapter: acts one action of a plan out on the home. */
export const carryOut = (stage: Stage, action: Action, basis: Basis): Landing => {
  const { home } = stage;
  const { listing, authority, keys } = basis;
  switch (action.kind) {
    case 'stamp': {
      const seen = listing.consumers.find((consumer) => consumer.id === action.consumer);
      return stage.stamp(action.consumer, seen, action);
    }
    case 'write-bundle':
    case 'write-leaf': {
      const signer = action.kind === 'write-leaf' ? action.issue?.generation : undefined;
      const issuer = authority?.generations.find((item) => item.number === signer)?.anchors[0].fingerprint;
      if (issuer !== undefined && !keys.has(issuer)) throw new TypeError('a leaf by a key nobody has');
      const spec = listing.policy.leaves.find((leaf) => leaf.object === action.object)?.spec;
      const result = home.write(action, issuer, spec);
      if (result === 'landed') stage.wrote(action);
      return result;
    }
    default:
      return swap(stage, action, basis);
  }
};

const swap = (stage: Stage, action: Swap, { listing, keys }: Basis): Landing => {
  const { home, certificates, strategy } = stage;
  const before = home.authority;
  if (before?.revision !== action.expect) return 'conflict';
  const at = listing.now;
  const anchor = (number: number): string | undefined =>
    before?.generations.find((generation) => generation.number === number)?.anchors[0].fingerprint;
  const [minted, of, by] = ((): [number | undefined, number | undefined, number | undefined] => {
    if (action.kind === 'mint') return [action.generation, undefined, undefined];
    if (action.kind === 'activate') return [undefined, action.generation, action.crossBy];
    if (action.kind !== 'distrust' || action.replacement === undefined)
      return [undefined, undefined, undefined];
    const { generation, minted, crossBy } = action.replacement;
    return [minted ? generation : undefined, generation, crossBy];
  })();
  const ca = minted === undefined ? undefined : certificates.mintCa(minted, at, listing.policy.lifetime);
  const subject = of === undefined ? undefined : (ca?.fingerprint ?? anchor(of));
  const signer = by === undefined ? undefined : anchor(by);
  if (signer !== undefined && !keys.has(signer)) throw new TypeError('a cross by a key nobody has');
  const cross =
    subject === undefined || signer === undefined ? undefined : certificates.cross(subject, signer, at);
  const state = strategy.apply(
    before,
    action,
    { at, ...(ca === undefined ? {} : { ca }), ...(cross === undefined ? {} : { cross }) },
    action.revision,
  );
  const held = state.generations.filter((generation) => generation.hasKey);
  const result = home.swap(action.expect, state, new Set(held.map((item) => item.anchors[0].fingerprint)));
  if (result === 'landed') stage.swapped(before, action);
  return result;
};

/** A write that carries the version it rests on is safe to decide on a cache; a creation or a step is not. */
export const mayRestOnCache = (action: Action): boolean =>
  action.kind === 'stamp' ||
  ((action.kind === 'write-bundle' || action.kind === 'write-leaf') && action.expect !== undefined);

export const sameTarget = (a: Action, b: Action): boolean =>
  a.kind === b.kind &&
  ('object' in a && 'object' in b
    ? a.object === b.object
    : 'consumer' in a && 'consumer' in b
      ? a.consumer === b.consumer
      : true);

export const describe = (actions: readonly Action[]): string =>
  actions
    .slice(0, 6)
    .map((action) => {
      if (action.kind === 'stamp') return `stamp ${action.consumer} ${JSON.stringify(action.stamp)}`;
      if ('object' in action) {
        const issue = action.kind === 'write-leaf' ? action.issue : undefined;
        return `${action.kind} ${action.object} r${action.revision} (${action.anchors.length} CAs${
          issue === undefined ? '' : `, leaf of ${issue.generation}`
        }) because ${action.why}`;
      }
      return `${action.kind} r${action.revision} because ${action.why}`;
    })
    .join('; ');
