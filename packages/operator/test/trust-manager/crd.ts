import { TRUST_MANAGER } from '@handover/core';

/** The kind alone: the fields of a Bundle are not checked. A cluster with trust-manager has trust-manager's own definition. */
export const BUNDLE_CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `bundles.${TRUST_MANAGER.group}` },
  spec: {
    group: TRUST_MANAGER.group,
    scope: 'Cluster',
    names: { plural: 'bundles', singular: 'bundle', kind: 'Bundle', listKind: 'BundleList' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
} as const;
