import { BlockList, isIPv4 } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inIpRange } from './ip-range.ts';
import { matchesDnsPattern, matchesTextPattern, matchesUriPattern } from './name-pattern.ts';

const word = (...letters: readonly string[]) =>
  fc.string({ unit: fc.constantFrom(...letters), maxLength: 7 });

/** The same as one regular expression, which is safe here as the patterns are ours and short. */
const asExpression = (pattern: string, star: string, namespace: string): RegExp =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replaceAll('{namespace}', namespace).replace(/[.\\+?^${}()|[\]]/g, '\\$&'))
      .join(star)}$`,
    'i',
  );
const oneStar = (pattern: string) => pattern.split('*').length <= 2;

test('a DNS pattern matches what its regular expression matches, and a wildcard only by a whole first label', () => {
  const names = word('a', 'b', '.', '-', '*').map((name) => name.replace(/(?!^)\*/g, ''));
  fc.assert(
    fc.property(word('a', 'B', '.', '*', '{namespace}').filter(oneStar), names, (pattern, name) => {
      const star = pattern.startsWith('*.') || pattern === '*' ? '([a-z0-9_-]+|\\*)' : '[a-z0-9_-]+';
      expect(matchesDnsPattern(pattern, 'a', name)).toBe(asExpression(pattern, star, 'a').test(name));
    }),
    { numRuns: 5_000 },
  );
});

test('no star of any pattern crosses a dot, a slash or a colon', () => {
  const free = word('a', '.', '/', ':', '%', '@', '?', ' ', 'é');
  fc.assert(
    fc.property(free, (filled) => {
      const crosses = filled === '' || /[^A-Za-z0-9_-]/.test(filled);
      expect(matchesTextPattern('x*y', 'n', `x${filled}y`)).toBe(!crosses);
      expect(matchesDnsPattern('x*y', 'n', `x${filled}y`)).toBe(!crosses);
      expect(matchesUriPattern('s://h*.y/p', 'n', `s://h${filled}.y/p`)).toBe(!crosses);
      const inPath = filled !== '' && /^[A-Za-z0-9_.~-]*$/.test(filled) && !/^\.+$/.test(filled);
      expect(matchesUriPattern('s://h/*/p', 'n', `s://h/${filled}/p`)).toBe(inPath);
    }),
    { numRuns: 2_000 },
  );
});

test('two stars match nothing, should they ever get past the schema, and take no time', () => {
  const began = performance.now();
  for (const matches of [matchesDnsPattern, matchesTextPattern, matchesUriPattern])
    expect(matches(`${'*a'.repeat(100)}*b`, 'n', 'a'.repeat(10_000))).toBe(false);
  expect(performance.now() - began).toBeLessThan(10_000);
});

test('a range holds the addresses that Node says it holds', () => {
  const near = fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 31 }), fc.integer({ min: 0, max: 32 }));
  fc.assert(
    fc.property(near, fc.ipV4(), ([base, flip, bits], far) => {
      const octets = base.split('.').map(Number);
      octets[flip >> 3] = (octets[flip >> 3] ?? 0) ^ (0x80 >> (flip & 7));
      const block = new BlockList();
      block.addSubnet(base, bits, 'ipv4');
      for (const address of [base, octets.join('.'), far]) {
        expect(isIPv4(address)).toBe(true);
        expect(inIpRange(`${base}/${bits}`, address)).toBe(block.check(address, 'ipv4'));
        expect(inIpRange(`${base}/${bits}`, `::ffff:${address}`)).toBe(block.check(address, 'ipv4'));
        expect(inIpRange('::/0', `::ffff:${address}`)).toBe(false);
      }
    }),
  );
  const v6 = fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 }), fc.ipV6());
  fc.assert(
    fc.property(v6, ([base, bits, address]) => {
      fc.pre(!/ffff:[^:]*\.|ffff:[0-9a-f]+:[0-9a-f]+$/i.test(address) && !/\./.test(base + address));
      const block = new BlockList();
      block.addSubnet(base, bits, 'ipv6');
      expect(inIpRange(`${base}/${bits}`, base)).toBe(true);
      expect(inIpRange(`${base}/${bits}`, address)).toBe(block.check(address, 'ipv6'));
    }),
  );
});
