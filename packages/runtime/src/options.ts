import { type Clock, hour, minute, second } from '@handover/material';
import { mustKnowOptions } from './arguments.ts';
import { systemClock } from './clock.ts';
import { RuntimeError } from './error.ts';

/**
 * Milliseconds, or a text such as `'30s'`.
 *
 * @example
 * ```ts
 * import { openTrust, type Wait } from '@handover/runtime';
 *
 * const waitFor: Wait = '30s';
 * const trust = await openTrust('/etc/mesh/ca.crt', { waitFor });
 * ```
 */
export type Wait = number | `${number}ms` | `${number}s` | `${number}m` | `${number}h`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: second, m: minute, h: hour };

function millisecondsOf(name: string, wait: Wait): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(String(wait)) ?? [];
  const ms = typeof wait === 'number' ? wait : Number(amount) * (UNITS[unit ?? ''] ?? Number.NaN);
  if (ms >= 0 && ms < Number.POSITIVE_INFINITY) return ms;
  throw new RuntimeError(
    'OPTION_INVALID',
    `${name} must be milliseconds or a text such as '30s', got ${String(wait)}`,
  );
}

/** Leads from options to another clock than this machine's. For tests of this package: no published type has it. */
export const CLOCK: unique symbol = Symbol('clock');

export const clockIn = (options: object): Clock =>
  (options as { readonly [CLOCK]?: Clock })[CLOCK] ?? systemClock;

/**
 * How a file is followed. All durations in milliseconds.
 *
 * @example
 * ```ts
 * import { type FollowOptions, openTrust } from '@handover/runtime';
 *
 * const stop = new AbortController();
 * const options: FollowOptions = { signal: stop.signal, waitFor: '30s', pollMs: 10_000 };
 * const trust = await openTrust('/etc/mesh/ca.crt', options);
 * stop.abort();
 * ```
 */
export interface FollowOptions {
  /** Ends following: watches, timers and idle connections close; the last good material stays usable. */
  readonly signal?: AbortSignal | undefined;
  /** How long opening waits for files that are missing or cannot be used yet, such as `'30s'`. Default: not at all. */
  readonly waitFor?: Wait | undefined;
  /** Backstop for missed events, jittered by ±20 %. Default 60,000. */
  readonly pollMs?: number | undefined;
  /** Shortest time between two reports of the same failure. Default 60,000. */
  readonly warnMs?: number | undefined;
  /**
   * Ends a busy connection this long after the CA that accepted its peer was removed, such as 600,000. Default: never, it goes
   * on until its own end. No other change ends a connection that is in use.
   */
  readonly drainMs?: number | undefined;
}

export interface ResolvedFollowOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  readonly waitMs: number;
  readonly pollMs: number;
  readonly warnMs: number;
  /** Undefined: no change ends a connection that is in use. */
  readonly drainMs: number | undefined;
}

/** Longest wait of setTimeout: above it Node fires at once. */
const MAX_WAIT = 2 ** 31 - 1;

function wait(name: string, ms: number): number {
  if (!(ms > 0 && ms <= MAX_WAIT / 2)) {
    throw new RuntimeError('OPTION_INVALID', `${name} must be a number of milliseconds above 0, got ${ms}`);
  }
  return ms;
}

const NAMES = ['signal', 'waitFor', 'pollMs', 'warnMs', 'drainMs'] as const satisfies (keyof FollowOptions)[];

/** `where` and `more` are the caller's name and its further options, for messages. */
export function resolveFollowOptions(
  options: FollowOptions = {},
  where = 'options',
  more: readonly string[] = [],
): ResolvedFollowOptions {
  mustKnowOptions(options, where, [...NAMES, ...more]);
  const { signal } = options;
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw new RuntimeError('OPTION_INVALID', `${where}: signal must be an AbortSignal`);
  }
  return {
    clock: clockIn(options),
    signal,
    waitMs: millisecondsOf('waitFor', options.waitFor ?? 0),
    pollMs: wait('pollMs', options.pollMs ?? 60 * second),
    warnMs: wait('warnMs', options.warnMs ?? 60 * second),
    drainMs: options.drainMs === undefined ? undefined : wait('drainMs', options.drainMs),
  };
}
