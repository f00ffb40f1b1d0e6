import { type Certificate, HandoverError, parseBundle } from '@handover/material';
import type { ObjectProjection } from '../objects/projection.ts';

/** What a source holds, or why it is of no use. */
export interface Found {
  readonly certificates: readonly Certificate[];
  readonly why?: string;
}

const read = new WeakMap<ObjectProjection, Map<string, Found>>();

export const readHeldBundle = (pem: string | Uint8Array | undefined, key: string): Found => {
  if (pem === undefined || pem.length === 0) return { certificates: [], why: `it has no CA in ${key}` };
  try {
    return { certificates: parseBundle(pem, key).certificates };
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    return { certificates: [], why: `what it has in ${key} is not a bundle: ${error.message}` };
  }
};

/** Certificates under a key of a Secret. An object is read once, however many ask for it. */
export const certificatesUnder = (held: ObjectProjection, key: string): Found => {
  const known = read.get(held) ?? new Map<string, Found>();
  read.set(held, known);
  const before = known.get(key);
  if (before !== undefined) return before;
  const found = readHeldBundle(held.data[key], key);
  known.set(key, found);
  return found;
};
