import fc from 'fast-check';
import { expect, test } from 'vitest';
import { covers, formatStamp, parseStamp } from './stamp.ts';

test('a stamp reads back as it was written', () => {
  const number = fc.nat(999_999_999);
  const both = { trust: number, distrusts: number };
  const leaf = fc.stringMatching(/^[0-9a-f]{8}$/);
  const stamp = fc.oneof(fc.record(both), fc.record({ ...both, issuer: number, leaf }));
  fc.assert(
    fc.property(stamp, (one) => {
      expect(parseStamp(formatStamp(one))).toEqual(one);
    }),
  );
});

test('a text that is not a stamp counts as none', () => {
  for (const text of ['', '1', '1.x', '1.2.3', '1.2.3-zz', ' 1.2', '1.2 '])
    expect(parseStamp(text)).toBeUndefined();
});

test('a stamp covers what is older, and never what is newer', () => {
  expect(covers({ trust: 3, distrusts: 0 }, { trust: 2, distrusts: 0 })).toBe(true);
  expect(covers({ trust: 2, distrusts: 0 }, { trust: 2, distrusts: 1 })).toBe(false);
  expect(
    covers(
      { trust: 2, distrusts: 0, issuer: 1, leaf: 'aa' },
      { trust: 2, distrusts: 0, issuer: 2, leaf: 'bb' },
    ),
  ).toBe(false);
  expect(
    covers(
      { trust: 2, distrusts: 0, issuer: 2, leaf: 'aa' },
      { trust: 2, distrusts: 0, issuer: 2, leaf: 'bb' },
    ),
  ).toBe(false);
  expect(covers({ trust: 2, distrusts: 0 }, { trust: 2, distrusts: 0, issuer: 2, leaf: 'bb' })).toBe(false);
  expect(covers(undefined, { trust: 0, distrusts: 0 })).toBe(false);
});
