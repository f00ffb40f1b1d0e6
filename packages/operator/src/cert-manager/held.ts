import { elsewhereEnds, type Generation, SKEW } from '@handover/core';
import { type AuthorityRecord, type Responsibilities, readableCertificates } from '@handover/engine';
import { type Certificate, type Instant, instant } from '@handover/material';
import { mostFor } from './requests.ts';

/** A leaf of an authority in a Secret that another program writes. */
export interface HeldLeaf {
  readonly leaf: Certificate;
  readonly behind: readonly Certificate[];
  /** The CA of ours that signed it. */
  readonly issuer: Certificate;
  /** In another namespace: when it counts as ended at the latest. */
  readonly until: Instant | undefined;
}

/**
 * How long a leaf elsewhere can keep a retired CA trusted. Of what this authority signed the state knows the last end, by the policy of that day. What
 * others signed with a CA before it was adopted can be of any length: there the policy of today is the bound.
 */
const latestEnd = (
  { adopted, lentUntil, elsewhere }: Generation,
  { notBefore }: Certificate,
  { authority }: Responsibilities,
): Instant => {
  const known = Math.max(lentUntil ?? 0, elsewhereEnds(elsewhere) ?? 0);
  if (known > 0 && adopted !== true) return instant(known);
  const most = mostFor(authority.spec.issueTo.maxLifetime, false) ?? 0;
  return instant(Math.max(notBefore + SKEW + most, known));
};

/** The leaf of this authority in a file; undefined: there is none that a program here could present. */
export const heldLeaf = (
  pem: Uint8Array | undefined,
  namespace: string,
  responsibilities: Responsibilities,
  { state, certificates }: AuthorityRecord,
): HeldLeaf | undefined => {
  const [leaf, ...behind] = readableCertificates(pem);
  if (leaf === undefined) return undefined;
  const cas = state.generations.flatMap((generation) =>
    generation.anchors.flatMap(({ fingerprint }) => {
      const ca = certificates.get(fingerprint);
      return ca === undefined ? [] : [{ ca, generation }];
    }),
  );
  // The Secret of an adopted CA is presented by no program. A CA under it is: by the leaves that it signed.
  if (cas.some(({ ca }) => ca.fingerprint === leaf.fingerprint)) return undefined;
  // A name proves nothing: the signature does. Most Secrets of a cluster have another name, which costs less to see.
  const signer = cas.find(
    ({ ca }) => ca.subjectKey === leaf.issuerKey && leaf.openssl.isSignedBy(ca.openssl),
  );
  if (signer === undefined) return undefined;
  const isElsewhere = namespace !== responsibilities.authority.metadata.namespace;
  // No CA is issued to another namespace: what lies there is a copy, such as of a cross-certificate.
  if (isElsewhere && leaf.isCa) return undefined;
  const until = isElsewhere ? latestEnd(signer.generation, leaf, responsibilities) : undefined;
  return { leaf, behind, issuer: signer.ca, until };
};
