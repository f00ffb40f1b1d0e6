import type { ObjectSeen } from '@handover/core';
import type { AuthorityRecord, Responsibilities } from '@handover/engine';
import { instant } from '@handover/material';
import { PROGRAM } from './kinds.ts';

/** Leaves were lent, and what holds them cannot be seen: they count as in use until the last has ended. */
export const unknownLent = (
  { state }: AuthorityRecord,
  { authority }: Responsibilities,
): readonly ObjectSeen[] => {
  const old = state.generations.find(({ role, lentUntil }) => role === 'previous' && lentUntil !== undefined);
  if (old?.lentUntil === undefined) return [];
  const [{ fingerprint, notBefore, notAfter }] = old.anchors;
  const { namespace } = authority.metadata;
  return [
    {
      id: `${namespace}/secrets/of cert-manager`,
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
        program: PROGRAM,
        asked: 'never',
        failing:
          "cert-manager's Certificates cannot be read: install cert-manager, and give the operator its rights with handover install",
      },
    },
  ];
};
