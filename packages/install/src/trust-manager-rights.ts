import { TRUST_MANAGER } from '@handover/core';
import type { Row } from './row.ts';

/** With `--compat trust-manager`. Reading and writing ConfigMaps and Secrets is a right of the operator anyway; deleting is not. */
export const TRUST_MANAGER_RIGHTS: readonly Row[] = [
  {
    reach: 'cluster',
    group: TRUST_MANAGER.group,
    resources: ['bundles'],
    verbs: ['list', 'watch'],
    feature: 'trust-manager',
    why: 'Bundles, as users wrote them for trust-manager',
  },
  {
    reach: 'cluster',
    group: TRUST_MANAGER.group,
    resources: ['bundles/status'],
    verbs: ['patch'],
    feature: 'trust-manager',
    why: 'status of Bundles',
  },
  {
    reach: 'cluster',
    group: TRUST_MANAGER.group,
    resources: ['bundles/finalizers'],
    verbs: ['update'],
    feature: 'trust-manager',
    why: 'OpenShift asks for this before a Bundle may own its targets',
  },
  {
    reach: 'watched',
    group: '',
    resources: ['configmaps'],
    verbs: ['delete'],
    feature: 'trust-manager',
    why: 'ConfigMaps in namespaces that a Bundle no longer selects; the policy bundle-targets allows no other',
  },
  {
    reach: 'watched',
    group: '',
    resources: ['secrets'],
    verbs: ['delete'],
    feature: 'secret-targets',
    why: 'Secrets in namespaces that a Bundle no longer selects; the policy bundle-secrets allows no other',
  },
];
