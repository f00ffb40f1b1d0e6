import type { EvidenceKind, Shown, Swap } from '@handover/core';
import type { Instant } from '@handover/material';
import { isMap } from '@handover/material';
import type { Asker } from './issued-entry.ts';

type By = EvidenceKind | 'none';

/** One step of an authority: when, why, on whose wish, and what opened the gate in front of it. */
export interface HistoryStep {
  readonly at: Instant;
  readonly step: Swap['kind'];
  /** The CA generations that it was about. */
  readonly generations: readonly number[];
  /** Of a distrust: the generation that signs from then on. */
  readonly replacement?: number;
  /** Id of the rotation. */
  readonly rotation?: string;
  /** On the step that somebody, or the schedule, asked for; the others follow from it. */
  readonly askedBy?: Asker;
  readonly why: string;
  /** The process that took it. */
  readonly takenBy?: string;
  /** What each consumer had shown; of more than 50 the first 50. Old steps keep the counts only. */
  readonly evidence?: readonly Shown[];
  /** How many consumers had shown it in which way, all of them. */
  readonly counts?: Readonly<Partial<Record<By, number>>>;
  readonly revision: number;
}

export const MOST_STEPS = 50;
/**
 * As JSON. An authority's state is one Secret of 1 MiB at most, and names of consumers come from whoever makes workloads: a
 * history must never be what keeps a step from being written.
 */
export const MOST_BYTES = 64 * 1024;
/** With the comma in front of it. */
const sizeOf = (step: HistoryStep): number => Buffer.byteLength(JSON.stringify(step)) + 1;

const withoutEvidence = ({ evidence: _, ...step }: HistoryStep): HistoryStep => step;

/** The newest steps that fit, oldest first. Evidence of the oldest goes first, then the oldest themselves. */
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
  'distrust',
  'distrust-done',
] satisfies readonly Swap['kind'][];

const isStep = (value: unknown): value is HistoryStep =>
  isMap(value) &&
  typeof value.at === 'number' &&
  STEPS.includes(value.step) &&
  Array.isArray(value.generations) &&
  typeof value.why === 'string' &&
  typeof value.revision === 'number' &&
  (value.evidence === undefined || (Array.isArray(value.evidence) && value.evidence.every(isMap))) &&
  (value.askedBy === undefined || isMap(value.askedBy));

/** From a state file. Nothing is decided on a history: what cannot be read is left out, and stops nothing. */
export const readHistory = (value: unknown): readonly HistoryStep[] =>
  Array.isArray(value) ? value.filter(isStep) : [];
