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

/** S3.6: delays of 0, 30 and 90 s; and Rate Limit, which never reloads. */
export const PARTS: readonly Part[] = [
  { name: 'envoy-gateway', secret: 'envoy-gateway', manner: 'polling', delay: 0 },
  { name: 'envoy', secret: 'envoy', manner: 'polling', delay: 30 },
  { name: 'envoy-late', secret: 'envoy', manner: 'polling', delay: 90 },
  { name: 'envoy-ratelimit', secret: 'envoy-rate-limit', manner: 'frozen', delay: 0 },
];

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

const deployment = (part: Part, image: string, collector: string, rate: number): object => {
  const { name, secret, manner, delay } = part;
  const targets = PARTS.filter((other) => other !== part).map((other) => ({
    name: other.name,
    address: `${addressOf(other)}:8443`,
    servername: `${other.secret}.${GATEWAY}.svc`,
  }));
  const fieldOf = (fieldPath: string): object => ({ valueFrom: { fieldRef: { fieldPath } } });
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: GATEWAY },
    spec: {
      selector: { matchLabels: { app: name } },
      strategy: { rollingUpdate: { maxSurge: '100%', maxUnavailable: 0 } },
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
              lifecycle: { preStop: { sleep: { seconds: 2 } } },
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

export const gateway = (image: string, collector: string, rate: number): readonly object[] =>
  PARTS.flatMap((part) => [service(part), deployment(part, image, collector, rate)]);

interface JobObject {
  readonly metadata: object;
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly [{ readonly args: readonly string[] } & object] };
    };
  };
}

/** The recipe's Job under another name, with resources from a ConfigMap instead of the preset. */
export const jobWithFile = (recipe: object, name: string): object => {
  const job = recipe as JobObject;
  const { spec } = job.spec.template;
  const [container] = spec.containers;
  const args = container.args.map((word) =>
    word === '--preset=envoy-gateway' ? '--file=/config/gateway.yaml' : word,
  );
  return {
    ...job,
    metadata: { ...job.metadata, name },
    spec: {
      ...job.spec,
      template: {
        spec: {
          ...spec,
          containers: [{ ...container, args, volumeMounts: [{ name: 'config', mountPath: '/config' }] }],
          volumes: [{ name: 'config', configMap: { name: 'certgen' } }],
        },
      },
    },
  };
};
