import type { Instant } from '@handover/material';
import {
  type Anchor,
  type AuthorityState,
  type Cross,
  crossPath,
  type Generation,
  generationOf,
  type IssuedElsewhere,
  type Needed,
  type Role,
  withRole,
} from './authority.ts';
import type { Clock } from './clock.ts';

/** The ways in which an authority changes. Each is one compare-and-swap, made before any write derived from it. */
export type Transition =
  | {
      readonly kind: 'mint';
      readonly generation: number;
      /** `current` only for the very first generation. */
      readonly as: 'current' | 'next';
      /** The rotation this belongs to; none for the very first generation. */
      readonly id: string | undefined;
      /** CAs in use that the owner adopts: they become the current generation. */
      readonly adopts: readonly [Anchor, ...Anchor[]] | undefined;
      /** The key of the adopted CA is known, so that it is generation `generation` itself and nothing is created. */
      readonly adoptsKey?: boolean;
      /** Until when leaves that they signed before may be in use. */
      readonly unseenUntil?: Instant;
      /** A `next` that never signed, because it is not valid yet: the new one takes its place. */
      readonly replaces?: number;
    }
  | { readonly kind: 'activate'; readonly generation: number; readonly crossBy: number | undefined }
  /** `retain`: its key is destroyed, and its certificate stays trusted for these leaves. */
  | { readonly kind: 'retire'; readonly generation: number; readonly retain?: Needed }
  /** A retained CA is no longer trusted. */
  | { readonly kind: 'drop'; readonly generation: number }
  /** The CA is about to sign leaves for other namespaces. Nothing is derived from it, so that the revision stays. */
  | { readonly kind: 'record-issuance'; readonly generation: number; readonly elsewhere: IssuedElsewhere }
  | {
      readonly kind: 'distrust';
      readonly generations: readonly number[];
      /** The generation that signs from now on, when the current one is among them. */
      readonly replacement:
        | { readonly generation: number; readonly minted: boolean; readonly crossBy: number | undefined }
        | undefined;
      /** How many distrusts there have been, where stamps show more than the state does. */
      readonly distrusts?: number;
    }
  | { readonly kind: 'distrust-done'; readonly generations: readonly number[] };

/** Keys and signatures for a transition: the actor makes them, not the planner. */
export interface Made {
  readonly at: Instant;
  readonly ca?: Anchor;
  readonly cross?: Pick<Cross, 'fingerprint' | 'notAfter'>;
}

const needed = <T>(value: T | undefined, what: string): T => {
  if (value === undefined) throw new TypeError(`transition without its ${what}`);
  return value;
};

/**
 * The authority after a transition. `revision` is the one to write; keys of generations that are no longer listed are
 * destroyed in the same write.
 */
export const applyTransition = (
  state: AuthorityState | undefined,
  transition: Transition,
  made: Made,
  revision: number,
): AuthorityState => {
  const next = (generations: readonly Generation[], more: Partial<AuthorityState> = {}): AuthorityState => ({
    ids: state?.ids ?? [],
    distrusts: state?.distrusts ?? 0,
    crosses: state?.crosses ?? [],
    lastGeneration: state?.lastGeneration ?? 0,
    ...more,
    revision,
    generations: [...generations].sort((a, b) => b.number - a.number),
  });
  const before = state?.generations ?? [];
  const as = (generation: Generation, role: Role): Generation => ({ ...generation, role, since: made.at });
  const minted = (number: number, role: Role): Generation => ({
    number,
    role,
    anchors: [needed(made.ca, 'certificate')],
    hasKey: true,
    since: made.at,
    // Known to be none; what a state does not say is not known.
    elsewhere: { objects: [] },
    namedInStamps: true,
  });
  const crossed = (of: number, by: number | undefined): readonly Cross[] => {
    const old = state?.crosses ?? [];
    if (by === undefined) return [];
    return crossPath([{ of, by, ...needed(made.cross, 'cross-certificate') }, ...old], of, before);
  };

  switch (transition.kind) {
    case 'mint': {
      const { generation, id, adopts, adoptsKey = false, unseenUntil } = transition;
      const number = adoptsKey ? generation : generation - 1;
      const adopted: readonly Generation[] =
        adopts === undefined
          ? []
          : [
              {
                number,
                role: 'current',
                anchors: adopts,
                hasKey: adoptsKey,
                since: made.at,
                namedInStamps: true,
                // What it signed before is in `unseenUntil`.
                ...(adoptsKey ? { adopted: true as const, elsewhere: { objects: [] } } : {}),
                ...(unseenUntil === undefined ? {} : { unseenUntil }),
              },
            ];
      const kept = before.filter((one) => one.number !== transition.replaces);
      return next([...kept, ...adopted, ...(adoptsKey ? [] : [minted(generation, transition.as)])], {
        lastGeneration: generation,
        ids: id === undefined ? (state?.ids ?? []) : [...(state?.ids ?? []), id],
      });
    }
    case 'activate':
      return next(
        before.map((generation) => {
          if (generation.number === transition.generation) return as(generation, 'current');
          return generation.role === 'current' ? as(generation, 'previous') : generation;
        }),
        { crosses: crossed(transition.generation, transition.crossBy) },
      );
    case 'retire': {
      const { generation: number, retain } = transition;
      if (retain === undefined) return next(before.filter((generation) => generation.number !== number));
      return next(before.map((one) => (one.number === number ? retained(one, retain, made.at) : one)));
    }
    case 'drop':
      return next(before.filter((generation) => generation.number !== transition.generation));
    case 'record-issuance':
      return next(
        before.map((one) =>
          one.number === transition.generation ? { ...one, elsewhere: transition.elsewhere } : one,
        ),
      );
    case 'distrust': {
      const { generations, replacement } = transition;
      const kept = before.map((generation) => {
        if (generations.includes(generation.number)) return as(generation, 'distrusted');
        return generation.number === replacement?.generation ? as(generation, 'current') : generation;
      });
      const distrusts = Math.max(state?.distrusts ?? 0, transition.distrusts ?? 0) + 1;
      if (replacement === undefined) return next(kept, { distrusts });
      return next(replacement.minted ? [...kept, minted(replacement.generation, 'current')] : kept, {
        distrusts,
        lastGeneration: Math.max(state?.lastGeneration ?? 0, replacement.generation),
        crosses: crossed(replacement.generation, replacement.crossBy),
      });
    }
    case 'distrust-done':
      return next(before.filter((generation) => !transition.generations.includes(generation.number)));
    default:
      return transition satisfies never;
  }
};

/** Without its key, and without what was remembered for the authority's own namespace. */
const retained = (
  { number, anchors, hasKey, namedInStamps, since }: Generation,
  needed: Needed,
  at: Instant,
): Generation => ({
  number,
  role: 'retained',
  anchors,
  hasKey: false,
  since: at,
  stoppedAt: since,
  // A key that was never here cannot be destroyed.
  ...(hasKey ? {} : { adopted: true as const }),
  ...(namedInStamps === undefined ? {} : { namedInStamps }),
  ...needed,
});

/** False for a CA that was created while the clock was ahead. An adopted one is taken as it is. */
export const isValidYet = ({ hasKey, anchors }: Generation, clock: Clock): boolean =>
  !hasKey || clock.reached(anchors[0].notBefore);

/** Peers refuse the signature of a CA that has expired or is not valid yet. */
export const vouches = (generation: Generation, clock: Clock): boolean =>
  generation.hasKey && isValidYet(generation, clock) && !clock.reached(generation.anchors[0].notAfter);

/** Numbers in stamps: after a restore from a backup they may be higher than those of the state. */
export interface Taken {
  readonly generation: number;
  readonly distrusts: number;
}

/** The distrust of these generations; undefined: none of them exists, or all are distrusted already. */
export const distrustOf = (
  state: AuthorityState,
  asked: readonly number[],
  clock: Clock,
  taken: Taken = { generation: 0, distrusts: 0 },
): Transition | undefined => {
  const found = new Set(
    asked.filter((number) => {
      const generation = generationOf(state, number);
      return generation !== undefined && generation.role !== 'distrusted';
    }),
  );
  if (found.size === 0) return undefined;
  // The cross-certificate X(g by h) makes verifiers that hold h accept g: h must go too, and whatever CA vouches for h, though h itself is gone.
  const reached = new Set(found);
  for (const { of, by } of state.crosses) {
    if (!reached.has(of)) continue;
    reached.add(by);
    const signer = generationOf(state, by);
    if (signer !== undefined && signer.role !== 'distrusted') found.add(by);
  }
  const generations = [...found].sort((a, b) => b - a);
  const current = withRole(state, 'current');
  if (current === undefined || !found.has(current.number)) {
    return { kind: 'distrust', generations, replacement: undefined, distrusts: taken.distrusts };
  }
  // A generation that every verifier holds cross-signs the replacement, so that late verifiers accept it: the previous one, if there is one.
  const voucher = [withRole(state, 'previous'), current].find((one) => one && vouches(one, clock));
  const waiting = withRole(state, 'next');
  const promoted = waiting !== undefined && !found.has(waiting.number) && isValidYet(waiting, clock);
  return {
    kind: 'distrust',
    generations,
    distrusts: taken.distrusts,
    replacement: {
      generation: promoted ? waiting.number : Math.max(state.lastGeneration, taken.generation) + 1,
      minted: !promoted,
      crossBy: voucher?.number,
    },
  };
};
