import type { Proof, Served, Unread } from '@handover/core';
import { type Instant, instant } from '@handover/material';
import type { AuthorityRecord } from '../snapshot/home.ts';
import type { LeafIssuers } from '../snapshot/snapshot.ts';
import { chainSeen } from './chain-seen.ts';
import { documentIn, type ParsedStatus } from './document-schema.ts';

/** What one process says of itself, and which questions it leaves open. */
export interface DocumentRead {
  /** Undefined: it is no evidence at all. */
  readonly proof?: Proof;
  readonly pid?: number;
  readonly podUid?: string;
  readonly unread: Unread;
  /** What it serves, where that is known better than by the proof. */
  readonly served?: Served;
}

/** What an authority has issued, as of now: what a process shows is compared with it. */
export interface Issued {
  readonly record: AuthorityRecord;
  readonly issuers: Pick<LeafIssuers, 'get'>;
  readonly now: Instant;
}

/** No evidence at all. */
export const unreadable = (why: string): DocumentRead => ({ unread: { trust: why, leaf: why } });

export const unreadOf = (trust: string | undefined, leaf: string | undefined): Unread => ({
  ...(trust === undefined ? {} : { trust }),
  ...(leaf === undefined ? {} : { leaf }),
});

/** CA certificates of all generations of an authority, newest first. */
const issuersOf = (record: AuthorityRecord): readonly { keyId: string | undefined; fingerprint: string }[] =>
  record.state.generations.flatMap(({ anchors }) =>
    anchors.map(({ fingerprint }) => ({
      fingerprint,
      keyId: record.certificates.get(fingerprint)?.subjectKeyId,
    })),
  );

/** What is wrong with the field that would answer a question, to be read after the document's name. */
const noAnchors = ({ sources, wording }: ParsedStatus): string => {
  const bare = sources.findIndex(({ anchors }) => anchors === undefined);
  return bare < 0 || sources.some(({ anchors }) => anchors !== undefined)
    ? `lists no CA of this authority in ${wording.anchors}`
    : wording.noAnchors(bare);
};

const noLeaf = ({ sources, wording }: ParsedStatus): string =>
  sources.some(({ leaf }) => leaf !== undefined)
    ? `lists no leaf of this authority in ${wording.leaf}`
    : wording.noLeaf;

/** Issuer of a leaf that no CA of this authority is known to have signed; it counts as older than any. */
export const UNKNOWN_ISSUER = 'unknown';

interface ShownIssuer {
  readonly issuer: string;
  readonly leaf: string | undefined;
  readonly behind: readonly string[] | undefined;
}

interface Shown {
  readonly leaves: readonly ShownIssuer[];
  /** Why the leaves are no evidence that the newest one is in use. */
  readonly why: string | undefined;
}

/** The leaves of this authority, each with its issuer. One that names its issuer's key is another authority's if that key is not known. */
const leavesIn = ({ sources, wording }: ParsedStatus, { record, issuers }: Issued): Shown => {
  const ours = issuersOf(record);
  const leaves: ShownIssuer[] = [];
  let why: string | undefined;
  for (const [index, { leaf }] of sources.entries()) {
    if (leaf === undefined) continue;
    const { fingerprint, issuerKeyId, chain: behind } = leaf;
    if (issuerKeyId !== undefined) {
      const issuer = ours.find(({ keyId }) => keyId === issuerKeyId)?.fingerprint;
      if (issuer !== undefined) leaves.push({ issuer, leaf: fingerprint, behind });
    } else if (fingerprint === undefined) {
      return { leaves: [], why: `has no field ${wording.fingerprint(index)}` };
    } else {
      const issuer = issuers.get(fingerprint) ?? UNKNOWN_ISSUER;
      leaves.push({ issuer, leaf: fingerprint, behind });
      if (issuer === UNKNOWN_ISSUER)
        why ??= `shows in ${wording.fingerprint(index)} a certificate that no object of this authority holds now; load the newest files, or give ${wording.issuerKeyId} for the leaf of another issuer`;
    }
  }
  return { leaves, why };
};

/** Proof that a status document gives for one authority. */
export const readDocument = (text: string, issued: Issued): DocumentRead => {
  const document = documentIn(text, issued.now);
  return typeof document === 'string' ? unreadable(document) : proofIn(document, issued);
};

/**
 * Proof that a process gives for one authority, in whatever form it was written. Skips sources without a CA of this authority; of the
 * others, only the CAs that all of them hold count.
 */
export const proofIn = (document: ParsedStatus, issued: Issued): DocumentRead => {
  const { record, now } = issued;
  const newestFirst = issuersOf(record).map(({ fingerprint }) => fingerprint);
  const ours = new Set(newestFirst);
  const held = document.sources
    .filter(({ anchors }) => anchors?.some((anchor) => ours.has(anchor)) === true)
    .map(({ anchors }) => new Set(anchors));
  const common = held[0] && [...held[0]].filter((anchor) => held.every((anchors) => anchors.has(anchor)));
  const { leaves, why } = leavesIn(document, issued);
  const age = ({ issuer }: ShownIssuer): number =>
    ours.has(issuer) ? newestFirst.indexOf(issuer) : newestFirst.length;
  // Of several leaves the one with the oldest issuer counts.
  const issuer = [...leaves].sort((a, b) => age(b) - age(a))[0]?.issuer;
  const named = leaves.flatMap(({ leaf }) => (leaf === undefined ? [] : [{ fingerprint: leaf }]));
  return {
    ...(document.pid === undefined ? {} : { pid: document.pid }),
    ...(document.podUid === undefined ? {} : { podUid: document.podUid }),
    unread: unreadOf(
      common === undefined ? noAnchors(document) : undefined,
      why ?? (issuer === undefined ? noLeaf(document) : undefined),
    ),
    proof: {
      by: 'acknowledged',
      at: instant(Math.min(document.at, now)),
      ...(common === undefined ? {} : { anchors: common, complete: !document.truncated }),
      ...(issuer === undefined ? {} : { issuer }),
      // One that is not named may be any.
      ...(issuer !== undefined && named.length === leaves.length ? { leaves: named } : {}),
      ...chainSeen(leaves, record, now),
    },
  };
};
