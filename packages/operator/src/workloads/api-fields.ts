import { RELOAD, USED_BY } from '@handover/core';
import {
  type ConsumerFound,
  type EvidenceSource,
  liesElsewhere,
  type ObjectId,
  type Responsibilities,
} from '@handover/engine';
import { isField, placeOf } from '../objects/place.ts';

/**
 * Every caBundle field that is kept, as a verifier of its own: the API server reads it. A ClusterTrustBundle counts as
 * written in the same way; pods that mount it are consumers by themselves.
 */
export const fieldConsumers = (responsibilities: Responsibilities): readonly ConsumerFound[] =>
  [...responsibilities.bundles.keys()].flatMap((id) => {
    const place = placeOf(id);
    if (!isField(place) && place.plural !== 'clustertrustbundles') return [];
    return [
      {
        id: `${place.plural}/${place.name}${place.part === '' ? '' : ` (${place.part})`}`,
        reload: 'field' as const,
        ownersWord: false,
        blocks: true,
        presents: [],
        verifies: [id],
        instances: [],
        workload: undefined,
      },
    ];
  });

/**
 * Readers that no pod shows: an ingress controller that takes the Secret from the API, a program outside the cluster. The owner
 * says on the Leaf, or on the Certificate of another program (`more`), how they pick changes up, or that there are none.
 */
export const wordOfOwners = (
  responsibilities: Responsibilities,
  more: ReadonlyMap<ObjectId, Readonly<Record<string, string>>> = new Map(),
): readonly ConsumerFound[] =>
  [
    ...[...responsibilities.leaves].map(([id, { metadata }]) => [id, metadata.annotations] as const),
    ...more,
  ].flatMap(([id, annotations]) => {
    const hot = annotations[RELOAD] === 'hot';
    if (!hot && annotations[USED_BY] !== 'nobody') return [];
    return [
      {
        id: `readers of ${id}`,
        reload: 'hot' as const,
        ownersWord: true,
        blocks: !liesElsewhere(id, responsibilities),
        presents: [id],
        verifies: [id],
        // One that shows nothing: it rests on reloadWithin.
        instances: hot ? [{ uid: id, createdAt: undefined, ready: true, stamp: undefined, proofs: [] }] : [],
        workload: undefined,
      },
    ];
  });

/** Several sources of evidence as one. */
export const combineEvidence = (...sources: readonly EvidenceSource[]): EvidenceSource => ({
  consumers: async (...asked) =>
    (await Promise.all(sources.map((source) => source.consumers(...asked)))).flat(),
});
