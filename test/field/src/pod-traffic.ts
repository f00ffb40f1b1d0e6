import { expect } from 'vitest';
import { until } from '../../../packages/operator/test/cluster/stage.ts';
import type { RotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import {
  allHeard,
  during,
  type Figures,
  gaps,
  type Least,
  MOST_GAP,
  row,
  tooQuiet,
} from '../../../packages/operator/test/rotation/traffic.ts';

const LONG = 900_000;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Prints a row of docs/benchmarks/field.md, and below it the longest gap and the first reasons of failures. */
export const show = (what: string, figures: Figures): void => {
  say(row(what, figures));
  say(`  ${gaps(figures)}`);
  for (const reason of figures.reasons.slice(0, 5)) say(`  ${reason}`);
};

/** No call failed, and there was traffic in every direction all the time. */
export const expectNoneFailed = (figures: Figures, least: Omit<Least, 'gap'>): void => {
  expect(figures).toMatchObject({ failed: 0, reasons: [] });
  expect(tooQuiet(figures, { ...least, gap: MOST_GAP })).toEqual([]);
};

/** The calls between the pods of a stage, in these directions. */
export class PodTraffic {
  readonly #collector: RotationStage['collector'];
  readonly #directions: readonly string[];

  constructor({ collector }: RotationStage, directions: readonly string[]) {
    this.#collector = collector;
    this.#directions = directions;
  }

  /** Lets the pods call each other, and waits until a call got through in every direction. */
  async start(): Promise<void> {
    this.#collector.go();
    await until(async () => allHeard(this.#collector, this.#directions), 'a call in every direction', LONG);
  }

  /** What happened while `work` ran, shown as `what`. */
  async during(what: string, work: () => Promise<unknown>): Promise<Figures> {
    const figures = await during(this.#collector, this.#directions, work);
    show(what, figures);
    return figures;
  }
}
