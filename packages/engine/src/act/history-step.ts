import { type RotationStep, type Shown, shownFor } from '@handover/core';
import type { Instant } from '@handover/material';
import type { HistoryStep } from '../ledger/history.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Observation } from '../observe/observe.ts';
import { askerOfStep } from './asker.ts';

const MOST_EVIDENCE = 50;
const MOST_NAME = 256;

const countsOf = (shown: readonly Shown[]): NonNullable<HistoryStep['counts']> => {
  const counts: { -readonly [By in Shown['by']]?: number } = {};
  for (const { by } of shown) counts[by] = (counts[by] ?? 0) + 1;
  return counts;
};

const cut = (text: string): string => (text.length <= MOST_NAME ? text : `${text.slice(0, MOST_NAME)}…`);

/** A step as it is remembered. */
export const stepOf = (
  observation: Observation,
  swap: RotationStep,
  at: Instant,
  ledger: Ledger | undefined,
): HistoryStep => {
  const { seen, responsibilities, now, record } = observation;
  const shown = shownFor(seen, responsibilities.policy, now, swap);
  const askedBy = askerOfStep(ledger && ((asked) => ledger.known(asked)), observation, swap);
  const rotation = swap.kind === 'mint' ? swap.id : record?.state.ids.at(-1);
  const replacement = swap.kind === 'distrust' ? swap.replacement?.generation : undefined;
  const isOfRotation = swap.kind === 'mint' || swap.kind === 'activate' || swap.kind === 'retire';
  return {
    at,
    step: swap.kind,
    generations: 'generations' in swap ? swap.generations : [swap.generation],
    ...(replacement === undefined ? {} : { replacement }),
    ...(rotation === undefined || !isOfRotation ? {} : { rotation }),
    ...(askedBy === undefined ? {} : { askedBy }),
    why: cut(swap.why),
    ...(ledger === undefined ? {} : { takenBy: cut(ledger.self) }),
    ...(shown.length === 0
      ? {}
      : {
          evidence: shown.slice(0, MOST_EVIDENCE).map((each) => ({ ...each, consumer: cut(each.consumer) })),
          counts: countsOf(shown),
        }),
    revision: swap.revision,
  };
};
