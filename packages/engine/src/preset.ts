import { API_VERSION, parseResources, type Resource } from '@handover/core';

/** A Secret of random bytes beside the certificates; made once, and never touched again. */
export interface RandomSecret {
  readonly object: string;
  readonly key: string;
  readonly bytes: number;
}

export interface Preset {
  readonly resources: readonly Resource[];
  readonly randomSecrets: readonly RandomSecret[];
}

const LABELS = { 'control-plane': 'envoy-gateway' };

const leaf = (namespace: string, name: string, dnsNames: readonly string[]) => ({
  apiVersion: API_VERSION,
  kind: 'Leaf',
  metadata: { name, namespace, labels: LABELS },
  spec: {
    authority: 'envoy-gateway-ca',
    secretName: name,
    subject: { commonName: name },
    dnsNames,
    usages: ['server', 'client'],
    lifetime: '1y',
  },
});

/** The Secrets of Envoy Gateway's own certgen: same names, keys, types and SANs (its PR 8534 and the code around it). */
export const envoyGateway = (namespace: string, domain = 'cluster.local'): Preset => {
  const name = 'envoy-gateway';
  const values = [
    {
      apiVersion: API_VERSION,
      kind: 'Authority',
      metadata: { name: 'envoy-gateway-ca', namespace, labels: LABELS },
      // A Job cannot wait between two writes: X carries the new CA to whoever has not loaded it yet.
      spec: { rotation: { strategy: 'Instant', settle: '3m' } },
    },
    leaf(namespace, name, [
      name,
      `${name}.${namespace}`,
      `${name}.${namespace}.svc`,
      `${name}.${namespace}.svc.${domain}`,
    ]),
    leaf(namespace, 'envoy', [`*.${namespace}`]),
    leaf(namespace, 'envoy-rate-limit', [`*.${namespace}`]),
  ];
  return {
    resources: parseResources(values.map((value) => ({ value, where: 'preset envoy-gateway' }))),
    randomSecrets: [{ object: `${namespace}/secrets/envoy-oidc-hmac`, key: 'hmac-secret', bytes: 32 }],
  };
};
