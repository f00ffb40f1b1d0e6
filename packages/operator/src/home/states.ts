import { AUTHORITY, STATE_LABEL } from '@handover/core';
import type { AuthorityId } from '@handover/engine';
import { Informer, type Kube, type Secret, secrets } from '@handover/kube';

/** Follows the Secrets that hold authorities, in the operator's namespace. */
export const followStates = (
  kube: Kube,
  namespace: string,
  signal: AbortSignal,
  changed: (authority: AuthorityId) => void,
): Informer<Secret> => {
  const states = new Informer<Secret>(kube, secrets, { namespace, labelSelector: `${STATE_LABEL}=true` });
  states.on('changed', ({ after, before }) => {
    const authority = (after ?? before)?.metadata.annotations?.[AUTHORITY];
    if (authority !== undefined) changed(authority);
  });
  return states.start(signal);
};
