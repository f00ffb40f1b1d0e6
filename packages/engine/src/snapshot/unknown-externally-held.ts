import type { ObjectSeen } from '@handover/core';
import { instant } from '@handover/material';
import type { AuthorityRecord } from './home.ts';
import type { Responsibilities } from './responsibilities.ts';

/** Leaves were signed for other programs, and what holds them cannot be seen: they count as in use until the last has ended. */
export const unknownExternallyHeld = (
  { state }: AuthorityRecord,
  { authority }: Responsibilities,
  why = 'the Certificates of cert-manager cannot be read here',
): readonly ObjectSeen[] => {
  const old = state.generations.find(({ role, lentUntil }) => role === 'previous' && lentUntil !== undefined);
  if (old?.lentUntil === undefined) return [];
  const [{ fingerprint, notBefore, notAfter }] = old.anchors;
  const { namespace } = authority.metadata;
  return [
    {
      id: `${namespace}/secrets/of other programs`,
      version: '',
      revision: undefined,
      anchors: [],
      changedAt: old.since,
      leaf: {
        fingerprint: 'unknown',
        issuer: fingerprint,
        chain: [],
        notBefore,
        notAfter: instant(Math.min(old.lentUntil, notAfter)),
        spec: 'lent',
        writtenAt: old.since,
        issuerSince: old.since,
        replacedOne: false,
        othersExpire: undefined,
      },
      writtenBy: {
        program: 'another program',
        asked: 'never',
        failing: `${why}; is cert-manager installed, and has the operator the rights of handover install?`,
      },
    },
  ];
};
