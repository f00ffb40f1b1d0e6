import { duration, type Instant, instant, VirtualClock } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { WorkQueue } from '../index.ts';

const START = instant(1_000_000);

/** A queue whose clock moves only when the queue has to wait. */
const queueOf = (work: (key: string, now: Instant) => Promise<Instant | undefined>, random = () => 0) => {
  const clock = new VirtualClock(START);
  const stop = new AbortController();
  const errors: { key: string; wait: number }[] = [];
  const queue = new WorkQueue({
    clock,
    now: () => clock.now(),
    random,
    leastBackoff: duration(2),
    mostBackoff: duration(16),
    work: (key) => work(key, clock.now()),
    onError: (key, _error, retryAt) => {
      errors.push({ key, wait: retryAt - clock.now() });
      clock.set(retryAt);
    },
  });
  return { queue, clock, stop, errors };
};

describe('The work queue', () => {
  test('The work queue works on each key once, however often it was added, at the earliest time asked for', async () => {
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

  test('The work queue doubles the wait after each failure, up to the maximum, and starts over after a success', async () => {
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

  test('The work queue spreads retries over half of the wait', async () => {
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

  test('The work queue ends at once when it is stopped while it waits', async () => {
    const { queue, stop } = queueOf(async () => undefined);
    queue.add('a', instant(START + 3_600_000));
    const ended = queue.run(stop.signal);
    stop.abort();
    await ended;
    expect(queue.size).toBe(1);
  });

  test('The work queue wakes for an earlier key while it waits for a later one', async () => {
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

  /** A queue with several places; each work lasts until `end`. */
  const shared = () => {
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const stop = new AbortController();
    const queue = new WorkQueue({
      clock: new VirtualClock(START),
      now: () => START,
      random: () => 0,
      onError: () => {},
      laneOf: (key) => key.replace(/^drift /, ''),
      shareOf: (key) => key.replace(/^drift /, '').split('/')[0] ?? '',
      limits: { inAll: 4, each: 2 },
      work: async (key) => {
        begun.push(key);
        await new Promise<void>((resolve) => ends.set(key, resolve));
        return undefined;
      },
    });
    const end = async (key: string): Promise<void> => {
      ends.get(key)?.();
      await new Promise(setImmediate);
    };
    const ended = queue.run(stop.signal);
    return { queue, begun, end, ended, stop };
  };

  test('The work queue works on the authorities of one namespace while slow work holds every place of another', async () => {
    const { queue, begun, end, ended, stop } = shared();
    for (const name of ['evil/a', 'evil/b', 'evil/c', 'evil/d', 'prod/mesh']) queue.add(name);
    await new Promise(setImmediate);
    expect(begun).toEqual(['evil/a', 'prod/mesh', 'evil/b']);
    await end('prod/mesh');
    queue.add('prod/mesh');
    await new Promise(setImmediate);
    expect(begun.slice(3)).toEqual(['prod/mesh']);
    stop.abort();
    for (const name of ['evil/a', 'evil/b', 'prod/mesh']) await end(name);
    await ended;
  });

  test('The work queue never works on one lane twice at once, and afterwards does what was added meanwhile', async () => {
    const { queue, begun, end, ended, stop } = shared();
    queue.add('prod/mesh');
    await new Promise(setImmediate);
    queue.add('prod/mesh');
    queue.add('drift prod/mesh');
    await new Promise(setImmediate);
    expect(begun).toEqual(['prod/mesh']);
    await end('prod/mesh');
    expect(begun).toHaveLength(2);
    await end('prod/mesh');
    await end('drift prod/mesh');
    expect(begun).toHaveLength(3);
    stop.abort();
    await end('prod/mesh');
    await end('drift prod/mesh');
    await ended;
  });

  test('The work queue ends only when all work in progress has ended', async () => {
    const { queue, end, ended, stop } = shared();
    queue.add('a/a');
    queue.add('b/b');
    await new Promise(setImmediate);
    stop.abort();
    let over = false;
    void ended.then(() => {
      over = true;
    });
    await end('a/a');
    expect(over).toBe(false);
    await end('b/b');
    await ended;
  });

  test('The work queue waits with 200,000 keys that are due later, and works on one that is due', async () => {
    const stop = new AbortController();
    const done: string[] = [];
    const queue = new WorkQueue({
      clock: new VirtualClock(START),
      now: () => START,
      random: () => 0,
      work: async (key) => {
        done.push(key);
        stop.abort();
        return undefined;
      },
      onError: () => {},
    });
    for (let index = 0; index < 200_000; index++) queue.add(`later ${index}`, instant(START + 60_000));
    const ended = queue.run(stop.signal);
    queue.add('now');
    await ended;
    expect(done).toEqual(['now']);
  });

  test('The work queue ends with the error of an onError that throws', async () => {
    const queue = new WorkQueue({
      clock: new VirtualClock(START),
      now: () => START,
      random: () => 0,
      work: () => Promise.reject(new Error('no')),
      onError: () => {
        throw new Error('deaf');
      },
    });
    queue.add('a');
    await expect(queue.run(new AbortController().signal)).rejects.toThrow('deaf');
  });
});
