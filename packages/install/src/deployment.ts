import { dirname } from 'node:path/posix';
import { TLS_PROFILE_PATH } from '@handover/material';

/** Where the operator answers /livez and /readyz, and /metrics unless that asks for a token. */
export const HTTP_PORT = 8080;
/** Where it answers /metrics, by TLS, when that asks for a token. */
export const METRICS_PORT = 8443;
/** Where the Secret `<name>-metrics-tls` is, if there is one. */
export const METRICS_CERT = '/metrics-tls';
/** The file with the CAs of `useDefaultCAs`, where a ConfigMap with them is named. */
export const DEFAULT_CAS = '/default-cas/ca.crt';
/** Node lets its heap grow as far as the machine allows; with this it collects before the container's limit (docs/benchmarks/scale.md). */
export const NODE_OPTIONS = '--max-old-space-size=150 --max-semi-space-size=8';

export interface WorkloadOptions {
  readonly name: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly image: string;
  readonly replicas: number;
  /** Arguments behind `handover`. */
  readonly args: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly metricsByToken: boolean;
  /** ConfigMap with the default CAs. */
  readonly defaultCas: string | undefined;
}

interface Volume {
  readonly volume: object;
  readonly mount: object;
}

/**
 * Without the Secret, metrics are served with a certificate of the operator's own making; without the profile's ConfigMap, over TLS 1.2
 * and later. Without the ConfigMap of CAs, Bundles say so.
 */
const volumesOf = ({ name, metricsByToken, defaultCas }: WorkloadOptions): readonly Volume[] => [
  ...(metricsByToken
    ? [
        {
          volume: { name: 'metrics-tls', secret: { secretName: `${name}-metrics-tls`, optional: true } },
          mount: { name: 'metrics-tls', mountPath: METRICS_CERT, readOnly: true },
        },
        {
          volume: {
            name: 'metrics-tls-profile',
            configMap: { name: `${name}-metrics-tls-profile`, optional: true },
          },
          mount: {
            name: 'metrics-tls-profile',
            mountPath: dirname(TLS_PROFILE_PATH),
            readOnly: true,
          },
        },
      ]
    : []),
  ...(defaultCas === undefined
    ? []
    : [
        {
          volume: { name: 'default-cas', configMap: { name: defaultCas, optional: true } },
          mount: { name: 'default-cas', mountPath: dirname(DEFAULT_CAS), readOnly: true },
        },
      ]),
];

const probe = (path: string) => ({ httpGet: { path, port: 'http' }, periodSeconds: 10, timeoutSeconds: 3 });

/** One leads, the others stand by. Its file system is read-only, and no process in it is root. */
export const deployment = (options: WorkloadOptions) => {
  const { name, namespace, serviceAccount, image, replicas, args, labels, metricsByToken } = options;
  const volumes = volumesOf(options);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { 'kubectl.kubernetes.io/default-container': 'handover' } },
        spec: {
          serviceAccountName: serviceAccount,
          terminationGracePeriodSeconds: 30,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65532,
            runAsGroup: 65532,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labels },
            },
          ],
          containers: [
            {
              name: 'handover',
              image,
              args,
              env: [
                { name: 'NODE_OPTIONS', value: NODE_OPTIONS },
                { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
                { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
              ],
              ports: [
                { name: 'http', containerPort: HTTP_PORT },
                ...(metricsByToken ? [{ name: 'metrics', containerPort: METRICS_PORT }] : []),
              ],
              ...(volumes.length === 0 ? {} : { volumeMounts: volumes.map(({ mount }) => mount) }),
              startupProbe: { ...probe('/livez'), periodSeconds: 2, failureThreshold: 30 },
              livenessProbe: probe('/livez'),
              readinessProbe: probe('/readyz'),
              resources: { requests: { cpu: '50m', memory: '96Mi' }, limits: { memory: '256Mi' } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
            },
          ],
          ...(volumes.length === 0 ? {} : { volumes: volumes.map(({ volume }) => volume) }),
        },
      },
    },
  };
};

export const metricsService = ({ name, namespace, labels, metricsByToken }: WorkloadOptions) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: `${name}-metrics`, namespace, labels },
  spec: {
    selector: labels,
    ports: metricsByToken
      ? [{ name: 'metrics', port: METRICS_PORT, targetPort: 'metrics' }]
      : [{ name: 'http', port: HTTP_PORT, targetPort: 'http' }],
  },
});

/** The page for people is on the pod's loopback, which port-forward reaches and no policy is about. */
export const networkPolicy = ({ name, namespace, labels, metricsByToken }: WorkloadOptions) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, namespace, labels },
  spec: {
    podSelector: { matchLabels: labels },
    policyTypes: ['Ingress'],
    ingress: [HTTP_PORT, ...(metricsByToken ? [METRICS_PORT] : [])].map((port) => ({
      ports: [{ protocol: 'TCP', port }],
    })),
  },
});

export const disruptionBudget = ({ name, namespace, labels }: WorkloadOptions) => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace, labels },
  spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
});
