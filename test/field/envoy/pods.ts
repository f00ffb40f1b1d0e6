import { argumentsFor, filesOf, type Upstream, type Watching } from './config.ts';

const [MTLS, PLAIN, ADMIN] = [8443, 9000, 9901];

/** A Deployment and its Service, which has a fixed address: the cluster has no DNS. */
interface Part {
  readonly namespace: string;
  readonly name: string;
  readonly address: string;
  readonly secret: string;
  /** A ConfigMap that gives ca.crt instead of the Secret. */
  readonly trust?: string;
  readonly image: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface EnvoyPart extends Part {
  readonly watching: Watching;
  readonly upstreams: readonly Upstream[];
}

/** The mesh's own program (packages/operator/test/rotation/pod). */
export interface NodePart extends Part {
  readonly setting: Readonly<Record<string, unknown>>;
  /** Default: a new pod is ready before an old one goes. */
  readonly strategy?: object;
}

export const mtlsAddress = ({ address }: Part): string => `${address}:${MTLS}`;

/** Where a caller finds what this Envoy forwards, named `ENVOY → UPSTREAM`. */
export const through = ({ name, address, upstreams }: EnvoyPart): readonly object[] =>
  upstreams.map((upstream, index) => ({
    name: `${name} → ${upstream.name}`,
    address: `${address}:${PLAIN + index}`,
  }));

const service = ({ namespace, name, address }: Part, ports: readonly number[]): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: {
    clusterIP: address,
    selector: { app: name },
    ports: ports.map((port) => ({ name: `p${port}`, port, targetPort: port })),
  },
});

const READY_SECONDS = { periodSeconds: 1, timeoutSeconds: 5 };

interface Pod {
  readonly container: object;
  readonly volumes?: readonly object[];
  readonly mounts?: readonly object[];
  readonly strategy?: object;
}
const files = ({ secret, trust }: Part): object => {
  if (trust === undefined) return { secret: { secretName: secret } };
  const only = (...keys: readonly string[]) => keys.map((key) => ({ key, path: key }));
  const sources = [
    { secret: { name: secret, items: only('tls.crt', 'tls.key') } },
    { configMap: { name: trust, items: only('ca.crt') } },
  ];
  return { projected: { sources } };
};

const deployment = (part: Part, { container, volumes = [], mounts = [], strategy }: Pod): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: part.name, namespace: part.namespace },
  spec: {
    selector: { matchLabels: { app: part.name } },
    strategy: strategy ?? { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: { labels: { app: part.name }, annotations: part.annotations ?? {} },
      spec: {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: 20,
        containers: [
          {
            name: 'main',
            image: part.image,
            imagePullPolicy: 'Never',
            // Without a request a pod gets next to nothing of a busy machine.
            resources: { requests: { cpu: '50m' } },
            volumeMounts: [{ name: 'tls', mountPath: '/tls' }, ...mounts],
            ...container,
          },
        ],
        volumes: [{ name: 'tls', ...files(part) }, ...volumes],
      },
    },
  },
});

export const envoyPart = (part: EnvoyPart): readonly object[] => {
  const { namespace, name, watching, upstreams } = part;
  const data = filesOf({
    name,
    speaks: 'bytes',
    tls: '/tls',
    conf: '/conf',
    watching,
    bind: '0.0.0.0',
    ports: { mtls: MTLS, plain: PLAIN, admin: ADMIN },
    upstreams,
  });
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-conf`, namespace }, data },
    service(part, [MTLS, ...upstreams.map((_, index) => PLAIN + index)]),
    deployment(part, {
      container: {
        command: ['/usr/local/bin/envoy', ...argumentsFor('/conf')],
        readinessProbe: { httpGet: { path: '/ready', port: ADMIN }, ...READY_SECONDS },
      },
      volumes: [{ name: 'conf', configMap: { name: `${name}-conf` } }],
      mounts: [{ name: 'conf', mountPath: '/conf' }],
    }),
  ];
};

export const nodePart = (part: NodePart): readonly object[] => {
  const fieldOf = (fieldPath: string): object => ({ valueFrom: { fieldRef: { fieldPath } } });
  return [
    service(part, [MTLS]),
    deployment(part, {
      container: {
        env: [
          { name: 'MESH', value: JSON.stringify({ name: part.name, ...part.setting }) },
          { name: 'POD_NAME', ...fieldOf('metadata.name') },
          { name: 'POD_UID', ...fieldOf('metadata.uid') },
        ],
        readinessProbe: { httpGet: { path: '/', port: 8080 }, ...READY_SECONDS },
        // Keeps serving until all clients have learnt of its end.
        lifecycle: { preStop: { sleep: { seconds: 5 } } },
      },
      ...(part.strategy === undefined ? {} : { strategy: part.strategy }),
    }),
  ];
};
