import { instant } from '@handover/material';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatRecord, type RecordEntries, type RecordEntry, readEntries } from './record.ts';

const entry = (at: number, more: Partial<RecordEntry['record']> = {}): RecordEntry => ({
  at: instant(at),
  record: {
    digest: 'd',
    revisions: { 'a/b': 3 },
    anchors: [
      { fingerprint: 'old', since: instant(1_000) },
      { fingerprint: 'new', since: instant(at) },
    ],
    changedAt: instant(at),
    ...more,
  },
});
const SENT = 100_000;
const read = (entries: RecordEntries, landed?: number): RecordEntries =>
  readEntries(formatRecord(entries, 'own'), landed === undefined ? undefined : instant(landed));

test('a write that landed late is dated by when it landed, rounded up: the API server cuts off up to a second', () => {
  const [found] = Object.values(read({ '': entry(SENT) }, 130_000));
  expect(found?.at).toBe(131_000);
  expect(found?.record.changedAt).toBe(131_000);
  expect(found?.record.anchors).toEqual([
    { fingerprint: 'old', since: 1_000 },
    { fingerprint: 'new', since: 131_000 },
  ]);
});

test('the leaf of a write that landed late is dated by when it landed', () => {
  const leaf = {
    fingerprint: 'f',
    issuer: 'i',
    chain: [],
    notBefore: instant(0),
    notAfter: instant(9e9),
    spec: 's',
    writtenAt: instant(SENT),
    issuerSince: instant(5_000),
    replacedOne: false,
    othersExpire: undefined,
  };
  const found = read({ '': entry(SENT, { leaf }) }, 130_000)['']?.record.leaf;
  expect(found?.writtenAt).toBe(131_000);
  expect(found?.issuerSince).toBe(5_000);
});

test('only the part that was written last is dated by the write', () => {
  const found = read({ a: entry(50_000), b: entry(SENT) }, 130_000);
  expect(found.a?.at).toBe(50_000);
  expect(found.b?.at).toBe(131_000);
});

test('a write keeps the date of its request if the API server gives none, or an earlier one', () => {
  expect(read({ '': entry(SENT) })['']).toEqual(entry(SENT));
  expect(read({ '': entry(SENT) }, SENT - 5_000)['']).toEqual(entry(SENT));
});

test('no part of a record is dated before its request', () => {
  const time = fc.integer({ min: 0, max: 1_000_000 });
  fc.assert(
    fc.property(time, time, time, (a, b, landed) => {
      const before: RecordEntries = { a: entry(a), b: entry(b) };
      const after = read(before, landed);
      for (const part of ['a', 'b']) {
        const [was, is] = [before[part], after[part]];
        if (was === undefined || is === undefined) throw new Error('a part is lost');
        expect(is.at).toBeGreaterThanOrEqual(was.at);
        is.record.anchors.forEach(({ since }, index) => {
          expect(since).toBeGreaterThanOrEqual(was.record.anchors[index]?.since ?? 0);
        });
      }
    }),
  );
});

test('a record that is damaged, of another format or of another program counts as none', () => {
  for (const text of [
    undefined,
    '',
    '{',
    'null',
    '[]',
    '{"format":2,"parts":{"":{}}}',
    '{"format":1,"parts":7}',
  ])
    expect(readEntries(text, instant(1))).toEqual({});
  expect(readEntries(JSON.stringify({ format: 2, parts: { '': entry(1) } }), undefined)).toEqual({});
  const half = JSON.stringify({ format: 1, parts: { good: entry(1), bad: { at: 'yesterday', record: {} } } });
  expect(Object.keys(readEntries(half, undefined))).toEqual(['good']);
});

test('reading a record from any text does not throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      readEntries(text, instant(1));
    }),
  );
});

test('reading a record from any JSON gives entries of the right form, or none', () => {
  const date = fc.oneof(fc.integer(), fc.double(), fc.constant(null), fc.string());
  const record = fc.record(
    {
      digest: fc.oneof(fc.string(), fc.constant(1)),
      changedAt: date,
      revisions: fc.oneof(fc.dictionary(fc.string(), fc.anything()), fc.constant([])),
      anchors: fc.array(fc.oneof(fc.constant(null), fc.record({ fingerprint: fc.anything(), since: date }))),
      leaf: fc.anything(),
      labels: fc.anything(),
    },
    { requiredKeys: ['digest', 'changedAt', 'revisions', 'anchors'] },
  );
  const entries = fc.dictionary(
    fc.string(),
    fc.record({ at: date, record, seal: fc.anything(), landed: date }),
  );
  fc.assert(
    fc.property(
      fc.oneof(entries, fc.anything()),
      fc.option(fc.integer(), { nil: undefined }),
      (parts, landed) => {
        const text = JSON.stringify({ format: 1, keptIn: 'x', parts });
        const found = readEntries(text, landed === undefined ? undefined : instant(landed));
        for (const entry of Object.values(found))
          expect(() => new Date(entry.record.changedAt).getTime()).not.toThrow();
        expect(() => formatRecord(found, 'own')).not.toThrow();
      },
    ),
    { numRuns: 300 },
  );
});

test('a record with null in place of an anchor counts as none', () => {
  const [part] = [{ ...entry(SENT), record: { ...entry(SENT).record, anchors: [null] } }];
  const text = JSON.stringify({ format: 1, keptIn: 'x', parts: { '': part } });
  expect(readEntries(text, instant(130_000))).toEqual({});
});

test('a record that is nested too deep to be written again counts as none', () => {
  const deep = `${'['.repeat(60_000)}${']'.repeat(60_000)}`;
  const plain = JSON.stringify(entry(SENT)).replace('"digest":"d"', `"digest":"d","x":${deep}`);
  const text = `{"format":1,"keptIn":"x","parts":{"":${plain.replace(/}$/, ',"seal":{"by":"a/b","mac":"m"}}')}}}`;
  expect(readEntries(text, instant(130_000))).toEqual({});
});
