import type { Kube } from '@handover/kube';
import type { Instant } from '@handover/material';
import { OperatorError } from '../error.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import { certificates, withCondition } from './kinds.ts';

export interface AskOptions {
  readonly kube: Kube;
  readonly signal: AbortSignal;
  readonly now: () => Instant;
}

/** Sets the condition Issuing of a Certificate, on version `expect` of it, else `CONFLICT`. */
export async function askCertificate(
  { kube, signal, now }: AskOptions,
  which: { readonly namespace: string; readonly name: string },
  expect: string,
  why: string,
): Promise<void> {
  const found = await kube.get(certificates, which, { signal });
  if (found?.metadata.resourceVersion !== expect)
    throw new OperatorError('CONFLICT', `Certificate ${which.namespace}/${which.name} changed`);
  const { generation } = found.metadata;
  const conditions = withCondition(found.status?.conditions ?? [], {
    type: 'Issuing',
    status: 'True',
    reason: 'AuthorityRotated',
    message: `Handover asks for a new certificate: ${why}`,
    lastTransitionTime: new Date(now()).toISOString().replace(/\.\d+Z$/, 'Z'),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  });
  await kube.patch(
    certificates,
    { ...which, subresource: 'status' },
    {
      merge: { metadata: { resourceVersion: expect }, status: { conditions } },
      fieldManager: FIELD_MANAGER,
      signal,
    },
  );
}
