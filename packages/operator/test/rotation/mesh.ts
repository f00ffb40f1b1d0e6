import { resource } from '../cluster/stage.ts';
import type { Target } from './pod/handshake.ts';
import type { Manner } from './pod/material.ts';
import { GROUP } from './pod/web.ts';

export const NAMESPACE = 'mesh';
export const AUTHORITY = 'mesh/mesh';
export const WEBHOOK = 'mesh-check';
export const API = `v1.${GROUP}`;

/** One Deployment of the mesh. */
export interface Member {
  readonly name: string;
  /** Default: that of the Authority. */
  readonly namespace?: string;
  readonly manner: Manner;
  readonly replicas: number;
  /** The owner's annotation about reloads; undefined: none. */
  readonly reload?: 'hot' | 'restart';
  readonly ack?: true;
  readonly probe?: '8443' | '8443/mtls' | '9999';
  /** Mounted file by file: such a mount never sees a change. */
  readonly subPath?: true;
  readonly web?: true;
  readonly grpc?: 'server' | 'client';
  /** Each pod has a certificate of its own, by the kubelet: no Leaf and no Secret. */
  readonly own?: true;
  /** The preferred node of its pods. */
  readonly prefers?: string;
  /** Seconds that a new pod has to be ready before the rollout goes on; then one pod is replaced after the other. */
  readonly slow?: number;
}

export const MEMBERS: readonly Member[] = [
  { name: 'hot', manner: 'hot', replicas: 2, ack: true },
  { name: 'polling', manner: 'polling', replicas: 1, reload: 'hot', probe: '8443/mtls' },
  { name: 'frozen', manner: 'frozen', replicas: 2, subPath: true },
  { name: 'once', manner: 'frozen', replicas: 1, reload: 'restart' },
  { name: 'grpc', manner: 'hot', replicas: 1, ack: true, grpc: 'server' },
  { name: 'grpc-client', manner: 'hot', replicas: 1, ack: true, grpc: 'client' },
  { name: 'webhook', manner: 'hot', replicas: 1, ack: true, web: true },
  { name: 'api', manner: 'hot', replicas: 1, ack: true, web: true },
];

/** Workloads of other namespaces with leaves of the same Authority: one of each kind that no rotation may overtake. */
export const NEIGHBOURS: readonly Member[] = [
  { name: 'pay-hot', namespace: 'pay', manner: 'hot', replicas: 1, ack: true },
  // Its rollout takes longer than twice reloadWithin and cacheLag.
  { name: 'pay-slow', namespace: 'pay', manner: 'frozen', replicas: 2, reload: 'restart', slow: 45 },
  { name: 'pay-stuck', namespace: 'pay', manner: 'frozen', replicas: 1, reload: 'restart' },
  { name: 'shop-once', namespace: 'shop', manner: 'frozen', replicas: 1, reload: 'restart' },
  // Its owner declares a probe of a port where nothing listens: it never gives evidence.
  { name: 'evil-mute', namespace: 'evil', manner: 'frozen', replicas: 1, probe: '9999' },
];

export const namespaceOf = ({ namespace = NAMESPACE }: Member): string => namespace;

/** The cluster has no DNS: each Service has a fixed address. */
const addressOf = (name: string): string =>
  `10.96.0.${20 + [...MEMBERS, ...NEIGHBOURS].findIndex((member) => member.name === name)}`;

export const targetOf = (name: string, port: number): Target => {
  const namespace = NEIGHBOURS.find((member) => member.name === name)?.namespace ?? NAMESPACE;
  return { name, address: `${addressOf(name)}:${port}`, servername: `${name}.${namespace}.svc` };
};

const service = ({ name, namespace = NAMESPACE, web, grpc }: Member): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: {
    clusterIP: addressOf(name),
    selector: { app: name },
    ports: [
      { name: 'mesh', port: 8443, targetPort: 8443 },
      ...(web === true ? [{ name: 'api', port: 443, targetPort: 9443 }] : []),
      ...(grpc === 'server' ? [{ name: 'grpc', port: 8444, targetPort: 8444 }] : []),
    ],
  },
});

const fieldOf = (fieldPath: string): object => ({ valueFrom: { fieldRef: { fieldPath } } });

export interface MeshOptions {
  readonly image: string;
  readonly collector: string;
  /** All that call each other; default: `MEMBERS`. */
  readonly members?: readonly Member[];
  /** Calls per second of each pod. */
  readonly rate: number;
  /** Spreads each Deployment's pods over all schedulable nodes. */
  readonly spread?: true;
  /** Seconds that a pod keeps serving before it gets SIGTERM; default 2. */
  readonly linger?: number;
}

/** Evenly over the schedulable nodes, for each rollout separately. */
const evenly = (name: string): object => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'DoNotSchedule',
      // A node that is being drained does not count.
      nodeTaintsPolicy: 'Honor',
      labelSelector: { matchLabels: { app: name } },
      matchLabelKeys: ['pod-template-hash'],
    },
  ],
});

const preferring = (node: string): object => ({
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          preference: {
            matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }],
          },
        },
      ],
    },
  },
});

/** A drain keeps one of its pods running until another is ready. */
export const budget = ({ name }: Member): object => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: NAMESPACE },
  spec: { minAvailable: 1, selector: { matchLabels: { app: name } } },
});

/** The same files as a Leaf's Secret has, from the kubelet and the Authority's ConfigMap. */
const OWN_FILES = {
  projected: {
    sources: [
      {
        podCertificate: {
          signerName: 'handover.dev/mesh.mesh',
          keyType: 'ECDSAP256',
          maxExpirationSeconds: 3_600,
          keyPath: 'tls.key',
          certificateChainPath: 'tls.crt',
        },
      },
      { configMap: { name: 'mesh-trust', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    ],
  },
};

export const deployment = (member: Member, options: MeshOptions): object => {
  const { name, manner, replicas, reload, ack, probe, subPath, web, grpc, own, prefers, slow } = member;
  const { image, collector, rate, spread, linger = 2, members = MEMBERS } = options;
  const setting = {
    name,
    manner,
    rate,
    collector,
    ack: ack === true,
    web: web === true,
    targets: members.filter((other) => other.name !== name).map((other) => targetOf(other.name, 8443)),
    grpcServer: grpc === 'server',
    ...(grpc === 'client' ? { grpcTarget: targetOf('grpc', 8444) } : {}),
  };
  const mounts =
    subPath === true
      ? ['tls.crt', 'tls.key', 'ca.crt'].map((file) => ({
          name: 'tls',
          mountPath: `/tls/${file}`,
          subPath: file,
        }))
      : [{ name: 'tls', mountPath: '/tls' }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: namespaceOf(member) },
    spec: {
      replicas,
      ...(slow === undefined ? {} : { minReadySeconds: slow }),
      selector: { matchLabels: { app: name } },
      strategy: { rollingUpdate: { maxSurge: slow === undefined ? '100%' : 1, maxUnavailable: 0 } },
      template: {
        metadata: {
          labels: { app: name },
          annotations: {
            ...(reload === undefined ? {} : { 'handover.dev/reload': reload }),
            ...(ack === undefined ? {} : { 'handover.dev/ack-port': '8081' }),
            ...(probe === undefined ? {} : { 'handover.dev/probe': probe }),
          },
        },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 20,
          ...(spread === true ? evenly(name) : {}),
          ...(prefers === undefined ? {} : preferring(prefers)),
          containers: [
            {
              name: 'main',
              image,
              imagePullPolicy: 'Never',
              env: [
                { name: 'MESH', value: JSON.stringify(setting) },
                { name: 'POD_NAME', ...fieldOf('metadata.name') },
                { name: 'POD_UID', ...fieldOf('metadata.uid') },
              ],
              readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1, timeoutSeconds: 5 },
              // Keeps serving until all clients have learnt of its end.
              lifecycle: { preStop: { sleep: { seconds: linger } } },
              resources: { requests: { cpu: '50m' } },
              volumeMounts: mounts,
            },
          ],
          volumes: [{ name: 'tls', ...(own === true ? OWN_FILES : { secret: { secretName: name } }) }],
        },
      },
    },
  };
};

const clientConfig = { service: { name: 'webhook', namespace: NAMESPACE, path: '/check' } };

/** The objects that the API server verifies with, with a bundle from before the operator. */
export const fields = (caBundle: string): readonly object[] => [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: WEBHOOK },
    webhooks: [
      {
        name: 'check.mesh.example',
        clientConfig: { ...clientConfig, caBundle },
        objectSelector: { matchLabels: { checked: 'true' } },
        rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        timeoutSeconds: 30,
      },
    ],
  },
  {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: API },
    spec: {
      group: GROUP,
      version: 'v1',
      groupPriorityMinimum: 1000,
      versionPriority: 15,
      service: { name: 'api', namespace: NAMESPACE },
      caBundle,
    },
  },
];

export const trustBundle = (): object =>
  resource('TrustBundle', 'mesh', {
    sources: [{ authority: AUTHORITY }],
    targets: [
      { inject: { kind: 'ValidatingWebhookConfiguration', name: WEBHOOK } },
      { inject: { kind: 'APIService', name: API } },
    ],
  });

export const leaf = (
  { name, namespace }: Member,
  annotations: Readonly<Record<string, string>> = {},
): object => {
  const made = resource(
    'Leaf',
    name,
    {
      authority: namespace === undefined ? 'mesh' : AUTHORITY,
      secretName: name,
      dnsNames: [`${name}.${namespace ?? NAMESPACE}.svc`],
      usages: ['server', 'client'],
    },
    namespace ?? NAMESPACE,
  ) as { metadata: object };
  return { ...made, metadata: { ...made.metadata, annotations } };
};

export const services = (members: readonly Member[] = MEMBERS): readonly object[] => members.map(service);
