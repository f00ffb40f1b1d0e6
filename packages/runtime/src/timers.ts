import { performance } from 'node:perf_hooks';
import * as timers from 'node:timers';

/**
 * Node's own timers, from the module: test runners replace the global ones (`useFakeTimers`), even before this package is imported,
 * and a reload must not wait for a test to move the clock.
 */
export const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate } = timers;

/** Milliseconds since the process began; does not jump with the wall clock. */
export const uptimeMs: () => number = performance.now.bind(performance);
