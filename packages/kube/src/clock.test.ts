import { expect, test } from 'vitest';
import { ServerClock } from './clock.ts';

test('the server’s time goes on by the own monotonic clock, and follows each answer', () => {
  let ms = 5_000;
  const clock = new ServerClock(() => ms);
  expect([clock.now(), clock.last]).toEqual([undefined, undefined]);
  const noon = Date.parse('2026-01-01T12:00:00Z');
  clock.see('Thu, 01 Jan 2026 12:00:00 GMT');
  ms += 700;
  expect(clock.now()).toBe(noon + 700);
  // Whole seconds: the same one again is no step back.
  clock.see('Thu, 01 Jan 2026 12:00:00 GMT');
  expect(clock.now()).toBe(noon + 700);
  ms += 400;
  clock.see('Thu, 01 Jan 2026 12:00:05 GMT');
  expect(clock.now()).toBe(noon + 5_000);
  clock.see('Thu, 01 Jan 2026 11:00:00 GMT');
  expect(clock.now()).toBe(noon - 3_600_000);
  expect(clock.see('nonsense')).toBeUndefined();
  expect(clock.see(undefined)).toBeUndefined();
});
