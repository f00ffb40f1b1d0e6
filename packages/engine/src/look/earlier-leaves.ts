import type { AuthorityId, AuthorityRecord } from './home.ts';
import type { EvidenceSource, LeafIssuers } from './look.ts';

/** Leaves that one authority's objects held, beside those that they hold now. */
const MOST_EARLIER = 10_000;

/**
 * Issuers of leaves that objects held before, as long as this process runs and the CA is in the authority: a program that still runs with its
 * earlier leaf is known by it. One of these per home.
 */
export class EarlierLeaves {
  readonly #known = new Map<AuthorityId, LeafIssuers>();

  of(source: EvidenceSource): EvidenceSource {
    return {
      consumers: (responsibilities, record, now, issued) => {
        const issuers = this.#with(responsibilities.id, record, issued.issuers);
        return source.consumers(responsibilities, record, now, { ...issued, issuers });
      },
    };
  }

  #with(id: AuthorityId, record: AuthorityRecord | undefined, held: LeafIssuers): LeafIssuers {
    const cas = new Set(
      record?.state.generations.flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint)),
    );
    const earlier = [...(this.#known.get(id) ?? [])].filter(
      ([leaf, issuer]) => cas.has(issuer) && !held.has(leaf),
    );
    const all = new Map([...earlier.slice(-MOST_EARLIER), ...held]);
    this.#known.set(id, all);
    return all;
  }
}
