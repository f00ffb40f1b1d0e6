import type { Resource } from '@handover/core';
import { type CertgenResult, certgen, type DirectoryHome } from '@handover/engine';
import type { Workplace } from '../open-home.ts';

const LOOK_EVERY_MS = 250;

/** Certgen in a directory, under its lock. */
export async function certgenIn(
  home: DirectoryHome,
  resources: readonly Resource[] | undefined,
): Promise<Workplace> {
  await home.make();
  const lock = await home.lock();
  return {
    run: async ({ overwrite, rotationId }) => {
      const takesOver = overwrite || rotationId !== undefined;
      const { authorities } = home.load(resources, { takesOver });
      await home.checkClock(authorities.keys());
      const results: CertgenResult[] = [];
      for (const id of authorities.keys()) results.push(await certgen(home, id, { overwrite, rotationId }));
      return results;
    },
    makeRandomSecret: ({ object, key, bytes }) => home.makeRandomSecret(object, key, bytes),
    lookEvery: LOOK_EVERY_MS,
    close: () => lock.release(),
  };
}
