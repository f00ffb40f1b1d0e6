import { instant } from '@handover/material';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AuthorityState, Generation } from './authority.ts';
import { believedStamp, covers, formatStamp, parseStamp } from './stamp.ts';

test('a stamp reads back as it was written', () => {
  const number = fc.nat(999_999_999);
  const both = { trust: number, distrusts: number };
  const leaf = fc.stringMatching(/^[0-9a-f]{8}$/);
  const ca = fc.stringMatching(/^[0-9a-f]{8}$/);
  const stamp = fc.oneof(
    fc.record(both),
    fc.record({ ...both, ca }),
    fc.record({ ...both, issuer: number, leaf }),
    fc.record({ ...both, issuer: number, leaf, ca }),
  );
  fc.assert(
    fc.property(stamp, (one) => {
      expect(parseStamp(formatStamp(one))).toEqual(one);
    }),
  );
});

test('a text that is not a stamp counts as none', () => {
  for (const text of ['', '1', '1.x', '1.2.3', '1.2.3-zz', '1.2@', '1.2@12', '1.2@zzzzzzzz', ' 1.2', '1.2 '])
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

describe('a stamp is believed', () => {
  const ca = (number: number, named: boolean): Generation => ({
    number,
    role: 'current',
    anchors: [
      {
        fingerprint: `${number}`.repeat(64),
        notBefore: instant(0),
        notAfter: instant(Number.MAX_SAFE_INTEGER),
      },
    ],
    hasKey: true,
    since: instant(0),
    ...(named ? { namedInStamps: true as const } : {}),
  });
  const stateOf = (...generations: Generation[]): AuthorityState => ({
    revision: 1,
    generations,
    crosses: [],
    ids: [],
    distrusts: 0,
    lastGeneration: 9,
  });
  const isBelieved = (state: AuthorityState, text: string): boolean =>
    believedStamp(state, parseStamp(text)) !== undefined;

  test('if it names a CA of the authority', () => {
    const state = stateOf(ca(2, true), ca(1, true));
    expect(isBelieved(state, '2.0.2-12345678@22222222')).toBe(true);
    expect(isBelieved(state, '1.0@11111111')).toBe(true);
  });

  test('not if it names another CA, or one that the authority does not know', () => {
    const state = stateOf(ca(2, true));
    for (const text of ['2.0@11111111', '1.0@11111111', '7.0.7-12345678@77777777', '7.0.7-12345678'])
      expect(isBelieved(state, text)).toBe(false);
    expect(believedStamp(state, undefined)).toBeUndefined();
  });

  test('without the name of a CA only for a CA from before stamps had such names', () => {
    const state = stateOf(ca(3, true), ca(2, false));
    expect(isBelieved(state, '2.0.2-12345678')).toBe(true);
    expect(isBelieved(state, '3.0.3-12345678')).toBe(false);
    expect(isBelieved(state, '1.0')).toBe(false);
  });
});
