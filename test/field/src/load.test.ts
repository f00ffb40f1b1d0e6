import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Collector } from '../../../packages/operator/test/rotation/collector.ts';
import type { Count, Report } from '../../../packages/operator/test/rotation/pod/tally.ts';
import { during, type Figures, gaps, tooQuiet } from '../../../packages/operator/test/rotation/traffic.ts';
import { Load } from './load.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (seconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(seconds * 1_000);
/** Averages alone find nothing here. */
const LEAST = { each: 0.2, inAll: 1, gap: 20 };

describe('Calls of the test itself', () => {
  /** Two directions at one call a second, each from time 0; `call` says how those of the first end. */
  const started = (call: () => Promise<string | undefined>): Load => {
    const load = new Load(
      [
        { name: 'a → b', call },
        { name: 'b → a', call: async () => undefined },
      ],
      1,
    );
    load.start();
    return load;
  };

  test('a direction without a successful call for 25 s in the middle is named, though its average is good', async () => {
    let problem: string | undefined;
    const load = started(async () => problem);
    const figures = await load.during(async () => {
      await pass(30);
      problem = 'refused';
      await pass(25);
      problem = undefined;
      await pass(30);
    });
    expect(tooQuiet(figures, LEAST)).toEqual([
      expect.stringMatching(/^a → b: no call got through for 2[56] s$/),
    ]);
    expect(gaps(figures)).toMatch(/^longest gap 2[56]\.\d s \(a → b\), 0 calls left out$/);
    await load.stop();
  });

  test.each([
    ['before the first call', [25, 40]],
    ['after the last call', [40, 25]],
  ])('a gap without calls %s counts', async (_, [first = 0, second = 0]) => {
    let quiet = first < second;
    const load = started(async () => (quiet ? 'refused' : undefined));
    const figures = await load.during(async () => {
      await pass(first);
      quiet = !quiet;
      await pass(second);
    });
    expect(tooQuiet(figures, LEAST)).toEqual([
      expect.stringMatching(/^a → b: no call got through for 2[56] s$/),
    ]);
    await load.stop();
  });

  test('calls in every direction all the time are enough', async () => {
    const load = started(async () => undefined);
    const figures = await load.during(() => pass(60));
    expect(tooQuiet(figures, LEAST)).toEqual([]);
    expect(figures.directions['a → b']?.gap).toBeLessThan(3);
    await load.stop();
  });

  test('calls of the load that are left out, because too many hang, are counted', async () => {
    let end = (): void => {};
    const hanging = new Promise<undefined>((resolve) => {
      end = () => resolve(undefined);
    });
    const load = started(() => hanging);
    // The 30th fills the last place; from then on neither direction calls.
    await pass(30.5);
    const figures = await load.during(() => pass(30));
    expect(figures.leftOut).toBe(60);
    expect(tooQuiet(figures, LEAST)).toContain('b → a: no call got through for 30 s');
    end();
    await load.stop();
  });
});

describe('Calls that pods report', () => {
  const server = new EventEmitter();
  const count = (ok: number): Count => ({ ok, failed: 0, unreached: 0 });
  const report = (pod: string, ok: number, skipped = 0): void => {
    const body: Report = { pod, name: 'a', counts: { b: count(ok) }, skipped, failures: [], tried: {} };
    const request = Object.assign(new EventEmitter(), { setEncoding: () => request });
    const response = { setHeader: () => response, end: () => response };
    server.emit('request', request, response);
    request.emit('data', JSON.stringify(body));
    request.emit('end');
  };
  /** One report a second; `grows`: whether there was a successful call in that second. */
  const reports = async (pod: string, seconds: number, grows: boolean, from = 0): Promise<number> => {
    let ok = from;
    for (let second = 0; second < seconds; second++) {
      await pass(1);
      if (grows) ok += 10;
      report(pod, ok, second);
    }
    return ok;
  };
  const figuresOf = async (work: () => Promise<unknown>): Promise<Figures> => {
    let worked: Promise<unknown> = Promise.resolve();
    const figures = during(new Collector(server as unknown as Server), ['a → b'], () => {
      worked = work();
      return worked;
    });
    await worked;
    await pass(3);
    return figures;
  };
  afterEach(() => void server.removeAllListeners());

  test('a pod whose reports show no more calls for 25 s is named', async () => {
    const figures = await figuresOf(async () => {
      const ok = await reports('a-1', 40, true);
      await reports('a-1', 25, false, ok);
      await reports('a-1', 40, true, ok);
    });
    expect(tooQuiet(figures, LEAST)).toEqual([
      expect.stringMatching(/^a → b: no call got through for 2[56] s$/),
    ]);
    expect(figures.leftOut).toBe(39);
  });

  test('the next pod continues the direction of the pod before, from 0', async () => {
    const figures = await figuresOf(async () => {
      await reports('a-1', 40, true);
      await reports('a-2', 40, true);
    });
    expect(tooQuiet(figures, LEAST)).toEqual([]);
    expect(figures.directions['a → b']).toMatchObject({ ok: 800 });
    expect(figures.directions['a → b']?.gap).toBeLessThan(5);
  });

  test('a direction without any call is named, however short the time', async () => {
    const figures = await figuresOf(() => pass(5));
    expect(tooQuiet(figures, { each: 0, inAll: 0, gap: 20 })).toEqual(['a → b: 0 in 8 s']);
  });
});
