import { AUTHORITY, STATE_LABEL } from '@handover/core';
import { Informer, type Kube, type Secret, secrets } from '@handover/kube';

/** Secrets with the states of authorities, as a watch has them. */
export const followStates = (
  kube: Kube,
  namespace: string,
  signal: AbortSignal,
  onChange: (authority: string) => void,
): Informer<Secret> => {
  const states = new Informer<Secret>(kube, secrets, { namespace, labelSelector: `${STATE_LABEL}=true` });
  states.on('changed', ({ after, before }) => {
    const authority = (after ?? before)?.metadata.annotations?.[AUTHORITY];
    if (authority !== undefined) onChange(authority);
  });
  states.start(signal);
  return states;
};
