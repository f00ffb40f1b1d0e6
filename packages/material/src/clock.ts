import type { Instant } from './time.ts';

/** A call that is due later. */
export interface Timer {
  cancel(): void;
  /** Begins its wait again. */
  refresh(): void;
  /** Does not keep the process alive. */
  unref(): this;
}

/**
 * Time as a port. Programs take `systemClock` of @handover/runtime, tests and the simulator a `VirtualClock`. Waits are in
 * milliseconds, by a clock that is never set.
 */
export interface Clock {
  /** What the wall clock shows. It may be set, ahead or back. */
  now(): Instant;
  /** Milliseconds that only count up, whatever happens to the wall clock. */
  monotonic(): number;
  /** Waits for `ms`, or less when `signal` aborts. Does not throw on abort. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `act` once, after `ms`. */
  after(ms: number, act: () => void): Timer;
  /** Calls `act` each `ms`. */
  every(ms: number, act: () => void): Timer;
  /** Aborts after `ms` with a TimeoutError, as `AbortSignal.timeout` does. */
  timeout(ms: number): AbortSignal;
}
