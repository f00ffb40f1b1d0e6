import { iso } from '@handover/material';
import type { HistoryStep } from './history.ts';

/** A step as status shows it. */
export type HistoryStatus = Omit<HistoryStep, 'at' | 'evidence'> & {
  readonly at: string;
  readonly evidence?: readonly {
    readonly consumer: string;
    readonly by: string;
    readonly at: string | null;
  }[];
};

export const historyOf = (history: readonly HistoryStep[] = []): readonly HistoryStatus[] =>
  history.map(({ at, evidence, ...rest }) => ({
    at: iso(at),
    ...rest,
    ...(evidence === undefined
      ? {}
      : {
          evidence: evidence.map(({ consumer, by, at: since }) => ({
            consumer,
            by,
            at: since === undefined ? null : iso(since),
          })),
        }),
  }));
