import { CERT_MANAGER, ISSUER } from '@handover/core';
import { type AdmissionRule, celOneOf, kept } from './admission-rules.ts';
import type { Row } from './row.ts';

const LOOK = ['get', 'list', 'watch'] as const;
const { group } = CERT_MANAGER;

/** What the operator needs to be an issuer of cert-manager. Without cert-manager these rights reach nothing. */
export const CERT_MANAGER_RIGHTS: readonly Row[] = [
  {
    reach: 'watched',
    group,
    resources: ['certificaterequests', 'certificates'],
    verbs: LOOK,
    why: 'requests that name an Authority as their issuer, and the Certificates behind them',
  },
  {
    reach: 'watched',
    group,
    resources: ['certificaterequests/status'],
    verbs: ['patch'],
    why: 'the signed certificate, or why there is none; approval is never given',
  },
  {
    reach: 'watched',
    group,
    resources: ['certificates/status'],
    verbs: ['patch'],
    why: 'the condition Issuing, as cmctl renew sets it: a rotation asks for a new certificate',
  },
];

/** Rules that hold the operator's account to that. */
export const CERT_MANAGER_POLICIES: readonly {
  readonly name: string;
  readonly why: string;
  readonly group: string;
  readonly resources: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE')[];
  readonly rules: readonly AdmissionRule[];
}[] = [
  {
    name: 'certificaterequests',
    why: 'Only CertificateRequests that name an Authority: those of other issuers are theirs. It approves and denies none.',
    group,
    resources: ['certificaterequests/status'],
    operations: ['UPDATE'],
    rules: [
      {
        expression: `object.spec.issuerRef.?group.orValue('') == '${ISSUER.group}'`,
        message: `Handover may write only CertificateRequests whose issuerRef has group ${ISSUER.group}`,
      },
      {
        expression: approvals('object', 'oldObject'),
        message: 'Handover may neither approve nor deny CertificateRequests',
      },
    ],
  },
  {
    name: 'certificates',
    why: 'Only the condition Issuing of Certificates that name an Authority: it asks cert-manager for a new certificate.',
    group,
    resources: ['certificates/status'],
    operations: ['UPDATE'],
    rules: [
      {
        expression: `object.spec.issuerRef.?group.orValue('') == '${ISSUER.group}'`,
        message: `Handover may write only Certificates whose issuerRef has group ${ISSUER.group}`,
      },
      {
        expression: kept(['status'], celOneOf('conditions')),
        message: 'Handover may change only the conditions of Certificates',
      },
      {
        expression: `${otherConditions('object')} == ${otherConditions('oldObject')}`,
        message: 'Handover may set only the condition Issuing of Certificates',
      },
    ],
  },
];

/** The conditions Approved and Denied are as they were. */
function approvals(now: string, before: string): string {
  const decided = (root: string): string =>
    `${root}.?status.?conditions.orValue([]).filter(c, c.type in ['Approved', 'Denied']).map(c, c.type + c.status)`;
  return `${decided(now)} == ${decided(before)}`;
}

/** All conditions but Issuing, whole and in order. */
function otherConditions(root: string): string {
  return `${root}.?status.?conditions.orValue([]).filter(c, c.type != 'Issuing')`;
}
