import type { InstanceSeen, Proof } from '@handover/core';
import type { Instant } from '@handover/material';
import type { AuthorityId, AuthorityRecord } from './home.ts';
import type { ConsumerFound, EvidenceSource, IssuedLeaves, LeafIssuers } from './snapshot.ts';

/** Leaves that one authority's objects held, beside those that they hold now. */
const MOST_EARLIER = 10_000;

type Ends = ReadonlyMap<string, Instant>;

interface Known {
  readonly issuers: LeafIssuers;
  readonly ends: Ends;
}

/**
 * Issuers and ends of leaves that objects held before, as long as this process runs and the CA is in the authority: a program that still runs with its
 * earlier leaf is known by it. One of these per home.
 */
export class EarlierLeaves {
  readonly #known = new Map<AuthorityId, Known>();

  of(source: EvidenceSource): EvidenceSource {
    return {
      consumers: async (responsibilities, record, now, issued) => {
        const { issuers, ends } = this.#with(responsibilities.id, record, issued);
        const found = await source.consumers(responsibilities, record, now, { ...issued, issuers });
        return found.map((consumer) => dated(consumer, ends));
      },
    };
  }

  #with(id: AuthorityId, record: AuthorityRecord | undefined, held: IssuedLeaves): Known {
    const cas = new Set(
      record?.state.generations.flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint)),
    );
    const before = this.#known.get(id);
    const earlier = [...(before?.issuers ?? [])].filter(
      ([leaf, issuer]) => cas.has(issuer) && !held.issuers.has(leaf),
    );
    const issuers = new Map([...earlier.slice(-MOST_EARLIER), ...held.issuers]);
    const ends = new Map(
      [...(before?.ends ?? []), ...(held.ends ?? [])].filter(([leaf]) => issuers.has(leaf)),
    );
    const known = { issuers, ends };
    this.#known.set(id, known);
    return known;
  }
}

/** A status document names a leaf and not its end. */
const dated = (consumer: ConsumerFound, ends: Ends): ConsumerFound => ({
  ...consumer,
  instances: consumer.instances.map(
    (instance): InstanceSeen => ({
      ...instance,
      proofs: instance.proofs.map((proof) => datedProof(proof, ends)),
    }),
  ),
});

const datedProof = (proof: Proof, ends: Ends): Proof =>
  proof.leaves === undefined
    ? proof
    : {
        ...proof,
        leaves: proof.leaves.map((leaf) => {
          const notAfter = leaf.notAfter ?? ends.get(leaf.fingerprint);
          return notAfter === undefined ? leaf : { ...leaf, notAfter };
        }),
      };
