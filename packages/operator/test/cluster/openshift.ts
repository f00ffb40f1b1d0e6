/**
 * A stand-in for OpenShift's kinds (openshift/api, config/v1), with the fields that Handover reads. Types of profiles
 * are not an enum, so that a test can use one of a later OpenShift.
 */
const text = { type: 'string' };
const empty = { type: 'object', nullable: true };

const crd = (plural: string, kind: string, properties: object): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.config.openshift.io` },
  spec: {
    group: 'config.openshift.io',
    names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
    scope: 'Cluster',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties } },
      },
    ],
  },
});

export const apiServerCrd = (): object =>
  crd('apiservers', 'APIServer', {
    spec: {
      type: 'object',
      properties: {
        audit: { type: 'object', properties: { profile: text } },
        tlsSecurityProfile: {
          type: 'object',
          nullable: true,
          properties: {
            type: text,
            old: empty,
            intermediate: empty,
            modern: empty,
            custom: {
              type: 'object',
              nullable: true,
              properties: {
                ciphers: { type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' },
                minTLSVersion: {
                  type: 'string',
                  enum: ['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'],
                },
              },
            },
          },
        },
      },
    },
  });

export const apiServer = (spec: object): object => ({
  apiVersion: 'config.openshift.io/v1',
  kind: 'APIServer',
  metadata: { name: 'cluster' },
  spec,
});

export const clusterVersionCrd = (): object =>
  crd('clusterversions', 'ClusterVersion', {
    status: {
      type: 'object',
      properties: { desired: { type: 'object', properties: { version: text } } },
    },
  });

export const clusterVersion = (version: string): object => ({
  apiVersion: 'config.openshift.io/v1',
  kind: 'ClusterVersion',
  metadata: { name: 'version' },
  status: { desired: { version } },
});
