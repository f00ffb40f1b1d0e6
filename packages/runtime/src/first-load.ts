import type { ResolvedFollowOptions } from './options.ts';
import type { Outcome } from './outcome.ts';
import { clearTimeout, setTimeout, uptimeMs } from './timers.ts';

/** How often files that are awaited are looked for. */
const AWAIT_MS = 200;

const sleep = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });

/** Loads, and tries again for as long as the caller waits. */
export async function firstLoad(
  load: () => Promise<Outcome>,
  { waitMs, signal }: ResolvedFollowOptions,
): Promise<Outcome> {
  const until = uptimeMs() + waitMs;
  for (;;) {
    const outcome = await load();
    const left = until - uptimeMs();
    if (!('error' in outcome) || left <= 0 || signal?.aborted) return outcome;
    await sleep(Math.min(AWAIT_MS, left), signal);
  }
}
