import type { Role } from '@handover/core';
import type { History } from '../document.ts';

export interface Bar {
  readonly role: Role;
  readonly from: number;
  readonly to: number;
  /** Shares of the width, 0–1. */
  readonly left: number;
  readonly width: number;
  readonly open: boolean;
  readonly known: 'state' | 'seen';
}

export interface Lane {
  readonly generation: number;
  readonly bars: readonly Bar[];
}

export interface Timeline {
  /** Newest first. */
  readonly lanes: readonly Lane[];
  readonly ticks: readonly { readonly at: number; readonly left: number }[];
}

const MOST_LANES = 7;
const TICK_APART = 0.12;
/** A short span stays visible beside years. */
const LEAST = 1;

/**
 * Years between rotations and seconds of rotation do not fit on one linear scale. The width of each span between two changes grows with
 * the logarithm of its length: the order is right, and lengths are written beside.
 */
const scaleOf = (times: readonly number[]): ((at: number) => number) => {
  const sorted = [...new Set(times)].sort((a, b) => a - b);
  const edges: number[] = [0];
  for (let i = 1; i < sorted.length; i++)
    edges.push(
      (edges[i - 1] ?? 0) + LEAST + Math.log2(1 + ((sorted[i] ?? 0) - (sorted[i - 1] ?? 0)) / 1_000),
    );
  const total = edges.at(-1) || 1;
  const places = new Map(sorted.map((time, index) => [time, (edges[index] ?? 0) / total]));
  return (at) => places.get(at) ?? 0;
};

export const timelineOf = ({ spans }: History, now: number): Timeline => {
  const generations = [...new Set(spans.map(({ generation }) => generation))]
    .sort((a, b) => b - a)
    .slice(0, MOST_LANES);
  const shown = spans
    .filter(({ generation }) => generations.includes(generation))
    .map((span) => {
      const from = Date.parse(span.from);
      return {
        ...span,
        from,
        to: span.to === null ? Math.max(now, from) : Date.parse(span.to),
        open: span.to === null,
      };
    });
  const place = scaleOf(shown.flatMap(({ from, to }) => [from, to]));
  const lanes = generations.map((generation) => ({
    generation,
    bars: shown
      .filter((span) => span.generation === generation)
      .map(
        ({ role, from, to, open, known }): Bar => ({
          role,
          from,
          to,
          left: place(from),
          width: place(to) - place(from),
          open,
          known,
        }),
      ),
  }));
  const ticks: { at: number; left: number }[] = [];
  for (const at of [...new Set(shown.map(({ from }) => from))].sort((a, b) => a - b)) {
    const left = place(at);
    if (left - (ticks.at(-1)?.left ?? -1) >= TICK_APART && left < 0.94) ticks.push({ at, left });
  }
  return { lanes, ticks };
};
