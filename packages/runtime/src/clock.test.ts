import { expect, test } from 'vitest';
import { systemClock } from './clock.ts';

test('a sleep ends when its signal aborts, before or during it, and does not throw', async () => {
  await systemClock.sleep(3_600_000, AbortSignal.abort());
  const stop = new AbortController();
  const slept = systemClock.sleep(3_600_000, stop.signal);
  stop.abort(new Error('stopped'));
  expect(await slept).toBeUndefined();
});

test('a sleep of no length, or less, ends at once', async () => {
  await systemClock.sleep(-1);
  await systemClock.sleep(0, new AbortController().signal);
});

test('a timer is called once, an interval until it is cancelled, and neither after that', async () => {
  const calls: string[] = [];
  systemClock.after(1, () => calls.push('cancelled')).cancel();
  await new Promise<void>((resolve) => {
    systemClock.after(1, () => calls.push('once'));
    const timer = systemClock.every(2, () => {
      calls.push('again');
      if (calls.filter((one) => one === 'again').length < 3) return;
      timer.cancel();
      resolve();
    });
  });
  await systemClock.sleep(10);
  expect(calls.sort()).toEqual(['again', 'again', 'again', 'once']);
});

test('a wait longer than timers can have does not end at once', () => {
  const timer = systemClock.after(2 ** 40, () => expect.unreachable());
  expect(systemClock.timeout(2 ** 40).aborted).toBe(false);
  timer.cancel();
});

test('the signal of a timeout aborts with a TimeoutError', async () => {
  const signal = systemClock.timeout(1);
  await new Promise((resolve) => void signal.addEventListener('abort', resolve));
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
});
