import { API_VERSION, parseResources, RELOAD, type Resource, USED_BY } from '@handover/core';

/** A Secret of random bytes beside the certificates; created once, and never changed. */
export interface RandomSecret {
  readonly object: string;
  readonly key: string;
  readonly bytes: number;
  readonly labels: Readonly<Record<string, string>>;
}

export interface Preset {
  readonly resources: readonly Resource[];
  readonly randomSecrets: readonly RandomSecret[];
}

const LABELS = { 'control-plane': 'envoy-gateway' };

const leaf = (
  namespace: string,
  name: string,
  dnsNames: readonly string[],
  annotations: Readonly<Record<string, string>>,
) => ({
  apiVersion: API_VERSION,
  kind: 'Leaf',
  metadata: { name, namespace, labels: LABELS, annotations },
  spec: {
    authority: 'envoy-gateway-ca',
    secretName: name,
    subject: { commonName: name },
    dnsNames,
    usages: ['server', 'client'],
    // As upstream's certificates, and as long as its CA: a leaf is replaced when the CA is, after four years.
    lifetime: '5y',
  },
});

const injector = (namespace: string) => ({
  apiVersion: API_VERSION,
  kind: 'TrustBundle',
  metadata: { name: `envoy-gateway-ca.${namespace}` },
  spec: {
    sources: [{ authority: `${namespace}/envoy-gateway-ca` }],
    targets: [
      {
        inject: {
          kind: 'MutatingWebhookConfiguration',
          name: `envoy-gateway-topology-injector.${namespace}`,
        },
      },
    ],
  },
});

/** Envoy follows its files; Envoy Gateway reads them at each handshake (its crypto.LoadTLSConfig). */
const FOLLOWS = { [RELOAD]: 'hot' };
/** Rate Limit reads its CA once, when it starts (issue 4891). Only its pods read its Secret. */
const READS_ONCE = { [RELOAD]: 'restart', [USED_BY]: 'nobody' };

export interface EnvoyGatewayOptions {
  readonly domain?: string | undefined;
  /** Whether to manage the topology injector's webhook too. Default: true. */
  readonly topologyInjector?: boolean | undefined;
}

/**
 * The Secrets of Envoy Gateway's own certgen: same names, keys, types and SANs (its PR 8534 and the code around it), and the
 * webhook that it patches.
 */
export const envoyGateway = (
  namespace: string,
  { domain = 'cluster.local', topologyInjector = true }: EnvoyGatewayOptions = {},
): Preset => {
  const name = 'envoy-gateway';
  const values = [
    {
      apiVersion: API_VERSION,
      kind: 'Authority',
      metadata: { name: 'envoy-gateway-ca', namespace, labels: LABELS },
      // A Job cannot wait between two writes: until a verifier has loaded the new CA, the cross-certificate makes it accept new leaves.
      spec: {
        rotation: { strategy: 'Instant', reloadWithin: '3m' },
        // Secrets of Envoy Gateway's own certgen share one CA, whose key was not kept.
        adopt: { secret: name },
      },
    },
    leaf(
      namespace,
      name,
      [name, `${name}.${namespace}`, `${name}.${namespace}.svc`, `${name}.${namespace}.svc.${domain}`],
      FOLLOWS,
    ),
    leaf(namespace, 'envoy', [`*.${namespace}`], FOLLOWS),
    leaf(namespace, 'envoy-rate-limit', [`*.${namespace}`], READS_ONCE),
    ...(topologyInjector ? [injector(namespace)] : []),
  ];
  return {
    resources: parseResources(values.map((value) => ({ value, where: 'preset envoy-gateway' }))),
    randomSecrets: [
      { object: `${namespace}/secrets/envoy-oidc-hmac`, key: 'hmac-secret', bytes: 32, labels: LABELS },
    ],
  };
};
