import { isStatic } from '../act/static-bundle.ts';
import { targetsOf } from '../snapshot/catalogue.ts';
import { extrasOf } from '../snapshot/shared-bundles.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { bundleDamage, type Damage } from './damage.ts';

/** What is wrong with the targets of TrustBundles without an authority. */
export async function staticDamage(snapshot: Snapshot): Promise<readonly Damage[]> {
  const found: Damage[] = [];
  for (const bundle of snapshot.catalogue.trustBundles.filter(isStatic)) {
    const { certificates, missing } = await extrasOf(snapshot, bundle, undefined);
    for (const object of targetsOf(bundle, snapshot.catalogue)) {
      const stored = (await snapshot.objects.read(object)) ?? {};
      // Without one of its sources it is not known what belongs there, and its targets stay as they are.
      const problems =
        missing === undefined ? bundleDamage(object, stored, certificates, snapshot.now) : [missing];
      found.push(...problems.map((problem) => ({ object, problem })));
    }
  }
  return found;
}
