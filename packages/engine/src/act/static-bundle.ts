import type { TrustBundle } from '@handover/core';
import { bundleOf } from '@handover/material';
import { EngineError } from '../error.ts';
import { tryAll } from '../scheduling/in-parallel.ts';
import { placedTargets } from '../snapshot/catalogue.ts';
import type { Home } from '../snapshot/home.ts';
import { outputFiles, outputsOfTarget, outputsRecord } from '../snapshot/outputs.ts';
import { extrasOf } from '../snapshot/shared-bundles.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { bundleKeyOf, pemFile } from '../snapshot/stored-object.ts';
import { keepFiles } from './exact-files.ts';

/** TrustBundles without an authority have no rotation: their sources are simply copied. */
export const isStatic = (bundle: TrustBundle): boolean =>
  bundle.spec.sources.every((source) => source.authority === undefined);

/** Writes the targets of a static bundle; one with an authority is that authority's to write. True: something was written. */
export async function reconcileStaticBundle(
  home: Home,
  snapshot: Snapshot,
  bundle: TrustBundle,
): Promise<boolean> {
  if (!isStatic(bundle)) return false;
  const { certificates, missing } = await extrasOf(snapshot, bundle, undefined);
  if (missing !== undefined) {
    throw new EngineError(
      'SOURCE_MISSING',
      `TrustBundle ${bundle.metadata.name}: ${missing}; its targets stay as they are`,
      { path: bundle.metadata.name, retry: 'later' },
    );
  }
  const anchors = bundleOf(certificates).certificates;
  const pem = pemFile(anchors);
  const placed = placedTargets(bundle, snapshot.catalogue);
  const outputs = await snapshot.outputs.prepare(
    new Map(
      placed.flatMap(([id, target]) => {
        const wanted = outputsOfTarget(target);
        return wanted.length === 0 ? [] : [[id, wanted] as const];
      }),
    ),
  );
  let wrote = false;
  await tryAll(placed, 1, async ([id]) => {
    const made = outputs.get(id);
    const data = { [bundleKeyOf(id)]: pem, ...outputFiles(made, { anchors }) };
    wrote = (await keepFiles(home, snapshot, id, data, outputsRecord(made))) || wrote;
  });
  return wrote;
}
