import type { LeafSeen, ObjectSeen } from '@handover/core';
import type { ObjectId } from '@handover/engine';
import { type Certificate, type Instant, instant } from '@handover/material';
import type { HeldLeaf } from './held.ts';

interface FirstSeen {
  readonly leaf: string;
  readonly issuer: string;
  readonly writtenAt: Instant;
  readonly issuerSince: Instant;
  readonly anchors: ReadonlyMap<string, Instant>;
  readonly changedAt: Instant;
}

/** The certificates in a Secret that another program writes. */
export interface Contents extends HeldLeaf {
  readonly cas: readonly Certificate[];
}

/**
 * Since when Secrets of other programs have held what they hold. Only this process knows: after a restart everything counts as new, which
 * delays a step and hastens none.
 */
export class FirstSeenTimes {
  readonly #begun: Instant | undefined;
  readonly #known = new Map<ObjectId, FirstSeen>();

  /** `begun`: since when Secrets count as being as they are at the first sight; undefined: since that sight. */
  constructor(begun?: Instant) {
    this.#begun = begun;
  }

  record(
    id: ObjectId,
    { leaf, behind, cas, issuer, until }: Contents,
    at: Instant,
  ): Pick<ObjectSeen, 'anchors' | 'changedAt' | 'leaf'> {
    const before = this.#known.get(id);
    const now = before === undefined ? (this.#begun ?? at) : at;
    const held = before?.anchors ?? new Map<string, Instant>();
    const anchors = new Map(cas.map(({ fingerprint }) => [fingerprint, held.get(fingerprint) ?? now]));
    const same = anchors.size === held.size && [...anchors.keys()].every((one) => held.has(one));
    const isIssuerSame = before?.issuer === issuer.fingerprint;
    const firstSeen: FirstSeen = {
      leaf: leaf.fingerprint,
      issuer: issuer.fingerprint,
      writtenAt: before?.leaf === leaf.fingerprint ? before.writtenAt : now,
      issuerSince: isIssuerSame ? before.issuerSince : now,
      anchors,
      changedAt: same && before !== undefined ? before.changedAt : now,
    };
    this.#known.set(id, firstSeen);
    const seen: LeafSeen = {
      fingerprint: leaf.fingerprint,
      issuer: issuer.fingerprint,
      chain: behind.map(({ fingerprint }) => fingerprint),
      notBefore: leaf.notBefore,
      notAfter: instant(Math.min(leaf.notAfter, until ?? leaf.notAfter)),
      spec: 'lent',
      writtenAt: firstSeen.writtenAt,
      issuerSince: firstSeen.issuerSince,
      // A renewal by another program is its own affair: pods are rolled for a rotation only.
      replacedOne: false,
      othersExpire: undefined,
    };
    return {
      anchors: [...anchors].map(([fingerprint, since]) => ({ fingerprint, since })),
      changedAt: firstSeen.changedAt,
      leaf: seen,
    };
  }

  /** Forgets Secrets that are gone. */
  retain(ids: ReadonlySet<ObjectId>): void {
    for (const id of this.#known.keys()) if (!ids.has(id)) this.#known.delete(id);
  }
}
