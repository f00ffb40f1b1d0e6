import { expect, test } from 'vitest';
import { asLeaf, KnownTexts } from './known-texts.ts';

const pem = (n: number) => `-----BEGIN CERTIFICATE-----\n${n}x\n-----END CERTIFICATE-----\n`;

test('a program that keeps the text it read at start is known after any number of versions', () => {
  const known = new KnownTexts('/nowhere', asLeaf);
  for (let n = 0; n < 200; n++) known.add(pem(n));
  expect([0, 1, 199].map((n) => known.has(pem(n)))).toEqual([true, false, true]);
});
