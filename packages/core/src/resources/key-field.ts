import { z } from 'zod';
import { KEYS, type KeyAlgorithm } from '../issue/algorithms.ts';
import { oneOf, shown } from './message.ts';

export const KEY_ALGORITHMS = Object.keys(KEYS) as [KeyAlgorithm, ...KeyAlgorithm[]];

export const keyField = () =>
  z
    .enum(KEY_ALGORITHMS, {
      error: ({ input }) =>
        typeof input === 'string' && /^ed-?(25519|448)$/i.test(input)
          ? `${shown(input)} is not offered because too many TLS peers refuse it; use ECDSA-P256`
          : `${shown(input)} is not a key algorithm; ${oneOf(input, KEY_ALGORITHMS)}`,
    })
    .default('ECDSA-P256')
    .describe('Algorithm and size of the key.');
