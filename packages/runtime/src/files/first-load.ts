import type { ResolvedFollowOptions } from '../options.ts';
import type { Outcome } from '../outcome.ts';

/** How often files that are awaited are looked for. */
const AWAIT_MS = 200;

/** Loads, and tries again for as long as the caller waits. */
export async function firstLoad(
  load: () => Promise<Outcome>,
  { clock, waitMs, signal }: ResolvedFollowOptions,
): Promise<Outcome> {
  const until = clock.monotonic() + waitMs;
  for (;;) {
    const outcome = await load();
    const left = until - clock.monotonic();
    if (!('error' in outcome) || left <= 0 || signal?.aborted) return outcome;
    await clock.sleep(Math.min(AWAIT_MS, left), signal);
  }
}
