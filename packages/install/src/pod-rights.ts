import { ALL_SIGNERS } from '@handover/core';
import type { Row } from './right.ts';

const rowFor = { feature: 'pod-certificates' } as const;

/** What it takes to sign PodCertificateRequests. */
export const POD_RIGHTS: readonly Row[] = [
  {
    ...rowFor,
    reach: 'cluster',
    group: 'certificates.k8s.io',
    resources: ['podcertificaterequests'],
    verbs: ['list', 'watch'],
    why: 'which pods ask for a certificate, and which they got',
    without: 'pod certificates: PodCertificateRequests are not signed',
  },
  {
    ...rowFor,
    reach: 'cluster',
    group: 'certificates.k8s.io',
    resources: ['podcertificaterequests/status'],
    verbs: ['patch'],
    why: 'the certificate, or the reason why there is none',
  },
  {
    ...rowFor,
    reach: 'cluster',
    group: 'certificates.k8s.io',
    resources: ['signers'],
    verbs: ['sign'],
    names: [ALL_SIGNERS],
    why: 'without it the API server takes no answer; signers of other domains stay out of reach',
  },
  {
    ...rowFor,
    reach: 'cluster',
    group: '',
    resources: ['services'],
    verbs: ['list', 'watch'],
    why: 'the DNS names of a pod: those of the Services that select it',
  },
];
