import { expect, test } from 'vitest';
import { ServerClock } from './clock.ts';

test('the server’s time counts on by the monotonic clock, and follows each answer', () => {
  let ms = 5_000;
  const clock = new ServerClock(() => ms);
  expect(clock.now()).toBeUndefined();
  const noon = Date.parse('2026-01-01T12:00:00Z');
  clock.see('Thu, 01 Jan 2026 12:00:00 GMT', 100);
  ms += 700;
  expect(clock.now()).toBe(noon + 700);
  // Whole seconds: the same second again is not a step back.
  clock.see('Thu, 01 Jan 2026 12:00:00 GMT', 100);
  expect(clock.now()).toBe(noon + 700);
  ms += 400;
  clock.see('Thu, 01 Jan 2026 12:00:05 GMT', 100);
  expect(clock.now()).toBe(noon + 5_000);
  clock.see('Thu, 01 Jan 2026 11:00:00 GMT', 100);
  expect(clock.now()).toBe(noon - 3_600_000);
  expect(clock.see('nonsense', 0)).toBeUndefined();
  expect(clock.see(undefined, 0)).toBeUndefined();
});

test('a slow answer, such as the end of a watch, does not turn the clock back', () => {
  let ms = 0;
  const clock = new ServerClock(() => ms);
  const noon = Date.parse('2026-01-01T12:00:00Z');
  clock.see('Thu, 01 Jan 2026 12:00:00 GMT', 10);
  ms += 25_000;
  clock.see('Thu, 01 Jan 2026 12:00:00 GMT', 25_000);
  expect(clock.now()).toBe(noon + 25_000);
  // The request left 3 seconds ago, and the Date is older: the server's clock was set back.
  clock.see('Thu, 01 Jan 2026 12:00:20 GMT', 3_000);
  expect(clock.now()).toBe(noon + 20_000);
});
