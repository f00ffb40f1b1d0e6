import { TRUST_MANAGER } from '@handover/core';
import type { AdmissionRule } from './admission-rules.ts';

const labelOf = (root: string): string => `${root}.metadata.?labels['${TRUST_MANAGER.bundle}'].orValue('')`;

/** A target has the name of its Bundle, and says so. */
const isTarget = (root: string): string => `${labelOf(root)} == ${root}.metadata.name`;

/** True for all that is no target of a Bundle: other policies are about that. */
export const unlessTarget = (resource: 'configmaps' | 'secrets'): string =>
  `request.resource.resource != '${resource}' || !(${isTarget('object')})`;

const ownersOf = (root: string): string => `${root}.metadata.?ownerReferences.orValue([])`;
const isItsBundle = (owner: string): string =>
  `(${owner}.kind == 'Bundle' && ${owner}.apiVersion.startsWith('${TRUST_MANAGER.group}/') && ${owner}.name == object.metadata.name)`;

const was = (field: (root: string) => string): string => `(oldObject == null ? [] : ${field('oldObject')})`;
const finalizersOf = (root: string): string => `${root}.metadata.?finalizers.orValue([])`;

/** Of the targets of Bundles: no owner but the Bundle comes or goes, and nothing else is deleted. */
export const bundleTargetRules = (what: string): readonly AdmissionRule[] => [
  {
    expression: `request.operation != 'DELETE' || ${isTarget('oldObject')}`,
    message: `Handover may delete only ${what} that are targets of a Bundle`,
  },
  {
    expression: `request.operation == 'DELETE' || !(${isTarget('object')}) || (${ownersOf('object')}.all(o, ${isItsBundle('o')} || o in ${was(ownersOf)}) && ${was(ownersOf)}.all(o, ${isItsBundle('o')} || o in ${ownersOf('object')}) && ${finalizersOf('object')} == ${was(finalizersOf)})`,
    message: `Handover may change no owner but the Bundle, and no finalizer, of ${what} that are targets of a Bundle`,
  },
];
