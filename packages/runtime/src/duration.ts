import { hour, minute, second } from '@handover/material';
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

export function millisecondsOf(name: string, wait: Wait): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(String(wait)) ?? [];
  const ms = typeof wait === 'number' ? wait : Number(amount) * (UNITS[unit ?? ''] ?? Number.NaN);
  if (ms >= 0 && ms < Number.POSITIVE_INFINITY) return ms;
  throw new RuntimeError(
    'OPTION_INVALID',
    `${name} must be milliseconds or a text such as '30s', got ${String(wait)}`,
  );
}
