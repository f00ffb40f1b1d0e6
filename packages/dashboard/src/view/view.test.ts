import { iso } from '@handover/material';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AuthorityPart, History, TrustGrid } from '../document.ts';
import { type CalendarEntry, calendarOf } from './calendar.ts';
import { consumerRows, countRows, countWords, rowsInSight } from './consumers.ts';
import { cellWords, gridView, totalWords } from './grid.ts';
import { dueWords, headlineOf, stationsOf } from './headline.ts';
import { retainedWords } from './retained.ts';
import { timelineOf } from './timeline.ts';
import { counted, durationWords, few, shortName } from './words.ts';

const NOW = Date.UTC(2030, 5, 1, 12);
const part = (
  phase: string,
  roles: Readonly<Record<number, string>>,
  more: Partial<AuthorityPart> = {},
  blockedBy: AuthorityPart['status']['blockedBy'] = [],
): AuthorityPart => ({
  id: 'shop/mesh',
  status: {
    namespace: 'shop',
    name: 'mesh',
    phase,
    ready: true,
    notReady: [],
    generations: Object.entries(roles).map(([generation, role]) => ({
      generation: Number(generation),
      role,
      fingerprint: 'ab'.repeat(32),
      notBefore: iso(NOW),
      notAfter: iso(NOW + 86_400_000),
    })),
    bundleHash: undefined,
    blockedBy,
    leaves: [],
    consumers: ['b', 'a', 'c'].map((name) => ({
      name,
      kind: 'hot',
      evidence: 'acknowledged',
      stands: 'shown',
      shows: [],
      hash: null,
      at: iso(NOW),
    })),
    evidence: { shown: 3, assumed: 0, notNeeded: 0, none: 0 },
    restsOnTime: [],
    hooks: [],
    wakeAt: null,
    dueAt: null,
    expiring: null,
    notes: [],
    next: [],
  },
  trust: { step: null, presenters: [], verifiers: [], cells: [] },
  history: { watchedSince: iso(NOW), spans: [] },
  awaited: [],
  waits: [],
  ...more,
});

describe('When the next step is due', () => {
  const waits = [{ consumer: 'a', waitsFor: 'to reload', since: iso(NOW) }] as const;
  const at = (
    blockedBy: AuthorityPart['status']['blockedBy'],
    dueAt: string | null,
    wakeAt: string | null,
  ) => {
    const { status, ...rest } = part('Introducing', { 1: 'current', 2: 'next' }, {}, blockedBy);
    return dueWords({ ...rest, status: { ...status, dueAt, wakeAt } }, NOW);
  };

  test('The date of the next step is shown where time alone ends the wait, as `handover status` shows it', () => {
    expect(at(waits, iso(NOW + 150_000), iso(NOW + 10_000))).toBe('The next step is due in 2 min.');
  });

  test('The date of the next step is not shown for a renewal or a wait for a program; the next check is, if it is near', () => {
    expect(at([], iso(NOW + 150_000), iso(NOW + 10_000))).toBe('Handover checks again in 10 s.');
    expect(at(waits, null, iso(NOW + 10_000))).toBe('Handover checks again in 10 s.');
    expect(at(waits, null, iso(NOW + 86_400_000))).toBe('');
    expect(at(waits, null, null)).toBe('');
  });
});

test('A length of time is one number', () => {
  expect(
    [0, 999, 1_000, 61_000, 3_600_000, 90 * 86_400_000, 5 * 365 * 86_400_000].map(durationWords),
  ).toEqual(['0 s', '0 s', '1 s', '1 min', '1 h', '90 d', '5 y']);
});

test('Names on the page are short, numbers are legible, and lists end', () => {
  expect(shortName('demo/secrets/gateway')).toBe('gateway');
  expect(shortName('demo/configmaps/mesh-trust/ca.crt')).toBe('mesh-trust');
  expect(shortName('readers of demo/configmaps/mesh-trust/ca.crt')).toBe('readers of mesh-trust');
  expect(shortName('Deployment shop/gateway')).toBe('Deployment shop/gateway');
  expect(counted(1234567)).toBe('1\u202f234\u202f567');
  expect(few(['a', 'b', 'c'], 4)).toBe('a, b and c');
  expect(few(['a', 'b', 'c', 'd'], 2)).toBe('a, b and 2 more');
  expect(few([], 2)).toBe('');
});

test('The headline says which CA generation signs, which comes or goes, and what the next step waits for', () => {
  expect(headlineOf(part('Stable', { 3: 'current' }))).toEqual({
    tone: 'calm',
    line: 'CA generation 3 signs, and only it is trusted.',
    detail: 'Nothing blocks the next step.',
  });
  const waits = [{ consumer: 'orders', waitsFor: 'to load CA generation 4', since: iso(NOW) }];
  expect(headlineOf(part('Introducing', { 4: 'next', 3: 'current' }, {}, waits))).toMatchObject({
    tone: 'moving',
    line: 'CA generation 4 is being introduced; CA generation 3 still signs.',
    detail: 'Waiting for orders.',
  });
  expect(headlineOf(part('Activating', { 4: 'current', 3: 'previous' })).line).toBe(
    'CA generation 4 signs; CA generation 3 is still trusted.',
  );
  expect(headlineOf(part('Retiring', { 4: 'current', 2: 'distrusted' })).line).toContain('2 is distrusted');
});

describe('CAs that stay trusted without their keys', () => {
  const until = new Date(2031, 1, 15, 0, 5).toISOString();
  const retaining = (trustedFor: readonly string[]): AuthorityPart => {
    const { status, ...rest } = part('Stable', { 3: 'current', 2: 'retained' });
    const generations = status.generations.map((one) =>
      one.role === 'retained' ? { ...one, trustedUntil: until, trustedFor } : one,
    );
    return { ...rest, status: { ...status, generations } };
  };

  test('The headline does not say that only the current CA is trusted', () => {
    expect(headlineOf(retaining([])).line).toBe(
      'CA generation 3 signs; CA generation 2 stays trusted without its key.',
    );
    expect(headlineOf(part('Stable', { 4: 'current', 3: 'retained', 2: 'retained' })).line).toBe(
      'CA generation 4 signs; CA generations 2, 3 stay trusted without their keys.',
    );
  });

  test('The page names the workloads that a CA stays trusted for, each with its reason, and the latest day', () => {
    expect(retainedWords(retaining(['Deployment pay/api (restart pending)']), NOW)).toEqual([
      'CA generation 2 stays trusted without its key for Deployment pay/api (restart pending), until 2031-02-15 00:05 at the latest.',
    ]);
    const many = Array.from({ length: 9 }, (_, index) => `pay/secrets/${index} (holds no newer leaf)`);
    expect(retainedWords(retaining(many), NOW)[0]).toContain(
      'for pay/secrets/0 (holds no newer leaf), pay/secrets/1 (holds no newer leaf)',
    );
    expect(retainedWords(retaining(many), NOW)[0]).toContain(' and 3 more, until ');
  });

  test('The page says until when a CA stays trusted for which no workload is named, and nothing of CAs with their keys', () => {
    expect(retainedWords(retaining([]), NOW)).toEqual([
      'CA generation 2 stays trusted without its key until 2031-02-15 00:05 at the latest.',
    ]);
    expect(retainedWords(part('Activating', { 3: 'current', 2: 'previous' }), NOW)).toEqual([]);
  });
});

test('The headline is about trouble when a connection fails, and counts every such connection', () => {
  const trust: TrustGrid = {
    step: null,
    presenters: ['a', 'b', 'c'].map((name) => ({ name, group: 0 })),
    verifiers: [
      { name: 'a', group: 0 },
      { name: 'b', group: 1 },
    ],
    cells: [
      [
        { now: 'ok', next: null },
        { now: 'fails', next: null },
      ],
    ],
  };
  expect(headlineOf(part('Stable', { 1: 'current' }, { trust }))).toMatchObject({
    tone: 'trouble',
    detail: '3 connections fail now.',
  });
});

test('The steps of a rotation on the page are done, now or ahead', () => {
  expect(stationsOf(part('Activating', { 4: 'current', 3: 'previous' })).map(({ state }) => state)).toEqual([
    'done',
    'now',
    'ahead',
  ]);
  expect(stationsOf(part('Stable', { 4: 'current' }))).toEqual([]);
  expect(stationsOf(part('Retiring', { 4: 'current', 3: 'distrusted' }))).toEqual([]);
});

test('Consumers that the next step waits for come first, also objects that are no consumers', () => {
  const waits = [{ consumer: 'readers of x', waitsFor: 'to load CA generation 2', since: iso(NOW) }];
  const rows = consumerRows(
    part(
      'Introducing',
      { 2: 'next', 1: 'current' },
      { awaited: [{ name: 'c', waitsFor: ['to load CA generation 2'] }] },
      waits,
    ),
  );
  expect(rows.map(({ name }) => name)).toEqual(['c', 'readers of x', 'a', 'b']);
  expect(rows[0]).toMatchObject({ evidence: null, waitsFor: ['to load CA generation 2'] });
  expect(consumerRows(part('Stable', { 1: 'current' }), ' B ').map(({ name }) => name)).toEqual(['b']);
});

const promised = (): AuthorityPart => {
  const { status, ...rest } = part('Stable', { 1: 'current' });
  const consumers = status.consumers.map((one) =>
    one.name === 'b' ? { ...one, evidence: 'settled' as const, stands: 'assumed' as const } : one,
  );
  return { ...rest, status: { ...status, consumers } };
};

test('A promise is counted and drawn apart from what was shown', () => {
  const rows = consumerRows(promised());
  expect(rows.map(({ name, state }) => [name, state])).toEqual([
    ['a', 'shown'],
    ['b', 'assumed'],
    ['c', 'shown'],
  ]);
  expect(countWords(countRows(rows))).toBe('2 shown, 1 assumed');
  expect(totalWords({ ok: 36, assumed: 13, waits: 0, fails: 0 })).toBe('36 of 49 pairs verify, 13 assumed');
  expect(totalWords({ ok: 49, assumed: 0, waits: 0, fails: 0 })).toBe('all 49 pairs verify');
});

test('A consumer that serves a wrong certificate comes first, and the headline is about it', () => {
  const { status, ...rest } = part('Stable', { 1: 'current' });
  const wrong = {
    instance: 'c',
    state: 'expired',
    object: 'shop/secrets/c',
    generation: 1,
    names: ['c'],
    fingerprint: 'ab',
    notAfter: iso(NOW),
    reason: null,
    at: iso(NOW),
    since: iso(NOW),
    wrong: true,
    text: 'shows a certificate that expired',
  } as const;
  const consumers = status.consumers.map((one) => (one.name === 'c' ? { ...one, shows: [wrong] } : one));
  const shown = { ...rest, status: { ...status, consumers } };
  expect(consumerRows(shown)[0]).toMatchObject({ name: 'c', state: 'wrong', shows: wrong.text });
  expect(countWords(countRows(consumerRows(shown)))).toBe('1 wrong, 2 shown');
  expect(headlineOf(shown)).toMatchObject({ tone: 'trouble', detail: 'c shows a certificate that expired.' });
});

test('The list of consumers draws every row in sight, and never many more, at any scroll position', () => {
  fc.assert(
    fc.property(fc.nat(5_000), fc.nat(200_000), fc.integer({ min: 50, max: 2_000 }), (count, top, height) => {
      const row = 30;
      const { first, end } = rowsInSight(count, row, top, height);
      expect(first).toBeGreaterThanOrEqual(0);
      expect(end).toBeLessThanOrEqual(count);
      expect(end - first).toBeLessThanOrEqual(height / row + 18);
      for (const index of [Math.floor(top / row), Math.floor((top + height - 1) / row)])
        if (index < count) expect(first <= index && index < end).toBe(true);
    }),
  );
});

describe('The grid', () => {
  const grid = (size: number): TrustGrid => ({
    step: 'retire CA generation 1',
    presenters: Array.from({ length: size }, (_, n) => ({ name: `p${n}`, group: n % 2 })),
    verifiers: Array.from({ length: size }, (_, n) => ({ name: `v${n}`, group: 0 })),
    cells: [[{ now: 'ok', next: 'ok' }], [{ now: 'waits', next: 'fails', why: 'w', whyNext: 'n' }]],
  });

  test('The grid has a line for each of a few services, shares one among many equal ones, and counts every pair', () => {
    expect(gridView(grid(4)).rows.map(({ label }) => label)).toEqual(['p0', 'p1', 'p2', 'p3']);
    const many = gridView(grid(1_000));
    expect(many.rows.map(({ label, count }) => [label, count])).toEqual([
      ['p0 + 499', 500],
      ['p1 + 499', 500],
    ]);
    expect(many.totals).toEqual({ ok: 500_000, assumed: 0, waits: 500_000, fails: 0 });
  });

  test('The grid describes a square in words', () => {
    const { rows, columns, cell } = gridView(grid(2));
    const [, row] = rows;
    const [column] = columns;
    if (row === undefined || column === undefined) throw new Error('no line');
    expect(cellWords(row, column, cell(row, column), 'retire CA generation 1')).toBe(
      'p1 to v0: verifies, not confirmed (w). After this step (retire CA generation 1): would be refused (n).',
    );
  });
});

test('The timeline keeps order and bounds whatever the lengths: years of rest beside seconds of rotation', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 5 * 365 * 86_400_000 }), { minLength: 1, maxLength: 30 }),
      (lengths) => {
        let at = NOW - lengths.reduce((sum, length) => sum + length, 0);
        const spans = lengths.map((length, index): History['spans'][number] => {
          const from = at;
          at += length;
          const last = index === lengths.length - 1;
          return {
            generation: index + 1,
            role: 'current',
            from: iso(from),
            to: last ? null : iso(at),
            known: 'seen',
          };
        });
        const { lanes, ticks } = timelineOf({ watchedSince: iso(NOW), spans }, NOW);
        expect(lanes.length).toBeLessThanOrEqual(7);
        const bars = lanes.flatMap((lane) => lane.bars).sort((a, b) => a.from - b.from);
        let edge = 0;
        for (const { left, width } of bars) {
          expect(left).toBeCloseTo(edge, 6);
          expect(width).toBeGreaterThan(0);
          edge = left + width;
        }
        expect(edge).toBeCloseTo(1, 6);
        expect(
          ticks.every(({ left }, index) => index === 0 || left - (ticks[index - 1]?.left ?? 0) >= 0.12),
        ).toBe(true);
      },
    ),
  );
});

test('the calendar has every certificate in one place: a month, later, or over', () => {
  const at = (months: number): CalendarEntry => ({
    at: new Date(2030, 5 + months, 15).getTime(),
    kind: months > 12 ? 'ca' : 'leaf',
    name: `n${months}`,
    authority: 'a',
  });
  const { months, later, overdue, soonest } = calendarOf(
    [-1, 0, 1, 12, 13, 60].map(at),
    new Date(2030, 5, 1).getTime(),
  );
  expect(months).toHaveLength(13);
  expect(months.map(({ leaves }) => leaves)).toEqual([2, 1, ...Array(10).fill(0), 1]);
  expect(later).toEqual({ cas: 2, leaves: 0 });
  expect(overdue).toBe(1);
  expect(soonest[0]?.name).toBe('n-1');
});
