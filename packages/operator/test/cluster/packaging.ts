import {
  apiServices,
  customResourceDefinitions,
  type Kube,
  type KubeObject,
  mutatingWebhookConfigurations,
  type ResourceKind,
  validatingWebhookConfigurations,
} from '@handover/kube';
import { type Declarations, resourcesOfFile } from '@handover/operator';
import { namespaceObject } from '@handover/test-api-server';
import type { Cluster } from '@handover/test-cluster';

/** The world of S0: one server that is an aggregated API and a webhook, and manages its own caBundle. */
export const NAMESPACE = 'packaging';
export const API = 'v1alpha1.data.packaging.carvel.dev';
export const GROUP_PATH = '/apis/data.packaging.carvel.dev/v1alpha1';
export const OLD_POD = 'ZHVtbXktZGF0YS1zaW11bGF0aW5nLW9sZC1wb2Q=';
/** A line feed: installers leave it, and no API server can parse it. */
export const PLACEHOLDER = 'Cg==';

export const resourcesYaml = (
  inject: readonly string[] = ['APIService'],
  more: { authority?: string; leaf?: string } = {},
): string => `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: packaging, namespace: ${NAMESPACE}}
spec: {${more.authority ?? ''}}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: packaging-api, namespace: ${NAMESPACE}}
spec:
  authority: packaging
  dnsNames: [kapp-controller, packaging-api.${NAMESPACE}.svc, localhost]
  ipAddresses: [127.0.0.1]
  usages: [server]
  ${more.leaf ?? ''}
---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: packaging}
spec:
  sources: [{authority: ${NAMESPACE}/packaging}]
  targets:
${inject.map((kind) => `    - {inject: {kind: ${kind}, name: ${FIELDS[kind as FieldName].name}}}`).join('\n')}
`;

export const declarations = (...args: Parameters<typeof resourcesYaml>): Declarations =>
  resourcesOfFile(resourcesYaml(...args), 'packaging.yaml');

interface Field {
  readonly name: string;
  readonly kind: ResourceKind;
  /** JSON pointer to the caBundle. */
  readonly pointer: string;
  read(object: KubeObject | undefined): string | undefined;
}

type Loose = { readonly [name: string]: Loose | undefined } & readonly Loose[];
const at = (object: unknown, pointer: string): string | undefined =>
  pointer
    .split('/')
    .slice(1)
    .reduce<Loose | undefined>((value, name) => value?.[name], object as Loose) as string | undefined;

const field = (name: string, kind: ResourceKind, pointer: string): Field => ({
  name,
  kind,
  pointer,
  read: (object) => at(object, pointer),
});

export const FIELDS = {
  APIService: field(API, apiServices, '/spec/caBundle'),
  ValidatingWebhookConfiguration: field(
    'packaging-check',
    validatingWebhookConfigurations,
    '/webhooks/0/clientConfig/caBundle',
  ),
  MutatingWebhookConfiguration: field(
    'packaging-change',
    mutatingWebhookConfigurations,
    '/webhooks/0/clientConfig/caBundle',
  ),
  CustomResourceDefinition: field(
    'things.packaging.example.com',
    customResourceDefinitions,
    '/spec/conversion/webhook/clientConfig/caBundle',
  ),
} as const satisfies Record<string, Field>;
export type FieldName = keyof typeof FIELDS;
export const FIELD_NAMES = Object.keys(FIELDS) as readonly FieldName[];

export const caBundle = async (kube: Kube, kind: FieldName): Promise<string | undefined> =>
  FIELDS[kind].read(await kube.get(FIELDS[kind].kind, { name: FIELDS[kind].name }));

/** An edit by another manager; `value` undefined removes the field. */
export const spoil = (
  kube: Kube,
  kind: FieldName,
  value: string | undefined,
  manager = 'other-manager',
): Promise<KubeObject> =>
  kube.patch(
    FIELDS[kind].kind,
    { name: FIELDS[kind].name },
    {
      json: [
        value === undefined
          ? { op: 'remove', path: FIELDS[kind].pointer }
          : { op: 'add', path: FIELDS[kind].pointer, value },
      ],
      fieldManager: manager,
    },
  );

const clientConfig = (port: number, path: string) => ({
  service: { name: 'packaging-api', namespace: NAMESPACE, path, port },
});
const webhook = (name: string, port: number) => ({
  name,
  clientConfig: clientConfig(port, '/admit'),
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Fail',
  matchConditions: [],
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE } },
  objectSelector: { matchLabels: { asks: 'the-webhook' } },
  rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
});

/** Everything that an installer creates, without any caBundle. */
export const installPackaging = async (cluster: Cluster, port: number): Promise<void> => {
  await cluster.apply(namespaceObject(NAMESPACE));
  await cluster.apply(
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'packaging-api', namespace: NAMESPACE },
      spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: API },
      spec: {
        group: 'data.packaging.carvel.dev',
        version: 'v1alpha1',
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        service: { name: 'packaging-api', namespace: NAMESPACE, port },
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'packaging-check' },
      webhooks: [webhook('check.packaging.example.com', port)],
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'packaging-change' },
      webhooks: [webhook('change.packaging.example.com', port)],
    },
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.packaging.example.com' },
      spec: {
        group: 'packaging.example.com',
        names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
        scope: 'Namespaced',
        conversion: {
          strategy: 'Webhook',
          webhook: { conversionReviewVersions: ['v1'], clientConfig: clientConfig(port, '/convert') },
        },
        versions: ['v1', 'v2'].map((name) => ({
          name,
          served: true,
          storage: name === 'v1',
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        })),
      },
    },
  );
};
