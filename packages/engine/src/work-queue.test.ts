import { duration, type Instant, instant } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { WorkQueue } from './index.ts';

const START = instant(1_000_000);

/** A queue whose clock moves only when it has to wait. */
const queueOf = (work: (key: string, now: Instant) => Promise<Instant | undefined>, random = () => 0) => {
  const clock = { now: START };
  const stop = new AbortController();
  const errors: { key: string; wait: number }[] = [];
  const queue = new WorkQueue({
    now: () => clock.now,
    random,
    leastBackoff: duration(2),
    mostBackoff: duration(16),
    work: (key) => work(key, clock.now),
    onError: (key, _error, retryAt) => {
      errors.push({ key, wait: retryAt - clock.now });
      clock.now = retryAt;
    },
  });
  return { queue, clock, stop, errors };
};

describe('The work queue', () => {
  test('does each key once however often it is asked for, and takes the earliest wish', async () => {
    const done: string[] = [];
    const { queue, stop } = queueOf(async (key) => {
      done.push(key);
      if (done.length === 2) stop.abort();
      return undefined;
    });
    queue.add('later', instant(START + 1));
    queue.add('a', instant(START + 5_000));
    queue.add('a', START);
    queue.add('a', instant(START + 9_000));
    queue.add('later', START);
    expect(queue.size).toBe(2);
    await queue.run(stop.signal);
    expect(done.sort()).toEqual(['a', 'later']);
  });

  test('backs off twice as long after each failure, up to the most, and starts afresh after success', async () => {
    let calls = 0;
    const { queue, stop, errors } = queueOf(async () => {
      if (++calls === 8) return instant(START);
      if (calls === 10) stop.abort();
      throw new Error('no');
    });
    queue.add('a');
    await queue.run(stop.signal);
    expect(errors.map(({ wait }) => wait)).toEqual([1, 2, 4, 8, 8, 8, 8, 1]);
  });

  test('spreads what comes back over half of the wait', async () => {
    let calls = 0;
    const { queue, stop, errors } = queueOf(
      async () => {
        if (++calls === 3) stop.abort();
        throw new Error('no');
      },
      () => 0.5,
    );
    queue.add('a');
    await queue.run(stop.signal);
    expect(errors.map(({ wait }) => wait)).toEqual([1.5, 3]);
  });

  test('ends at once when told to while it waits', async () => {
    const { queue, stop } = queueOf(async () => undefined);
    queue.add('a', instant(START + 3_600_000));
    const ended = queue.run(stop.signal);
    stop.abort();
    await ended;
    expect(queue.size).toBe(1);
  });

  test('wakes for a wish that comes while it waits for a later one', async () => {
    const done: string[] = [];
    const { queue, stop } = queueOf(async (key) => {
      done.push(key);
      stop.abort();
      return undefined;
    });
    queue.add('late', instant(START + 3_600_000));
    const ended = queue.run(stop.signal);
    queue.add('soon');
    await ended;
    expect(done).toEqual(['soon']);
  });
});
