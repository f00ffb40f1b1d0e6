import { type Duration, duration } from '@handover/material';

// A month is 30 days and a year 365: lifetimes need no calendar, and the same text always means the same length.
const UNITS = [
  ['y', 31_536_000_000],
  ['mo', 2_592_000_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** Units from large to small, each at most once. RE2 too, since the API server applies it to custom resources. */
export const DURATION_PATTERN =
  /^([0-9]{1,9}y)?([0-9]{1,9}mo)?([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,9}s)?([0-9]{1,9}ms)?$/;

export const DURATION_HINT = 'write it like 30s, 10m, 36h, 90d, 18mo or 5y';

/** `1h30m` and the like, or undefined. */
export const parseDuration = (text: string): Duration | undefined => {
  const match = DURATION_PATTERN.exec(text);
  if (text === '' || match === null) return undefined;
  let total = 0;
  for (const [index, [, length]] of UNITS.entries())
    total += Number.parseInt(match[index + 1] ?? '0', 10) * length;
  return Number.isSafeInteger(total) ? duration(total) : undefined;
};

/** The shortest common way to write it: `5y`, `90d`, `36h`, `1h30m`. Reads back as the same length. */
export const formatDuration = (length: Duration): string => {
  if (length === 0) return '0s';
  // Whole years or whole days stand alone; days beside hours only from the third on, so that 36h stays 36h.
  const units = UNITS.filter(([unit, size]) => {
    if (unit === 'y') return length % size === 0;
    if (unit === 'mo') return false;
    if (unit === 'd') return length % size === 0 || length >= 3 * size;
    return true;
  });
  let rest: number = length;
  let text = '';
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) text += `${count}${unit}`;
  }
  return text;
};
