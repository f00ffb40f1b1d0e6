import { type Catalogue, ownBundleOf, secretOf, targetsOf } from '../catalogue.ts';
import type { ObjectId } from '../ports.ts';

const ADOPT = 'handover.dev/adopt';

/** Objects whose own resource says that files of others in their folder may be taken over. Never another's. */
export const consentIn = (catalogue: Catalogue): ReadonlySet<ObjectId> => {
  const says = ({ metadata }: { metadata: { annotations: Readonly<Record<string, string>> } }): boolean =>
    metadata.annotations[ADOPT] === 'true';
  return new Set<ObjectId>([
    ...catalogue.leaves.filter(says).map(secretOf),
    ...[...catalogue.authorities.values()].filter(says).map(ownBundleOf),
    ...catalogue.trustBundles.filter(says).flatMap((bundle) => [...targetsOf(bundle, catalogue)]),
  ]);
};
