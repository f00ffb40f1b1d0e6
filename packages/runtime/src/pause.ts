import { setTimeout } from 'node:timers/promises';

/** Waits `ms` milliseconds, or less when `signal` aborts. Does not throw on abort. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(Math.max(0, ms), undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
