/**
 * The timers of Node, as they are when this package is imported. Test runners replace the global ones (`useFakeTimers`), and a
 * reload must not wait for a test to move the clock.
 */
export const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate } = globalThis;

/** Milliseconds since the process began; does not jump with the wall clock. */
export const uptimeMs: () => number = performance.now.bind(performance);
