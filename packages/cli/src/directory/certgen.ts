import type { Resource } from '@handover/core';
import { type CertgenResult, certgen, type DirectoryHome, unmetIn } from '@handover/engine';
import { duration } from '@handover/material';
import type { Workplace } from '../open-home.ts';

/** Certgen in a directory, under its lock. */
export async function certgenIn(
  home: DirectoryHome,
  resources: readonly Resource[] | undefined,
): Promise<Workplace> {
  await home.make();
  const lock = await home.lock();
  return {
    run: async (options) => {
      const { overwrite, rotationId } = options;
      const takesOver = overwrite || rotationId !== undefined;
      const { authorities } = home.load(resources, { takesOver });
      await home.checkClock(authorities.keys());
      const results: CertgenResult[] = [];
      for (const id of authorities.keys()) results.push(await certgen(home, id, options));
      return results;
    },
    unmet: async () => unmetIn((await home.fresh()).catalogue),
    makeRandomSecret: ({ object, key, bytes }) => home.makeRandomSecret(object, key, bytes),
    lookEvery: duration(250),
    close: () => lock.release(),
  };
}
