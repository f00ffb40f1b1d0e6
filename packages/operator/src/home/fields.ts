import type { ConsumerFound, Duties, EvidenceSource } from '@handover/engine';
import { isField, placeOf } from './place.ts';

/**
 * Every caBundle field that is kept, as a verifier of its own: the API server reads it. A ClusterTrustBundle counts as
 * written in the same way; pods that mount it are consumers by themselves.
 */
export const fieldConsumers = (duties: Duties): readonly ConsumerFound[] =>
  [...duties.bundles.keys()].flatMap((id) => {
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
        stripsCross: false,
        instances: [],
        workload: undefined,
      },
    ];
  });

/** Several sources of evidence as one. */
export const together = (...sources: readonly EvidenceSource[]): EvidenceSource => ({
  consumers: async (duties, record, now) =>
    (await Promise.all(sources.map((source) => source.consumers(duties, record, now)))).flat(),
});
