import type { EvidenceKind, RotationStep, Shown } from '@handover/core';
import { type Instant, isMap, iso } from '@handover/material';
import type { Asker } from './issued-entry.ts';

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

type By = EvidenceKind | 'none';

/** One step of an authority: when, why, at whose request, and which evidence opened its gate. */
export interface HistoryStep {
  readonly at: Instant;
  readonly step: RotationStep['kind'];
  /** The CA generations that the step changed. */
  readonly generations: readonly number[];
  /** For a distrust: the CA generation that signs from then on. */
  readonly replacement?: number;
  /** Id of the rotation. */
  readonly rotation?: string;
  /** Only on the step that a user or the schedule asked for; the other steps follow from it. */
  readonly askedBy?: Asker;
  readonly why: string;
  /** The process that took the step. */
  readonly takenBy?: string;
  /** What each consumer had shown, at most the first 50. Old steps keep only the counts. */
  readonly evidence?: readonly Shown[];
  /** The number of consumers by kind of evidence, over all consumers. */
  readonly counts?: Readonly<Partial<Record<By, number>>>;
  readonly revision: number;
}

export const MOST_STEPS = 50;
/**
 * As JSON. An authority's state is one Secret of at most 1 MiB, and users choose the names of consumers: a long history must
 * never stop the write of a step.
 */
export const MOST_BYTES = 64 * 1024;
/** With the comma in front of it. */
const sizeOf = (step: HistoryStep): number => Buffer.byteLength(JSON.stringify(step)) + 1;

const withoutEvidence = ({ evidence: _, ...step }: HistoryStep): HistoryStep => step;

/** The newest steps that fit, oldest first. Drops the evidence of the oldest steps first, then the steps. */
export const withStep = (
  history: readonly HistoryStep[] | undefined,
  step: HistoryStep,
): readonly HistoryStep[] => {
  const newestFirst = [...(history ?? []), step].slice(-MOST_STEPS).reverse();
  let left = MOST_BYTES - 1;
  const kept: HistoryStep[] = [];
  for (const bare of newestFirst.map(withoutEvidence)) {
    left -= sizeOf(bare);
    if (left >= 0) kept.push(bare);
  }
  for (const [index, bare] of kept.entries()) {
    const full = newestFirst[index] ?? bare;
    left -= sizeOf(full) - sizeOf(bare);
    if (left < 0) break;
    kept[index] = full;
  }
  return kept.reverse();
};

const STEPS: readonly unknown[] = [
  'mint',
  'activate',
  'retire',
  'drop',
  'distrust',
  'distrust-done',
] satisfies readonly RotationStep['kind'][];

const isStep = (value: unknown): value is HistoryStep =>
  isMap(value) &&
  typeof value.at === 'number' &&
  STEPS.includes(value.step) &&
  Array.isArray(value.generations) &&
  typeof value.why === 'string' &&
  typeof value.revision === 'number' &&
  (value.evidence === undefined || (Array.isArray(value.evidence) && value.evidence.every(isMap))) &&
  (value.askedBy === undefined || isMap(value.askedBy));

/** Reads the history of a state file. Nothing is decided on it, so unreadable steps are left out without an error. */
export const readHistory = (value: unknown): readonly HistoryStep[] =>
  Array.isArray(value) ? value.filter(isStep) : [];
