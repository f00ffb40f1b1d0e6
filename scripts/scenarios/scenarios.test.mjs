import { expect, test } from 'vitest';
import { SCENARIOS } from './list.mjs';
import { against, namesIn, page, problems } from './scenarios.mjs';

const all = (without) =>
  Object.keys(SCENARIOS)
    .filter((id) => id !== without)
    .map((id) => ({ ids: [id], name: 'proved', file: 'packages/x/src/x.test.ts', against: 'Envoy' }));

test('names of tests begin with ids, in a call, in a table and in each quote', () => {
  const text =
    "test('S0.1 one: it\\'s so', …); ['S0.2 two', 1]; test.each(x)(\"S1.3: it's %s\"); test(`S3.4 and S3.9 both`)";
  expect(namesIn(text)).toEqual([
    { ids: ['S0.1'], name: "one: it's so" },
    { ids: ['S0.2'], name: 'two' },
    { ids: ['S1.3'], name: "it's %s" },
    { ids: ['S3.4', 'S3.9'], name: 'both' },
  ]);
});

test('names of tests may have the incident in the group and the number in the test', () => {
  const text =
    "describe.each(ALL)('S2 over $name', () => {\n test('2 and 8: both', …); test('3 things', …) });";
  expect(namesIn(text)).toEqual([{ ids: ['S2.2', 'S2.8'], name: 'both' }]);
});

test('names of tests may stand in a test of a table, on the next line too', () => {
  const text =
    "describe('S2 by itself', () => {\n test.each(ALL)('2: two', …); test.each(\n    ALL,\n  )(\n    '1: one',\n …) });";
  expect(namesIn(text)).toEqual([
    { ids: ['S2.2'], name: 'two' },
    { ids: ['S2.1'], name: 'one' },
  ]);
});

test('names of tests are not comments, nor texts that mention an id further on', () => {
  expect(namesIn("// S0.1 is elsewhere\ntest('as S0.1 says')\nreplace('S0.13')")).toEqual([]);
});

test('the list has 49 scenarios', () => {
  const count = (incident) => Object.keys(SCENARIOS).filter((id) => id.startsWith(incident)).length;
  expect(['S0', 'S1', 'S2', 'S3'].map(count)).toEqual([13, 13, 12, 11]);
});

test('a scenario without a test, and a test of no scenario, are problems', () => {
  expect(problems(all())).toEqual([]);
  expect(problems(all('S3.6'))).toEqual([expect.stringMatching(/^S3\.6 .*no test/)]);
  const stray = { ids: ['S0.99'], name: 'x', file: 'a.test.ts' };
  expect(problems([...all(), stray])).toEqual(['a.test.ts: there is no scenario S0.99: x']);
});

test('the page of scenarios shows each test with its file and what it ran against', () => {
  const text = page(all('S2.3'));
  expect(text).toContain(
    '| S3.6 | delays of 0, 30 and 90 s at 50 handshakes a second: none fails | proved ([x.test.ts](../packages/x/src/x.test.ts)) | Envoy |',
  );
  expect(text).toContain('| **none** |');
});

test('the page of scenarios leaves the placeholders of a table of tests open', () => {
  const named = (name) => ({ ids: ['S3.6'], name, file: 'a.test.ts', against: 'Envoy' });
  const text = page([named('over $name, %s and $of.it at 100 % safely: $1 a day')]);
  expect(text).toContain('| over …, … and … at 100 % safely: $1 a day ([a.test.ts]');
});

test('a test file says what it runs against, or its place does', () => {
  expect(against('test/field/a.test.ts', '// Against: Envoy 1.39 (BoringSSL).\n')).toBe(
    'Envoy 1.39 (BoringSSL)',
  );
  expect(against('test/field/kube-rs.test.ts', '')).toBe('kube-rs');
  expect(against('packages/operator/test/cluster/s0.test.ts', '')).toBe('kube-apiserver and etcd');
});
