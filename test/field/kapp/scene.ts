import { resource } from '../../../packages/operator/test/cluster/stage.ts';

/** The objects of kapp-controller's case: one server that is an aggregated API and a webhook. */
export const NAMESPACE = 'packaging';
export const API = 'v1alpha1.data.packaging.carvel.dev';
export const GROUP_PATH = '/apis/data.packaging.carvel.dev/v1alpha1';
export const WEBHOOK = 'packaging-check';
const SERVICE = 'packaging-api';

const named = (kind: string, apiVersion: string, name: string, more: object, namespace?: string): object => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  ...more,
});
const RBAC = 'rbac.authorization.k8s.io/v1';

/** Which verbs the server's account has for its two fields: `update` to publish, as before, or only `get`. */
export const rights = (...verbs: readonly string[]): object =>
  named('ClusterRole', RBAC, SERVICE, {
    rules: [
      { apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], resourceNames: [API], verbs },
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['validatingwebhookconfigurations'],
        resourceNames: [WEBHOOK],
        verbs,
      },
    ],
  });

/** What an installer creates, without any caBundle. */
export const installed = (): readonly object[] => [
  named('ServiceAccount', 'v1', SERVICE, {}, NAMESPACE),
  named('ClusterRoleBinding', RBAC, SERVICE, {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: SERVICE },
    subjects: [{ kind: 'ServiceAccount', name: SERVICE, namespace: NAMESPACE }],
  }),
  named(
    'Service',
    'v1',
    SERVICE,
    { spec: { selector: { serves: SERVICE }, ports: [{ port: 443, targetPort: 8443 }] } },
    NAMESPACE,
  ),
  named('APIService', 'apiregistration.k8s.io/v1', API, {
    spec: {
      group: 'data.packaging.carvel.dev',
      version: 'v1alpha1',
      groupPriorityMinimum: 1000,
      versionPriority: 15,
      service: { name: SERVICE, namespace: NAMESPACE },
    },
  }),
  named('ValidatingWebhookConfiguration', 'admissionregistration.k8s.io/v1', WEBHOOK, {
    webhooks: [
      {
        name: 'check.packaging.example.com',
        clientConfig: { service: { name: SERVICE, namespace: NAMESPACE, path: '/check' } },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        timeoutSeconds: 30,
        objectSelector: { matchLabels: { asks: 'the-webhook' } },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      },
    ],
  }),
];

export type Build = 'selfsigned' | 'mounted';

/** `behind`: whether the Service leads to its pods. */
/** Of pods that serve nothing there are two, so that two CAs are written by turns. */
export const deployment = (build: Build, image: string, name = SERVICE, behind = true): object =>
  named(
    'Deployment',
    'apps/v1',
    name,
    {
      spec: {
        replicas: behind ? 1 : 2,
        // Longer than the loop of 30 s: both builds serve beside each other while the old one tries to write.
        minReadySeconds: 40,
        selector: { matchLabels: { app: name } },
        strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        template: {
          metadata: {
            labels: { app: name, ...(behind ? { serves: SERVICE } : {}) },
            annotations:
              build === 'mounted' ? { 'handover.dev/reload': 'hot', 'handover.dev/probe': '8443' } : {},
          },
          spec: {
            serviceAccountName: SERVICE,
            terminationGracePeriodSeconds: 20,
            containers: [
              {
                name: 'main',
                image,
                imagePullPolicy: 'Never',
                command: [`/app/${build}`],
                env: [{ name: 'SERVICE', value: `${SERVICE}.${NAMESPACE}.svc` }],
                readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1, timeoutSeconds: 5 },
                // Serves until the Service has forgotten it.
                lifecycle: { preStop: { sleep: { seconds: 5 } } },
                volumeMounts: build === 'mounted' ? [{ name: 'tls', mountPath: '/tls' }] : [],
              },
            ],
            volumes: build === 'mounted' ? [{ name: 'tls', secret: { secretName: SERVICE } }] : [],
          },
        },
      },
    },
    NAMESPACE,
  );

/** Ours, with what the old pod published as a further source while it runs. */
export const takenOver = (old: string | undefined): readonly object[] => [
  resource('Authority', 'packaging', { rotation: { reloadWithin: '90s' } }, NAMESPACE),
  resource(
    'Leaf',
    SERVICE,
    {
      authority: 'packaging',
      secretName: SERVICE,
      dnsNames: [`${SERVICE}.${NAMESPACE}.svc`],
      usages: ['server'],
    },
    NAMESPACE,
  ),
  resource('TrustBundle', 'packaging', {
    sources: [{ authority: `${NAMESPACE}/packaging` }, ...(old === undefined ? [] : [{ inline: old }])],
    targets: [
      { inject: { kind: 'APIService', name: API } },
      { inject: { kind: 'ValidatingWebhookConfiguration', name: WEBHOOK } },
    ],
  }),
];
