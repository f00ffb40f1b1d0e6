import { type Duration, type Instant, iso } from '@handover/material';
import type { Anchor, AuthorityState } from './authority.ts';
import type { Stamp } from './stamp.ts';

/** Another program keeps changing an object back, so that we pause. `message` and `toString()` are the only places that render it. */
export class Contended {
  readonly writer: string;
  /** When we try again; undefined: the home counts by a clock that shows no date. */
  readonly until: Instant | undefined;

  constructor(writer: string, until?: Instant) {
    this.writer = writer;
    this.until = until;
  }

  get message(): string {
    const advice =
      this.until === undefined
        ? 'stop it (tried again within 30 minutes, or when a resource changes)'
        : `stop one of the two (next try at ${iso(this.until)})`;
    return `${this.writer} keeps changing it back; ${advice}`;
  }

  toString(): string {
    return `Contended: ${this.message}`;
  }
}

/** Why an object cannot be written: a sentence, or a fight over it. */
export type Obstacle = string | Contended;

export const sameObstacle = (a: Obstacle | undefined, b: Obstacle | undefined): boolean =>
  a === b ||
  (a instanceof Contended && b instanceof Contended && a.writer === b.writer && a.until === b.until);

/** An anchor in a bundle, and since when it has been there without a break (the home's clock). */
export interface HeldAnchor {
  readonly fingerprint: string;
  readonly since: Instant;
}

/** In place of a spec: another program made the leaf. */
export const FOREIGN_SPEC = 'foreign';

/** The leaf inside a Secret. */
export interface LeafSeen {
  readonly fingerprint: string;
  /** Fingerprint of the CA that signed it. */
  readonly issuer: string;
  /** Fingerprints of the certificates behind the leaf. */
  readonly chain: readonly string[];
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** Identity of the Leaf's spec it was issued for, or `FOREIGN_SPEC`. */
  readonly spec: string;
  /** Of the write that put this very leaf there. */
  readonly writtenAt: Instant;
  /** Of the first write from which on the Secret has, without a break, held a leaf of this issuer. */
  readonly issuerSince: Instant;
  /** Whether it replaced another leaf: then a program may have loaded the old one. */
  readonly replacedOne: boolean;
  /** When the last leaf expires that this Secret has held of another issuer, or of the same one for longer than this leaf. */
  readonly othersExpire: Instant | undefined;
}

/**
 * Another program writes the object and holds its key: this authority only signed the leaf. It is never written here; the program can be
 * asked to get a new leaf.
 */
export interface WrittenBy {
  /** For people: "cert-manager". */
  readonly program: string;
  /** `can`: it may be asked for a new leaf. `pending`: it was asked, and is at work. `never`: it renews when it likes. */
  readonly asked: 'can' | 'pending' | 'never';
  /** Why no new leaf comes, for people: then it does not count towards `MOST_REISSUES`. */
  readonly failing?: string;
  /** What else people should know while they wait; a pending one with a remark is slow, and does not count towards `MOST_REISSUES` either. */
  readonly remark?: string;
  /** Since when it has been asked for; undefined: long ago. An object younger than a CA's last signature never held a leaf of that CA. */
  readonly since?: Instant;
  /** One process alone has the leaf, and is the consumer that presents it: what that process shows decides, not the leaf that it got last. */
  readonly ofOneProcess?: true;
  /** It was deleted, or its leaf is another issuer's: only processes count that are known to read it. */
  readonly gone?: true;
  /** Objects that do not lie in the authority's namespace count towards `MOST_REISSUES` of this namespace only. */
  readonly namespace?: string;
  /** Its owner says that programs read the object that no consumer stands for. */
  readonly usedByOthers?: true;
}

/** A derived object: a Leaf's Secret, a bundle target, an API field, or a Secret that another program writes. */
export interface ObjectSeen {
  readonly id: string;
  /** The home's own version of it: a write that was decided on another version does not land. */
  readonly version: string;
  /** Revision of the authority it was made from; undefined when it is not ours yet. */
  readonly revision: number | undefined;
  readonly anchors: readonly HeldAnchor[];
  /** When the set of anchors last changed. */
  readonly changedAt: Instant;
  readonly leaf: LeafSeen | undefined;
  /** Another program made it, or changed it since it was written. */
  readonly edited?: true;
  /** Why it cannot be written now (forbidden, owned by another program). */
  readonly obstacle?: Obstacle;
  /** Outside the authority's namespace: it can delay a step for a bounded time only. */
  readonly elsewhere?: boolean;
  /** No Leaf asks for it any more, and pods that mount it are all that can be seen of its readers. */
  readonly forsaken?: true;
  /** How stale a file of it can be, for running and for new processes. Default: `cacheLag` of the policy, for new ones. */
  readonly cacheLag?: Duration;
  /** Undefined: Handover writes it. */
  readonly writtenBy?: WrittenBy;
}

/** What one process reported, or a probe saw. Membership counts, not equality of hashes. */
export interface Proof {
  readonly by: 'acknowledged' | 'probed';
  /** Object it is about; undefined: every object of the consumer. */
  readonly object?: string;
  /** CAs it trusts. */
  readonly anchors?: readonly string[];
  /** Whether `anchors` is all of them; a canary shows only what it tried. */
  readonly complete?: boolean;
  /** CAs whose canary it did not accept. */
  readonly refuses?: readonly string[];
  /** CA that signed the leaf it serves. */
  readonly issuer?: string;
  /** Leaves of this authority that it serves. */
  readonly leaves?: readonly ShownLeaf[];
  /** Whether it sends the cross-certificate that is in the leaf's file; undefined: not seen, or there is none. */
  readonly chain?: 'sends' | 'strips';
  readonly at: Instant;
}

/** A leaf that a process serves. */
export interface ShownLeaf {
  readonly fingerprint: string;
  /** Undefined: not known. */
  readonly notAfter?: Instant;
  /** Object of the Leaf that its names belong to, where that is another than the expected one. */
  readonly object?: string;
}

/** A pod, a process, or the one copy that an API field is. Evidence is bound to its uid. */
export interface InstanceSeen {
  readonly uid: string;
  /** For people; default: `uid`. */
  readonly name?: string;
  /** By the home's clock; undefined when it was dated in the future at first sight, before the clock was set back. */
  readonly createdAt: Instant | undefined;
  readonly ready: boolean;
  /** The person by whose word it began at `createdAt`; undefined: that was seen. */
  readonly confirmedBy?: string;
  readonly stamp: Stamp | undefined;
  readonly proofs: readonly Proof[];
  readonly unread?: Unread;
  readonly served?: Served;
}

/**
 * Why an instance shows no leaf. `pending`: it need not show one yet. `not-asked`: it is declared in a way in which it cannot be asked. `unread`: its
 * document or page names no leaf of this authority.
 */
export type NotServed =
  | 'unreachable'
  | 'timeout'
  | 'not-tls'
  | 'no-certificate'
  | 'unread'
  | 'not-asked'
  | 'pending';

/** What an instance served when it was last asked. For people and for monitoring: no step rests on it. */
export interface Served {
  readonly at: Instant;
  /** Since when it has served the same, or nothing for the same reason, as far as it was watched. */
  readonly since: Instant;
  readonly leaves: readonly ServedLeaf[];
  /** Undefined: it serves these leaves. */
  readonly none?: { readonly reason: NotServed; readonly why: string };
}

/** A leaf that an instance serves, with what a person knows it by. */
export interface ServedLeaf extends ShownLeaf {
  /** Fingerprint of the CA of this authority that signed it; undefined: none is known to have. */
  readonly issuer: string | undefined;
  /** Its names, the common name first; none where only a fingerprint was shown. */
  readonly names: readonly string[];
  /** The server name that was asked for, where the certificate is not for it. */
  readonly notFor?: string;
  /** Who signed it by its own word, if its signature shows that no CA of this authority did. */
  readonly signedBy?: string;
}

/**
 * Why evidence that was declared could not be read: about the CAs that an instance trusts, and about the leaf that it serves. It is then no
 * evidence, and the time since a write does not stand in for it.
 */
export interface Unread {
  readonly trust?: string;
  readonly leaf?: string;
}

/** How a consumer picks changes up. `field`: the API server itself reads it. */
export type Reload = 'hot' | 'restart' | 'unknown' | 'field';

export interface ConsumerSeen {
  readonly id: string;
  readonly reload: Reload;
  /** Its owner says that it reloads within `reloadWithin`. */
  readonly ownersWord: boolean;
  /** Only consumers in the authority's own namespace hold a rotation up. */
  readonly blocks: boolean;
  /** Its rollouts, if it does not block, count towards `maxConcurrentRollouts` of this namespace only. */
  readonly namespace?: string;
  readonly presents: readonly string[];
  readonly verifies: readonly string[];
  /** The Leaf that its owner says it presents; without an object the authority has no such Leaf. */
  readonly expects?: { readonly leaf: string; readonly object: string | undefined };
  /** Since when it has been there, by the API server's clock; undefined: it counts as always there, by its owner's word. */
  readonly createdAt?: Instant;
  /** Its pods end by themselves, as those of a Job. */
  readonly completes?: true;
  /** Every instance that has not ended, Pending and Terminating ones included. */
  readonly instances: readonly InstanceSeen[];
  /** How to roll it; undefined: it cannot be rolled. */
  readonly workload:
    | {
        readonly stamp: Stamp | undefined;
        readonly rolling: boolean;
        /** Why a stamp would roll nothing. */
        readonly obstacle?: string;
        /** Why its rollout does not finish: then it does not count towards `maxConcurrentRollouts`. */
        readonly failing?: string;
        /** What its owner should know before it is rolled. */
        readonly warning?: string;
      }
    | undefined;
}

export interface Observed {
  readonly authority: AuthorityState | undefined;
  readonly objects: readonly ObjectSeen[];
  readonly consumers: readonly ConsumerSeen[];
  /** Ids of requested rotations, oldest first. */
  readonly rotate: readonly string[];
  /** Generations to distrust, as requested. */
  readonly distrust: readonly number[];
  /** CAs to adopt by the owner's request, while there is no authority yet. */
  readonly adoptable: readonly Anchor[];
  /** The key of the first of them is known. */
  readonly adoptableKey?: boolean;
  /** Until when leaves may be in use that they signed before, and that no object shows; undefined: there are none. */
  readonly adoptableUntil?: Instant;
  /** Objects made from a state that is lost, while there is no authority yet: a new beginning would replace the CAs in them. */
  readonly orphaned?: readonly { readonly object: string; readonly waitsFor: string }[];
  /**
   * Since when the home's clock has been seen to run evenly: no age is counted from before, so that a clock that jumps
   * ahead cannot make `reloadWithin` pass early.
   */
  readonly steadySince?: Instant;
  /** The home's clock jumped ahead and is not trusted yet: no irreversible step rests on it. */
  readonly clockDoubt?: ClockDoubt;
  /** Why some consumers and objects may be missing here: no step is taken without them. */
  readonly unknownResources?: string;
}

/** A clock that showed `since` when it should have shown `before`; trusted from `until` on if it runs evenly. */
export interface ClockDoubt {
  readonly since: Instant;
  readonly before: Instant;
  readonly until: Instant;
}
