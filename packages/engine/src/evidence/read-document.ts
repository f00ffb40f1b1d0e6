import type { Proof, Unread } from '@handover/core';
import { type Instant, instant } from '@handover/material';
import type { AuthorityRecord } from '../look/home.ts';
import { documentIn, type ParsedStatus } from './document-schema.ts';

/** What one process says of itself, and which questions it leaves open. */
export interface DocumentRead {
  /** Undefined: it is no evidence at all. */
  readonly proof?: Proof;
  readonly pid?: number;
  readonly podUid?: string;
  readonly unread: Unread;
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
const noAnchors = ({ sources }: ParsedStatus): string => {
  const bare = sources.findIndex(({ anchors }) => anchors === undefined);
  return bare < 0 || sources.some(({ anchors }) => anchors !== undefined)
    ? 'lists no CA of this authority in sources[].anchors'
    : `has no field sources[${bare}].anchors`;
};

const noLeaf = ({ sources }: ParsedStatus): string => {
  const bare = sources.findIndex(({ leaf }) => leaf !== undefined && leaf.issuerKeyId === undefined);
  if (bare >= 0) return `has no field sources[${bare}].leaf.issuerKeyId`;
  return sources.some(({ leaf }) => leaf !== undefined)
    ? 'lists no leaf of this authority in sources[].leaf.issuerKeyId'
    : 'has no field sources[].leaf';
};

/**
 * Proof that a status document gives for one authority. Skips sources without a CA of this authority; of the others, only
 * the CAs that all of them hold count.
 */
export const readDocument = (text: string, record: AuthorityRecord, now: Instant): DocumentRead => {
  const document = documentIn(text, now);
  if (typeof document === 'string') return unreadable(document);
  const issuers = issuersOf(record);
  const ours = new Set(issuers.map(({ fingerprint }) => fingerprint));
  const held = document.sources
    .filter(({ anchors }) => anchors?.some((anchor) => ours.has(anchor)) === true)
    .map(({ anchors }) => new Set(anchors));
  const common = held[0] && [...held[0]].filter((anchor) => held.every((anchors) => anchors.has(anchor)));
  const shown = document.sources.flatMap(({ leaf }) => {
    const index = issuers.findIndex(({ keyId }) => keyId !== undefined && keyId === leaf?.issuerKeyId);
    return index < 0 ? [] : [{ index, leaf: leaf?.fingerprint }];
  });
  // Of several leaves the one with the oldest issuer counts; one whose issuer is not known may be older than all.
  const isVague = document.sources.some(({ leaf }) => leaf !== undefined && leaf.issuerKeyId === undefined);
  const oldest = isVague ? undefined : shown.sort((a, b) => b.index - a.index)[0];
  const issuer = oldest === undefined ? undefined : issuers[oldest.index]?.fingerprint;
  const leaves = shown.flatMap(({ leaf }) => (leaf === undefined ? [] : [{ fingerprint: leaf }]));
  return {
    ...(document.pid === undefined ? {} : { pid: document.pid }),
    ...(document.podUid === undefined ? {} : { podUid: document.podUid }),
    unread: unreadOf(
      common === undefined ? noAnchors(document) : undefined,
      issuer === undefined ? noLeaf(document) : undefined,
    ),
    proof: {
      by: 'acknowledged',
      at: instant(Math.min(document.at, now)),
      ...(common === undefined ? {} : { anchors: common, complete: !document.truncated }),
      ...(issuer === undefined ? {} : { issuer }),
      // One that is not named may be any.
      ...(issuer !== undefined && leaves.length === shown.length ? { leaves } : {}),
    },
  };
};
