import type { RotationStep } from '@handover/core';
import type { Asker } from '../ledger/issued-entry.ts';
import type { Asked, Known } from '../ledger/ledger.ts';
import type { Observation } from '../observe/observe.ts';
import type { AuthorityId } from '../snapshot/home.ts';

type Knows = ((asked: Asked) => Known) | undefined;

/** Who asked for a step of an authority. Undefined: a step that only goes on with what was asked for before. */
export const askerOfStep = (
  knows: Knows,
  { responsibilities, seen }: Observation,
  swap: RotationStep,
): Asker | undefined => {
  switch (swap.kind) {
    case 'mint':
      return swap.as === 'current'
        ? { via: 'resource', ...knows?.({ kind: 'Authority', id: responsibilities.id }).askedBy }
        : askerOfRotation(knows, responsibilities.id, seen.rotate, swap.id);
    case 'distrust': {
      const [generation = 0] = swap.generations.filter((number) => seen.distrust.includes(number));
      return (
        knows?.({ kind: 'distrust', authority: responsibilities.id, generation }).askedBy ?? {
          via: 'request',
        }
      );
    }
    case 'activate':
    case 'retire':
    case 'drop':
    case 'distrust-done':
      return undefined;
    default:
      return swap satisfies never;
  }
};

const askerOfRotation = (
  knows: Knows,
  authority: AuthorityId,
  requested: readonly string[],
  id: string | undefined,
): Asker => {
  if (id === undefined || !requested.includes(id)) return { via: 'schedule' };
  return knows?.({ kind: 'rotate', authority, id }).askedBy ?? { via: 'request' };
};
