import { ADOPT } from '@handover/core';
import type { Place } from './place.ts';

/** How an object of another program is taken over. Admission policies ask for the owner's consent on the object itself. */
export const adoptAdvice = ({ plural, namespace, name }: Place): string => {
  const label = `kubectl${namespace === undefined ? '' : ` -n ${namespace}`} label ${plural} ${name} ${ADOPT}=true`;
  return `set ${ADOPT}: "true" as an annotation of the resource that asks for it, and as a label of the object: ${label}`;
};
