import { generateKeyAside, type KeyAlgorithm, type KeySource } from '@handover/core';
import { FairSemaphore } from '../scheduling/fair-semaphore.ts';

/** What a key costs, in RSA keys of 2,048 bits (about 0.1 s of one core); 0: nothing worth counting. */
export const KEY_COST = {
  'ECDSA-P256': 0,
  'ECDSA-P384': 0,
  'RSA-2048': 1,
  'RSA-3072': 4,
  'RSA-4096': 12,
} as const satisfies Record<KeyAlgorithm, number>;

/** Node makes keys on four threads that files and names need, too (docs.libuv.org, threadpool). */
const PLACES = { inAll: 2, each: 1 } as const;

/** Keys made beside the event loop. The costly ones are made two at a time, and each share (a namespace) has one of them. */
export const keyMaker = (
  make: (algorithm: KeyAlgorithm) => ReturnType<KeySource> = generateKeyAside,
): KeySource => {
  const semaphore = new FairSemaphore(PLACES);
  return (algorithm, share = '') =>
    KEY_COST[algorithm] > 0 ? semaphore.take(share, async () => make(algorithm)) : make(algorithm);
};
