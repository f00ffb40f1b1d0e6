import type { Resource } from '@handover/core';
import { type CertgenResult, certgen, type RandomSecret } from '@handover/engine';
import type { Context } from '../context.ts';
import { homePath, openHome } from './open-home.ts';

/** A home for certgen. */
export interface Workplace {
  run(options: {
    readonly overwrite: boolean;
    readonly rotationId?: string | undefined;
  }): Promise<readonly CertgenResult[]>;
  makeRandomSecret(secret: RandomSecret): Promise<boolean>;
  close(): void | Promise<void>;
}

/** A directory, locked. */
export async function certgenIn(
  home: string,
  resources: readonly Resource[] | undefined,
  context: Context,
): Promise<Workplace> {
  const directory = openHome(homePath(home), context);
  await directory.make();
  const lock = await directory.lock();
  return {
    run: async ({ overwrite, rotationId }) => {
      const takesOver = overwrite || rotationId !== undefined;
      const catalogue = directory.load(resources, { takesOver });
      await directory.checkClock(catalogue.authorities.keys());
      const results: CertgenResult[] = [];
      for (const id of catalogue.authorities.keys()) {
        results.push(
          await certgen(directory, catalogue, id, {
            overwrite,
            rotationId,
            ask: (authority, rotate) => directory.requests.ask({ authority, rotate }, context.now()),
          }),
        );
      }
      return results;
    },
    makeRandomSecret: ({ object, key, bytes }) => directory.makeRandomSecret(object, key, bytes),
    close: () => lock.release(),
  };
}
