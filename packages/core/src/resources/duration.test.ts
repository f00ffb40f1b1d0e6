import { day, duration, hour, minute } from '@handover/material';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from './duration.ts';
import { parsePercent } from './fields.ts';

test.each([
  ['500ms', 500],
  ['20s', 20_000],
  ['3m', 3 * minute],
  ['10m', 10 * minute],
  ['1h30m', 90 * minute],
  ['36h', 36 * hour],
  ['90d', 90 * day],
  ['18mo', 540 * day],
  ['5y', 1825 * day],
  ['1m500ms', 60_500],
  ['0s', 0],
])('%s is a duration of %d ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  '',
  '3',
  '3 min',
  '3min',
  '-3m',
  '1.5h',
  '3M',
  'm',
  '30m1h',
  '1h1h',
  '9999999999s',
  '999999999y',
  ' 3m',
  '3m\n',
  '٣m',
])('%j is no duration', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test.each(['500ms', '20s', '3m', '1h30m', '36h', '3d5h', '90d', '5y', '0s'])(
  '%s is written as it was read',
  (text) => {
    expect(formatDuration(parseDuration(text) ?? duration(-1))).toBe(text);
  },
);

test('every duration reads back from its text', () => {
  fc.assert(
    fc.property(fc.nat({ max: 400 * 365 * day }), fc.constantFrom(1, 1000, minute, hour, day), (n, unit) => {
      const length = duration(Math.floor(n / unit) * unit);
      expect(parseDuration(formatDuration(length))).toBe(length);
    }),
  );
});

test('a percentage is a whole one from 1 to 99', () => {
  for (let percent = 1; percent < 100; percent++) expect(parsePercent(`${percent}%`)).toBe(percent / 100);
});

test.each(['0%', '100%', '80', '0.8', '08%', '-5%', '80 %', '66.6%', '%', ''])(
  '%j is no percentage',
  (text) => {
    expect(parsePercent(text)).toBeUndefined();
  },
);
