import type { Reissue } from '@handover/core';
import type { Home } from '../snapshot/home.ts';

/** Asks the program that writes an object for a new leaf. */
export async function reissue({ reissues }: Home, { object, expect, why }: Reissue): Promise<void> {
  if (reissues === undefined) throw new TypeError(`${object} has a writer that this home cannot ask`);
  await reissues.ask(object, expect, why);
}
