import type { Collector } from './collector.ts';
import type { Count } from './pod/tally.ts';

/** Calls in one direction, and the longest time in seconds in which none got through. */
export interface DirectionFigures extends Count {
  readonly gap: number;
}

/** What happened in every direction, over some time. */
export interface Figures {
  readonly seconds: number;
  readonly handshakes: number;
  readonly failed: number;
  /** Calls that were due and not made, because too many were under way. */
  readonly leftOut: number;
  readonly directions: Readonly<Record<string, DirectionFigures>>;
  /** The first reasons. */
  readonly reasons: readonly string[];
}

/**
 * Seconds that a direction may go without a successful call where a ready pod is always there. Calls come at least once a second, but
 * pods report once a second, and both are late on a busy machine.
 */
export const MOST_GAP = 20;

/** What traffic must have been: successful calls per second in each direction and in all, and the longest gap in seconds. */
export interface Least {
  readonly each: number;
  readonly inAll: number;
  readonly gap: number;
}

/** Directions with fewer calls, or a longer gap between two; the whole must have `inAll`. Empty: there was traffic all the time. */
export const tooQuiet = ({ directions, handshakes, seconds }: Figures, least: Least): readonly string[] => [
  ...Object.entries(directions)
    .filter(([, { ok }]) => ok === 0 || ok / seconds < least.each)
    .map(([name, { ok }]) => `${name}: ${ok} in ${seconds.toFixed(0)} s`),
  ...Object.entries(directions)
    .filter(([, { gap }]) => gap > least.gap)
    .map(([name, { gap }]) => `${name}: no call got through for ${gap.toFixed(0)} s`),
  ...(handshakes / seconds < least.inAll ? [`in all: ${handshakes} in ${seconds.toFixed(0)} s`] : []),
];

/** The longest gap of all directions, and calls that were not made. */
export const gaps = ({ directions, leftOut }: Figures): string => {
  const [name, longest] = Object.entries(directions).reduce(
    (most, [direction, { gap }]) => (gap > most[1] ? ([direction, gap] as const) : most),
    ['none', 0] as const as readonly [string, number],
  );
  return `longest gap ${longest.toFixed(1)} s (${name}), ${leftOut} calls left out`;
};

/** A row of docs/benchmarks/field.md. */
export const row = (what: string, { handshakes, failed, seconds }: Figures): string =>
  `| ${what} | ${handshakes} | ${failed} | ${seconds.toFixed(0)} | ${(handshakes / seconds).toFixed(0)} |`;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What pods reported while `work` ran. `directions`: all that there must be; without any call a direction has 0. */
export const during = async (
  collector: Collector,
  directions: readonly string[],
  work: () => Promise<unknown>,
): Promise<Figures> => {
  const [before, from, since] = [collector.totals(), performance.now(), new Date().toISOString()];
  await work();
  await pause(3_000); // for the last reports
  const after = collector.totals();
  const to = performance.now();
  const seconds = (to - from) / 1_000;
  const none: Count = { ok: 0, failed: 0, unreached: 0 };
  const counted = [...new Set([...directions, ...after.directions.keys()])].map((name) => {
    const [then, now] = [before.directions.get(name) ?? none, after.directions.get(name) ?? none];
    const less = (of: keyof Count): number => now[of] - then[of];
    const gap = collector.heard.longestGap(name, from, to);
    return [name, { ok: less('ok'), failed: less('failed'), unreached: less('unreached'), gap }] as const;
  });
  return {
    seconds,
    handshakes: after.handshakes - before.handshakes,
    failed: after.failed - before.failed,
    leftOut: after.skipped - before.skipped,
    directions: Object.fromEntries(counted),
    reasons: after.failures
      .filter(({ at }) => at >= since)
      .map(({ at, from: pod, target, kind, why }) => `${at} ${pod} → ${target}: ${kind} ${why}`),
  };
};

/** Every direction has had a call that got through. */
export const allHeard = (collector: Collector, directions: readonly string[]): boolean => {
  const { directions: seen } = collector.totals();
  return directions.every((name) => (seen.get(name)?.ok ?? 0) > 0);
};
