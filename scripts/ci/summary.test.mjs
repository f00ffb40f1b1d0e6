import { expect, test } from 'vitest';
import { MOST_FLAKY, summaryOf } from './summary.mjs';

const record = (...tests) => tests.map((one) => `${JSON.stringify(one)}\n`).join('');
const passed = (test, ms = 10, flaky = false) => ({ tier: 'cluster', test, ms, state: 'passed', flaky });

test('the summary of a run names its slowest tests first, and no more than twenty', () => {
  const many = Array.from({ length: 30 }, (_, index) => passed(`a.test.ts › number ${index}`, index * 1000));
  const { lines, ok } = summaryOf(record(...many));
  expect(ok).toBe(true);
  expect(lines).toHaveLength(21);
  expect(lines.slice(0, 2)).toEqual([
    '=== the 20 slowest of 30 tests',
    '   29.0 s  cluster: a.test.ts › number 29',
  ]);
});

test('flaky tests of a run come last, and too many of them fail it', () => {
  const flaky = Array.from({ length: MOST_FLAKY }, (_, index) =>
    passed(`a.test.ts › number ${index}`, 1, true),
  );
  const few = summaryOf(record(passed('b.test.ts › well'), ...flaky));
  expect([few.ok, few.lines.at(-1)]).toEqual([true, `flaky: cluster: a.test.ts › number ${MOST_FLAKY - 1}`]);
  const { ok, lines } = summaryOf(record(...flaky, passed('c.test.ts › again', 1, true)));
  expect([ok, lines.at(-1)]).toEqual([false, expect.stringMatching(/^TOO_MANY_FLAKY: 4 tests/)]);
});

test('a run of which no test was recorded fails: which tests were flaky is not known', () => {
  expect(summaryOf('')).toMatchObject({
    lines: [expect.anything(), expect.stringMatching(/^NO_RECORD: /)],
    ok: false,
  });
});
