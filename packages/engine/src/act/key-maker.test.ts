import { generateKey, type KeyAlgorithm, type KeyPair } from '@handover/core';
import { expect, test } from 'vitest';
import { keyMaker } from '../index.ts';

test('the costly keys of one namespace wait behind each other, and nothing else waits behind them', async () => {
  const made: string[] = [];
  const ends: (() => void)[] = [];
  const pair = generateKey('ECDSA-P256');
  const keys = keyMaker(async (algorithm): Promise<KeyPair> => {
    if (algorithm === 'RSA-4096') await new Promise<void>((resolve) => ends.push(resolve));
    return pair;
  });
  const ask = async (share: string, algorithm: KeyAlgorithm): Promise<void> => {
    await keys(algorithm, share);
    made.push(`${share} ${algorithm}`);
  };
  const heavy = Array.from({ length: 5 }, () => ask('evil', 'RSA-4096'));
  await ask('prod', 'ECDSA-P256');
  await ask('prod', 'RSA-2048');
  expect(made).toEqual(['prod ECDSA-P256', 'prod RSA-2048']);
  expect(ends).toHaveLength(1);
  while (made.length < 7) {
    ends.shift()?.();
    await new Promise(setImmediate);
  }
  await Promise.all(heavy);
});
