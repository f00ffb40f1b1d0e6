import type { LeafSeen, ObjectSeen } from '@handover/core';
import type { ObjectId } from '@handover/engine';
import { type Certificate, type Instant, instant } from '@handover/material';
import type { HeldLeaf } from './held.ts';

interface Sight {
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
export class Sights {
  readonly #begun: Instant | undefined;
  readonly #sights = new Map<ObjectId, Sight>();

  /** `begun`: since when Secrets count as being as they are at the first sight; undefined: since that sight. */
  constructor(begun?: Instant) {
    this.#begun = begun;
  }

  see(
    id: ObjectId,
    { leaf, behind, cas, issuer, until }: Contents,
    at: Instant,
  ): Pick<ObjectSeen, 'anchors' | 'changedAt' | 'leaf'> {
    const before = this.#sights.get(id);
    const now = before === undefined ? (this.#begun ?? at) : at;
    const held = before?.anchors ?? new Map<string, Instant>();
    const anchors = new Map(cas.map(({ fingerprint }) => [fingerprint, held.get(fingerprint) ?? now]));
    const same = anchors.size === held.size && [...anchors.keys()].every((one) => held.has(one));
    const isIssuerSame = before?.issuer === issuer.fingerprint;
    const sight: Sight = {
      leaf: leaf.fingerprint,
      issuer: issuer.fingerprint,
      writtenAt: before?.leaf === leaf.fingerprint ? before.writtenAt : now,
      issuerSince: isIssuerSame ? before.issuerSince : now,
      anchors,
      changedAt: same && before !== undefined ? before.changedAt : now,
    };
    this.#sights.set(id, sight);
    const seen: LeafSeen = {
      fingerprint: leaf.fingerprint,
      issuer: issuer.fingerprint,
      chain: behind.map(({ fingerprint }) => fingerprint),
      notBefore: leaf.notBefore,
      notAfter: instant(Math.min(leaf.notAfter, until ?? leaf.notAfter)),
      spec: 'lent',
      writtenAt: sight.writtenAt,
      issuerSince: sight.issuerSince,
      // A renewal by another program is its own affair: pods are rolled for a rotation only.
      replacedOne: false,
      othersExpire: undefined,
    };
    return {
      anchors: [...anchors].map(([fingerprint, since]) => ({ fingerprint, since })),
      changedAt: sight.changedAt,
      leaf: seen,
    };
  }

  /** Forgets Secrets that are gone. */
  keep(ids: ReadonlySet<ObjectId>): void {
    for (const id of this.#sights.keys()) if (!ids.has(id)) this.#sights.delete(id);
  }
}
