import type { Collector } from './collector.ts';
import type { Count } from './pod/tally.ts';

/** What happened in every direction, over some time. */
export interface Figures {
  readonly seconds: number;
  readonly handshakes: number;
  readonly failed: number;
  readonly directions: Readonly<Record<string, Count>>;
  /** The first reasons. */
  readonly reasons: readonly string[];
}

/** Directions with fewer successful calls per second than this; the whole must have `inAll`. Empty: there was traffic. */
export const tooQuiet = (
  { directions, handshakes, seconds }: Figures,
  least: { readonly each: number; readonly inAll: number },
): readonly string[] => [
  ...Object.entries(directions)
    .filter(([, { ok }]) => ok / seconds < least.each)
    .map(([name, { ok }]) => `${name}: ${ok} in ${seconds.toFixed(0)} s`),
  ...(handshakes / seconds < least.inAll ? [`in all: ${handshakes} in ${seconds.toFixed(0)} s`] : []),
];

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
  const seconds = (performance.now() - from) / 1_000;
  const none: Count = { ok: 0, failed: 0, unreached: 0 };
  const counted = [...new Set([...directions, ...after.directions.keys()])].map((name) => {
    const [then, now] = [before.directions.get(name) ?? none, after.directions.get(name) ?? none];
    const less = (of: keyof Count): number => now[of] - then[of];
    return [name, { ok: less('ok'), failed: less('failed'), unreached: less('unreached') }] as const;
  });
  return {
    seconds,
    handshakes: after.handshakes - before.handshakes,
    failed: after.failed - before.failed,
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
