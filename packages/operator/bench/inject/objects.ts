import type { KubeObject } from '@handover/kube';

/** The number of objects of each kind. */
export interface Size {
  readonly webhooks: number;
  readonly crds: number;
}

const clientConfig = { service: { name: 'hook', namespace: 'default', path: '/' } };

const webhookConfiguration = (index: number, annotations: Readonly<Record<string, string>>): KubeObject => {
  const validating = index % 2 === 0;
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: validating ? 'ValidatingWebhookConfiguration' : 'MutatingWebhookConfiguration',
    metadata: { name: `bench-${index}`, annotations },
    webhooks: [
      {
        name: 'hook.bench.example.com',
        clientConfig,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Ignore',
        // Matches no object, so that the API server never calls the webhooks.
        rules: [
          {
            apiGroups: ['never.example.com'],
            apiVersions: ['v1'],
            operations: ['CREATE'],
            resources: ['things'],
          },
        ],
      },
    ],
  };
};

const SENTENCE =
  'This field says how the component behaves when the condition it names is met, and what happens to requests meanwhile. ';

/** A structural schema of about `bytes` bytes as JSON, shaped like those that controller-gen prints: nested, with prose. */
const schemaOf = (bytes: number): object => {
  const field = (index: number) => ({
    type: 'string',
    description: `${SENTENCE.repeat(3)}Number ${index}.`,
  });
  const group = (index: number) => ({
    type: 'object',
    description: SENTENCE.repeat(2),
    properties: Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`field${index}x${at}`, field(at)])),
  });
  const one = JSON.stringify(group(0)).length + 12;
  const count = Math.max(1, Math.round(bytes / one));
  return {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`group${at}`, group(at)])),
      },
    },
  };
};

/**
 * Sizes as in real clusters: mostly tens of kilobytes, some hundreds (Prometheus, cert-manager and Gateway API have several
 * over 200 KB each).
 */
const SIZES_KB = [12, 18, 25, 40, 60, 60, 90, 120, 250, 400] as const;

const crd = (index: number, annotations: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `benches${index}.bench.example.com`, annotations },
  spec: {
    group: 'bench.example.com',
    names: {
      kind: `Bench${index}`,
      plural: `benches${index}`,
      singular: `bench${index}`,
      listKind: `Bench${index}List`,
    },
    scope: 'Namespaced',
    conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: schemaOf((SIZES_KB[index % SIZES_KB.length] ?? 60) * 1_000) },
      },
    ],
  },
});

export const objectsOf = function* (
  { webhooks, crds }: Size,
  annotations: Readonly<Record<string, string>>,
): Generator<KubeObject> {
  for (let index = 0; index < crds; index++) yield crd(index, annotations);
  for (let index = 0; index < webhooks; index++) yield webhookConfiguration(index, annotations);
};

/** A minimal Certificate CRD: cainjector watches Certificates by default and does not start without it. */
export const certificateCrd: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'certificates.cert-manager.io' },
  spec: {
    group: 'cert-manager.io',
    names: {
      kind: 'Certificate',
      plural: 'certificates',
      singular: 'certificate',
      listKind: 'CertificateList',
    },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
