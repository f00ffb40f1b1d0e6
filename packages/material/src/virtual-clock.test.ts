import fc from 'fast-check';
import { expect, it } from 'vitest';
import { instant } from './time.ts';
import { VirtualClock } from './virtual-clock.ts';

it('a virtual clock makes the earliest call first, and of equals the one that was asked for first', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 60 }), (waits) => {
      const clock = new VirtualClock();
      const made: number[] = [];
      waits.forEach((wait, index) => {
        clock.after(wait, () => made.push(index));
      });
      while (clock.step());
      const expected = waits
        .map((wait, index) => ({ wait, index }))
        .sort((a, b) => a.wait - b.wait || a.index - b.index);
      expect(made).toEqual(expected.map(({ index }) => index));
    }),
  );
});

it('a virtual clock moves on to each call, and no further than it is told', () => {
  const clock = new VirtualClock(instant(1_000));
  const made: number[] = [];
  clock.after(30, () => made.push(clock.now()));
  expect(clock.next).toBe(30);
  expect(clock.step(20)).toBe(false);
  expect([clock.now(), clock.next]).toEqual([1_020, 10]);
  expect(clock.step(20)).toBe(true);
  expect([made, clock.now(), clock.next]).toEqual([[1_030], 1_030, undefined]);
  expect(clock.step()).toBe(false);
});

it('a virtual clock repeats a call until it is cancelled, also from within', () => {
  const clock = new VirtualClock();
  const made: number[] = [];
  const timer = clock.every(10, () => {
    made.push(clock.monotonic());
    if (made.length === 3) timer.cancel();
  });
  while (clock.step(100));
  expect(made).toEqual([10, 20, 30]);
});

it('a virtual clock makes no call that was cancelled', () => {
  const clock = new VirtualClock();
  const timer = clock.after(10, () => expect.unreachable());
  timer.unref().cancel();
  expect(clock.next).toBeUndefined();
});

it('a virtual clock is set without its timers noticing', () => {
  const clock = new VirtualClock(instant(1_000));
  clock.after(10, () => {});
  clock.set(instant(9_000));
  expect([clock.now(), clock.monotonic(), clock.next]).toEqual([9_000, 1_000, 10]);
});

it('a virtual clock makes the calls of a stall late, and all of them', () => {
  const clock = new VirtualClock();
  const made: number[] = [];
  for (const ms of [10, 20]) clock.after(ms, () => made.push(ms));
  clock.stall(50);
  expect([clock.monotonic(), clock.next, made]).toEqual([50, 0, []]);
  while (clock.step(0));
  expect([clock.monotonic(), made]).toEqual([50, [10, 20]]);
});

it('a virtual clock ends a sleep when its signal aborts, and leaves no timer behind', async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const slept = clock.sleep(1_000, stop.signal);
  stop.abort();
  await slept;
  await clock.sleep(1_000, stop.signal);
  expect([clock.monotonic(), clock.next]).toEqual([0, undefined]);
});

it('a virtual clock aborts a signal by its own time', () => {
  const clock = new VirtualClock();
  const signal = clock.timeout(50);
  clock.step(49);
  expect(signal.aborted).toBe(false);
  clock.step(1);
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
});
