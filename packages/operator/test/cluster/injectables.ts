import {
  apiServices,
  customResourceDefinitions,
  type KubeObject,
  mutatingWebhookConfigurations,
  type ResourceKind,
  validatingWebhookConfigurations,
} from '@handover/kube';
import type { Stage } from './stage.ts';

const clientConfig = { service: { name: 'hook', namespace: 'default', path: '/' } };
const webhook = (name: string, caBundle?: string) => ({
  name,
  clientConfig: { ...clientConfig, ...(caBundle === undefined ? {} : { caBundle }) },
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  rules: [{ apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] }],
  failurePolicy: 'Ignore',
});

type Annotations = Readonly<Record<string, string>>;

/** A kind of object with caBundles, and an example of it. */
export interface Injectable {
  readonly kind: ResourceKind;
  /** The full name of an object of this kind, from a short one. */
  readonly named: (name: string) => string;
  readonly make: (name: string, annotations?: Annotations, caBundle?: string) => object;
  /** Every caBundle in it, decoded; '' where there is none. */
  readonly bundles: (object: KubeObject) => readonly string[];
}

const decoded = (value: string | undefined): string => Buffer.from(value ?? '', 'base64').toString('utf8');

const webhooks = (kind: ResourceKind): Injectable => ({
  kind,
  named: (name) => name,
  make: (name, annotations = {}, caBundle) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: kind.kind,
    metadata: { name, annotations },
    webhooks: [webhook('a.example.com', caBundle), webhook('b.example.com', caBundle)],
  }),
  bundles: (object) =>
    (object as unknown as { webhooks: { clientConfig: { caBundle?: string } }[] }).webhooks.map((one) =>
      decoded(one.clientConfig.caBundle),
    ),
});

export const INJECTABLES: Readonly<Record<string, Injectable>> = {
  ValidatingWebhookConfiguration: webhooks(validatingWebhookConfigurations),
  MutatingWebhookConfiguration: webhooks(mutatingWebhookConfigurations),
  APIService: {
    kind: apiServices,
    named: (name) => `v1.${name}.example.com`,
    make: (name, annotations = {}, caBundle) => ({
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1.${name}.example.com`, annotations },
      spec: {
        group: `${name}.example.com`,
        version: 'v1',
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        service: { name: 'api', namespace: 'default' },
        ...(caBundle === undefined ? {} : { caBundle }),
      },
    }),
    bundles: (object) => [decoded((object as unknown as { spec: { caBundle?: string } }).spec.caBundle)],
  },
  CustomResourceDefinition: {
    kind: customResourceDefinitions,
    named: (name) => `${name}s.example.com`,
    make: (name, annotations = {}, caBundle) => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${name}s.example.com`, annotations },
      spec: {
        group: 'example.com',
        names: { kind: `K${name}`, plural: `${name}s`, singular: name, listKind: `K${name}List` },
        scope: 'Namespaced',
        conversion: {
          strategy: 'Webhook',
          webhook: {
            conversionReviewVersions: ['v1'],
            clientConfig: { ...clientConfig, ...(caBundle === undefined ? {} : { caBundle }) },
          },
        },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    }),
    bundles: (object) => [
      decoded(
        (
          object as unknown as {
            spec: { conversion: { webhook: { clientConfig: { caBundle?: string } } } };
          }
        ).spec.conversion.webhook.clientConfig.caBundle,
      ),
    ],
  },
};

/** The present caBundles of an object. */
export const bundlesOf = async (
  stage: Stage,
  { kind, named, bundles }: Injectable,
  name: string,
): Promise<readonly string[]> => {
  const found = await stage.kube.get(kind, { name: named(name) });
  return found === undefined ? [] : bundles(found);
};
