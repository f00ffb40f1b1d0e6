import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import { buildMissing, hasGo, type Say } from './build.ts';
import { type Binary, pinsHash } from './pins.ts';
import type { Places } from './places.ts';

/** Directory that holds every requested binary. */
export type BinaryDirectory = string;

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const lacking = (directory: string, needed: readonly Binary[]): Binary[] =>
  needed.filter((binary) => !isExecutable(join(directory, binary)));

export const cachedBinaries = (where: Places): BinaryDirectory =>
  join(where.cache, pinsHash(where.release), 'bin');

/**
 * KUBEBUILDER_ASSETS, else the cache, else a build. One source must have all binaries: this avoids a kubelet of one release
 * with an API server of another.
 */
export async function findBinaries(
  where: Places,
  needed: readonly Binary[],
  say: Say,
): Promise<BinaryDirectory> {
  if (where.assets !== undefined && lacking(where.assets, needed).length === 0) return where.assets;
  const bin = cachedBinaries(where);
  const missing = lacking(bin, needed);
  if (missing.length === 0) return bin;
  if (!hasGo()) {
    throw new HandoverError(
      'CLUSTER_NO_BINARIES',
      `no ${missing.join(', ')}: install Go 1.26 or newer, from which they are built once, ` +
        'or for the control plane set KUBEBUILDER_ASSETS to a directory made by setup-envtest',
    );
  }
  await buildMissing(bin, needed, where.release, say);
  return bin;
}
