import { performance } from 'node:perf_hooks';
import { clearInterval, clearTimeout, setInterval, setTimeout } from 'node:timers';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock, Instant } from '@handover/material';

/** setTimeout fires at once for anything longer. */
const LONGEST_MS = 2 ** 31 - 1;

const waitOf = (ms: number): number => Math.min(LONGEST_MS, Math.max(0, ms));

/**
 * This machine's time. Node's timers come from the module: test runners replace the global ones (`useFakeTimers`), even before this
 * package is imported, and a reload must not wait for a test to move the clock. A wait of more than 24 days ends after 24 days.
 */
export const systemClock: Clock = {
  now: () => Date.now() as Instant, // without instant(): the start of the command does not load `material`
  monotonic: performance.now.bind(performance), // bound here: fake timers replace the method
  async sleep(ms, signal) {
    try {
      await pause(waitOf(ms), undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  },
  after(ms, act) {
    const timer = setTimeout(act, waitOf(ms));
    return {
      cancel: () => clearTimeout(timer),
      refresh: () => void timer.refresh(),
      unref() {
        timer.unref();
        return this;
      },
    };
  },
  every(ms, act) {
    const timer = setInterval(act, waitOf(ms));
    return {
      cancel: () => clearInterval(timer),
      refresh: () => void timer.refresh(),
      unref() {
        timer.unref();
        return this;
      },
    };
  },
  timeout: (ms) => AbortSignal.timeout(waitOf(ms)),
};
