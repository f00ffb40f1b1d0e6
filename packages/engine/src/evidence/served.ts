import { X509Certificate } from 'node:crypto';
import type { Certificate } from '@handover/material';
import type { AuthorityRecord } from '../look/home.ts';
import type { Loaded } from './doubts.ts';

/** A leaf that a server showed, and the CA that signed it. */
export interface Served {
  readonly issuer: string;
  readonly leaf: Certificate;
}

/** A key id is a claim that any certificate can make. */
const isSignedBy = (leaf: Certificate, ca: Certificate | undefined): boolean =>
  ca?.subjectKeyId !== undefined &&
  ca.subjectKeyId === leaf.authorityKeyId &&
  new X509Certificate(leaf.der).verify(new X509Certificate(ca.der).publicKey);

/** By which of the authority's CAs the leaf of a chain is signed. */
export const servedBy = (
  chain: readonly Certificate[],
  { state, certificates }: AuthorityRecord,
): Served | undefined => {
  const [leaf] = chain;
  if (leaf?.authorityKeyId === undefined) return undefined;
  const issuer = state.generations
    .flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint))
    .find((fingerprint) => isSignedBy(leaf, certificates.get(fingerprint)));
  return { issuer: issuer ?? 'unknown', leaf };
};

/** Of all leaves seen, the one of the oldest generation counts; an unknown issuer is older than any. */
export const oldestOf = (shown: readonly Served[], { state }: AuthorityRecord): Served | undefined => {
  const age = ({ issuer }: Served): number => {
    const index = state.generations.findIndex(({ anchors }) =>
      anchors.some(({ fingerprint }) => fingerprint === issuer),
    );
    return index < 0 ? Number.POSITIVE_INFINITY : index;
  };
  return [...shown].sort((a, b) => age(b) - age(a))[0];
};

/** Whether a chain is of a generation that no longer signs. */
export const isOld = (chain: readonly Certificate[], record: AuthorityRecord): boolean => {
  const issuer = servedBy(chain, record)?.issuer;
  const signs = record.state.generations.filter(({ role }) => role === 'current' || role === 'next');
  return !signs.some(({ anchors }) => anchors.some(({ fingerprint }) => fingerprint === issuer));
};

/** What the handshakes of one probe showed; `isRefused`: one of them refused a canary that another accepted. */
export const loadedBy = (
  chains: readonly (readonly Certificate[])[],
  isRefused: boolean,
  record: AuthorityRecord,
): Loaded => {
  const old = chains.filter((chain) => isOld(chain, record)).length;
  if (old === 0) return isRefused ? 'both' : 'new';
  return old < chains.length ? 'both' : 'old';
};
