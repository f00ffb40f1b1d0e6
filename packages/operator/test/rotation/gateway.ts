export const GATEWAY = 'envoy-gateway-system';

/** One Deployment that plays a part of Envoy Gateway. */
export interface Part {
  readonly name: string;
  readonly secret: string;
  /** `frozen`: reads its files once. */
  readonly manner: 'polling' | 'frozen';
  /** Seconds between seeing new files and loading them. */
  readonly delay: number;
}

const RATE_LIMIT: Part = {
  name: 'envoy-ratelimit',
  secret: 'envoy-rate-limit',
  manner: 'frozen',
  delay: 0,
};

/** S3.6: delays of 0, 30 and 90 s; and Rate Limit, which never reloads. */
export const PARTS: readonly Part[] = [
  { name: 'envoy-gateway', secret: 'envoy-gateway', manner: 'polling', delay: 0 },
  { name: 'envoy', secret: 'envoy', manner: 'polling', delay: 30 },
  { name: 'envoy-late', secret: 'envoy', manner: 'polling', delay: 90 },
  RATE_LIMIT,
];

/** Every direction in which the parts call. */
export const DIRECTIONS: readonly string[] = PARTS.flatMap((from) =>
  PARTS.filter((to) => to !== from).map((to) => `${from.name} → ${to.name}`),
);

/** How Rate Limit is rolled: old and new pods serve side by side for a while, or the old one goes first. */
export type Rolling = 'overlapping' | 'one at a time';
const ROLLING = {
  overlapping: { minReadySeconds: 20, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
  'one at a time': { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } },
} as const satisfies Record<Rolling, object>;

/** There is no DNS in the cluster. */
const addressOf = ({ name }: Part): string => `10.96.0.${40 + PARTS.findIndex((part) => part.name === name)}`;

const service = (part: Part): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: part.name, namespace: GATEWAY },
  spec: {
    clusterIP: addressOf(part),
    selector: { app: part.name },
    ports: [{ name: 'tls', port: 8443, targetPort: 8443 }],
  },
});

export interface GatewayOptions {
  readonly image: string;
  readonly collector: string;
  /** Calls per second of each pod. */
  readonly rate: number;
}

const deployment = (part: Part, rolling: Rolling, { image, collector, rate }: GatewayOptions): object => {
  const { name, secret, manner, delay } = part;
  const targets = PARTS.filter((other) => other !== part).map((other) => ({
    name: other.name,
    address: `${addressOf(other)}:8443`,
    servername: `${other.secret}.${GATEWAY}.svc`,
    anyName: other.secret !== 'envoy-gateway',
  }));
  const fieldOf = (fieldPath: string): object => ({ valueFrom: { fieldRef: { fieldPath } } });
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: GATEWAY },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      ...ROLLING[rolling],
      template: {
        metadata: { labels: { app: name } },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 20,
          containers: [
            {
              name: 'main',
              image,
              imagePullPolicy: 'Never',
              env: [
                { name: 'MESH', value: JSON.stringify({ name, manner, delay, rate, collector, targets }) },
                { name: 'POD_NAME', ...fieldOf('metadata.name') },
              ],
              readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1, timeoutSeconds: 5 },
              // Keeps serving until all clients have learnt of its end.
              lifecycle: { preStop: { sleep: { seconds: 5 } } },
              resources: { requests: { cpu: '50m' } },
              volumeMounts: [{ name: 'tls', mountPath: '/tls' }],
            },
          ],
          volumes: [{ name: 'tls', secret: { secretName: secret } }],
        },
      },
    },
  };
};

export const gateway = (options: GatewayOptions): readonly object[] =>
  PARTS.flatMap((part) => [service(part), deployment(part, 'overlapping', options)]);

export const rateLimit = (rolling: Rolling, options: GatewayOptions): object =>
  deployment(RATE_LIMIT, rolling, options);

/** As its users have it: the only pod must stay available, except for a rollout. */
export const rateLimitBudget = (): object => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: RATE_LIMIT.name, namespace: GATEWAY },
  spec: { minAvailable: 1, selector: { matchLabels: { app: RATE_LIMIT.name } } },
});

/** The recipe's Job under another name. */
export const jobNamed = (recipe: object | undefined, name: string): object => ({
  ...recipe,
  metadata: { name, namespace: GATEWAY },
});
