import type { Swap } from '@handover/core';
import type { Sight } from '../observe.ts';
import type { AuthorityId } from '../ports.ts';
import type { Asker } from './issued-entry.ts';

/** Something that was asked for. */
export type Asked =
  | { readonly kind: 'Leaf'; readonly id: string }
  | { readonly kind: 'Authority'; readonly id: string }
  | { readonly kind: 'rotate'; readonly authority: AuthorityId; readonly id: string }
  | { readonly kind: 'distrust'; readonly authority: AuthorityId; readonly generation: number };

/** What a home knows about who asked; `uid`: of the object that asks, where objects have one. */
export interface Known {
  readonly askedBy?: Asker | undefined;
  readonly uid?: string | undefined;
}

type Knows = ((asked: Asked) => Known) | undefined;

/** Who asked for a step of an authority. Undefined: a step that only goes on with what was asked for before. */
export const askerOfStep = (knows: Knows, { duties, seen }: Sight, swap: Swap): Asker | undefined => {
  switch (swap.kind) {
    case 'mint':
      return swap.as === 'current'
        ? { via: 'resource', ...knows?.({ kind: 'Authority', id: duties.id }).askedBy }
        : askerOfRotation(knows, duties.id, seen.rotate, swap.id);
    case 'distrust': {
      const [generation = 0] = swap.generations.filter((number) => seen.distrust.includes(number));
      return knows?.({ kind: 'distrust', authority: duties.id, generation }).askedBy ?? { via: 'request' };
    }
    case 'activate':
    case 'retire':
    case 'distrust-done':
      return undefined;
    default:
      return swap satisfies never;
  }
};

export const askerOfRotation = (
  knows: Knows,
  authority: AuthorityId,
  wished: readonly string[],
  id: string | undefined,
): Asker => {
  if (id === undefined || !wished.includes(id)) return { via: 'schedule' };
  return knows?.({ kind: 'rotate', authority, id }).askedBy ?? { via: 'request' };
};
