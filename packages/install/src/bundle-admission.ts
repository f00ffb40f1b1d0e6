import { ADOPT, MANAGED_LABEL, TRUST_MANAGER } from '@handover/core';
import { type AdmissionRule, had, mustBeAgreed } from './admission-rules.ts';

const labelOf = (root: string): string => `${root}.metadata.?labels['${TRUST_MANAGER.bundle}'].orValue('')`;

const isManaged = (root: string): string =>
  `${root}.metadata.?labels['${MANAGED_LABEL}'].orValue('') == 'true'`;

/** A target has the name of its Bundle, and says so. What Handover keeps for its own resources is none, whatever its labels say. */
const isTarget = (root: string): string =>
  `(${labelOf(root)} == ${root}.metadata.name && !(${isManaged(root)}))`;

/** True for all that is no target of a Bundle: other policies are about that. */
export const unlessTarget = (resource: 'configmaps' | 'secrets'): string =>
  `request.resource.resource != '${resource}' || !(${isTarget('object')})`;

const ownersOf = (root: string): string => `${root}.metadata.?ownerReferences.orValue([])`;
const isItsBundle = (owner: string): string =>
  `(${owner}.kind == 'Bundle' && ${owner}.apiVersion.startsWith('${TRUST_MANAGER.group}/') && ${owner}.name == object.metadata.name)`;

const was = (field: (root: string) => string): string => `(oldObject == null ? [] : ${field('oldObject')})`;
const finalizersOf = (root: string): string => `${root}.metadata.?finalizers.orValue([])`;

const hashOf = (root: string): string => `${root}.metadata.?annotations['${TRUST_MANAGER.hash}'].orValue('')`;

/** A target before this write, also one that lost its label or its owner; or given over by its owner. */
const wasGiven = [
  'oldObject == null',
  isTarget('oldObject'),
  `(${labelOf('oldObject')} == '' && ${hashOf('oldObject')} != '')`,
  `${ownersOf('oldObject')}.exists(o, ${isItsBundle('o')})`,
  `${had('labels', ADOPT)} == 'true'`,
].join(' || ');

/**
 * Of the targets of Bundles: an object with another owner becomes none without that owner's word, an object that Handover keeps never does, no
 * owner but the Bundle comes or goes, and nothing else is deleted.
 */
export const bundleTargetRules = (what: string): readonly AdmissionRule[] => [
  {
    expression: `request.operation != 'DELETE' || ${isTarget('oldObject')}`,
    message: `Handover may delete only ${what} that are targets of a Bundle`,
  },
  {
    expression: `request.operation == 'DELETE' || !(${isTarget('object')}) || (${ownersOf('object')}.all(o, ${isItsBundle('o')} || o in ${was(ownersOf)}) && ${was(ownersOf)}.all(o, ${isItsBundle('o')} || o in ${ownersOf('object')}) && ${finalizersOf('object')} == ${was(finalizersOf)})`,
    message: `Handover may change no owner but the Bundle, and no finalizer, of ${what} that are targets of a Bundle`,
  },
  {
    // A Bundle writes its hash into each target.
    expression: `request.operation == 'DELETE' || oldObject == null || !(${isManaged('oldObject')}) || (${isManaged('object')} && ${hashOf('object')} == ${hashOf('oldObject')})`,
    message: `Handover may write no Bundle into ${what} that it keeps for its own resources`,
  },
  mustBeAgreed(
    `${what} for a Bundle`,
    `request.operation == 'DELETE' || !(${isTarget('object')}) || ${wasGiven}`,
  ),
];
