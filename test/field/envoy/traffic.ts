import type { Collector } from '../../../packages/operator/test/rotation/collector.ts';
import type { Count, Figures } from '../src/load.ts';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What pods reported while `work` ran. `directions`: all that there must be; one that nobody called has 0. */
export const during = async (
  collector: Collector,
  directions: readonly string[],
  work: () => Promise<unknown>,
): Promise<Figures> => {
  const [before, from] = [collector.totals(), performance.now()];
  await work();
  await pause(3_000); // for the last reports
  const after = collector.totals();
  const seconds = (performance.now() - from) / 1_000;
  const none: Count = { ok: 0, failed: 0 };
  const counted = Object.fromEntries(
    [...new Set([...directions, ...after.directions.keys()])].map((name) => {
      const [then, now] = [before.directions.get(name) ?? none, after.directions.get(name) ?? none];
      return [name, { ok: now.ok - then.ok, failed: now.failed - then.failed }];
    }),
  );
  return {
    seconds,
    handshakes: after.handshakes - before.handshakes,
    failed: after.failed - before.failed,
    directions: counted,
    reasons: after.failures
      .slice(before.failures.length)
      .map(({ at, from: pod, target, kind, why }) => `${at} ${pod} → ${target}: ${kind} ${why}`),
  };
};

/** Every direction has had a call that got through. */
export const allHeard = (collector: Collector, directions: readonly string[]): boolean => {
  const { directions: seen } = collector.totals();
  return directions.every((name) => (seen.get(name)?.ok ?? 0) > 0);
};
