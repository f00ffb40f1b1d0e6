import { ADOPT, type Resource } from '@handover/core';
import { type Catalogue, ownBundleOf, profileObjectOf, secretOf, targetsOf } from './catalogue.ts';
import type { ObjectId } from './home.ts';

/** Objects that may be overwritten. Consent covers the objects of the resource that gives it, and no others. */
export const consentIn = (catalogue: Catalogue): ReadonlySet<ObjectId> => {
  const { authorities, leaves, trustBundles, tlsProfiles } = catalogue;
  const consents = ({ metadata }: Resource): boolean => metadata.annotations[ADOPT] === 'true';
  return new Set([
    ...[...authorities.values()].filter(consents).map(ownBundleOf),
    ...leaves.filter(consents).map(secretOf),
    ...trustBundles.filter(consents).flatMap((bundle) => targetsOf(bundle, catalogue)),
    ...tlsProfiles.filter(consents).map(profileObjectOf),
  ]);
};
