import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backoff, step, type WatchError, type WatchInput, type WatchState } from './watch-state.ts';

const run = (inputs: readonly WatchInput[], from: WatchState = { at: 'idle' }, random = 0): WatchState =>
  inputs.reduce((state, input) => step(state, input, random), from);

const start: WatchInput = { is: 'start', mode: 'stream' };
const failed = (trouble: WatchError): WatchInput => ({ is: 'failed', trouble });
const watching: WatchState = { at: 'watching', mode: 'stream', from: '7', failures: 0 };

describe('the states of a watch', () => {
  test('a watch lists, then watches from where the list ended, then from each event on', () => {
    const listed = run([start, { is: 'listed', version: '5' }]);
    expect(listed).toEqual({ at: 'watching', mode: 'stream', from: '5', failures: 0 });
    expect(run([{ is: 'progressed', version: '9' }], listed)).toMatchObject({ at: 'watching', from: '9' });
  });

  test('an ended watch continues where it stopped', () => {
    expect(run([{ is: 'ended', barren: false }], watching)).toEqual(watching);
    expect(run([{ is: 'ended', barren: true }], watching)).toMatchObject({
      at: 'waiting',
      next: { from: '7' },
    });
  });

  test('a watch whose version is gone lists again, at once the first time', () => {
    const once = run([failed({ kind: 'gone' })], watching);
    expect(once).toEqual({ at: 'listing', mode: 'stream', failures: 1 });
    expect(run([failed({ kind: 'gone' })], once)).toMatchObject({ at: 'waiting', next: { at: 'listing' } });
  });

  test('pages that expire twice are read in one answer, once', () => {
    const paged: WatchState = { at: 'listing', mode: 'pages', failures: 0 };
    const twice = run([failed({ kind: 'gone' }), failed({ kind: 'gone' }), { is: 'waited' }], paged);
    expect(twice).toMatchObject({ at: 'listing', mode: 'whole' });
    expect(run([{ is: 'listed', version: '1' }], twice)).toMatchObject({ at: 'watching', mode: 'pages' });
  });

  test('a server without streaming lists gets requests for pages from then on', () => {
    const pages = run([start, failed({ kind: 'unsupported' })]);
    expect(pages).toEqual({ at: 'listing', mode: 'pages', failures: 0 });
    expect(run([{ is: 'listed', version: '1' }, failed({ kind: 'gone' })], pages)).toMatchObject({
      mode: 'pages',
    });
  });

  test('a broken connection resumes from the last version, and retries every second at least', () => {
    let state: WatchState = watching;
    for (let i = 0; i < 50; i++) {
      state = step(state, failed({ kind: 'unreachable' }), 1);
      expect(state).toMatchObject({ at: 'waiting', next: { at: 'watching', from: '7' } });
      expect(state.at === 'waiting' && state.delay).toBeLessThanOrEqual(1_000);
      state = step(state, { is: 'waited' }, 1);
    }
  });

  test('waits after refusals grow to half a minute, or to what the server asks for', () => {
    const delays: number[] = [];
    let state: WatchState = watching;
    for (let i = 0; i < 12; i++) {
      state = step(state, failed({ kind: 'refused' }), 1);
      if (state.at === 'waiting') delays.push(state.delay);
      state = step(state, { is: 'waited' }, 1);
    }
    expect(delays).toEqual([...delays].sort((a, b) => a - b));
    expect(delays.at(-1)).toBe(30_000);
    expect(run([failed({ kind: 'refused', after: 40_000 })], watching)).toMatchObject({ delay: 40_000 });
    expect(run([{ is: 'progressed', version: '8' }], state)).toMatchObject({ failures: 0 });
  });

  test('the jitter of a wait keeps between half and all of the delay', () => {
    expect(backoff(3, 30_000, 0)).toBe(1_000);
    expect(backoff(3, 30_000, 1)).toBe(2_000);
  });

  const trouble: fc.Arbitrary<WatchError> = fc.oneof(
    fc.constantFrom<WatchError>(
      { kind: 'gone' },
      { kind: 'unsupported' },
      { kind: 'unreachable' },
      { kind: 'silent' },
    ),
    fc.record({ kind: fc.constant('refused' as const), after: fc.nat(60_000) }),
  );
  const input: fc.Arbitrary<WatchInput> = fc.oneof(
    fc.constantFrom<WatchInput>(
      { is: 'waited' },
      { is: 'ended', barren: true },
      { is: 'ended', barren: false },
    ),
    fc.nat(99).map((n): WatchInput => ({ is: 'listed', version: String(n) })),
    fc.nat(99).map((n): WatchInput => ({ is: 'progressed', version: String(n) })),
    trouble.map(failed),
  );

  test('no error is final: from every state, a healthy server leads back to watching', () => {
    fc.assert(
      fc.property(
        fc.array(input, { maxLength: 40 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (inputs, random) => {
          let state = run([start, ...inputs], { at: 'idle' }, random);
          for (let i = 0; i < 2 && state.at !== 'watching'; i++) {
            state = step(
              state,
              state.at === 'waiting' ? { is: 'waited' } : { is: 'listed', version: '5' },
              random,
            );
          }
          expect(['watching', 'listing']).toContain(state.at);
          state = step(state, { is: 'listed', version: '5' }, random);
          expect(state.at).toBe('watching');
        },
      ),
    );
  });

  test('a watch stops only when it is told to, and no input restarts a stopped one', () => {
    fc.assert(
      fc.property(fc.array(input, { maxLength: 20 }), fc.array(input, { maxLength: 20 }), (before, after) => {
        expect(run([start, ...before]).at).not.toBe('stopped');
        expect(run([start, ...before, { is: 'stop' }, ...after])).toEqual({ at: 'stopped' });
      }),
    );
  });
});
