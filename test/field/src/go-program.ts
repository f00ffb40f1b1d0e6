import type { NodeCluster } from '@handover/test-cluster';

/** A program of others that runs as one pod, with an account of its own. */
export interface ProgramPod {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  /** Path and port that answer once it is ready; undefined: it says nothing about that. */
  readonly ready?: { readonly path: string; readonly port: number };
  readonly volumes?: readonly { readonly path: string; readonly name: string; readonly volume: object }[];
}

export const programPod = (pod: ProgramPod): readonly object[] => {
  const { namespace, name, volumes = [] } = pod;
  const labels = { app: name };
  const container = {
    name: 'main',
    image: pod.image,
    imagePullPolicy: 'Never',
    command: pod.command,
    env: [{ name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } }],
    volumeMounts: volumes.map(({ path, name: volume }) => ({ name: volume, mountPath: path })),
    ...(pod.ready === undefined
      ? {}
      : { readinessProbe: { httpGet: pod.ready, periodSeconds: 1, timeoutSeconds: 5 } }),
  };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: name,
            terminationGracePeriodSeconds: 5,
            containers: [container],
            volumes: volumes.map(({ name: volume, volume: source }) => ({ name: volume, ...source })),
          },
        },
      },
    },
  ];
};

export const service = (namespace: string, name: string, targetPort: number): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: { selector: { app: name }, ports: [{ port: 443, targetPort }] },
});

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

const RBAC = 'rbac.authorization.k8s.io';

/** A role of this name for this account: in one namespace, or everywhere. */
export const grant = (
  name: string,
  account: { readonly namespace: string; readonly name: string },
  rules: readonly Rule[],
  only?: string,
): readonly object[] => {
  const kind = only === undefined ? 'ClusterRole' : 'Role';
  const metadata = { name, ...(only === undefined ? {} : { namespace: only }) };
  const apiVersion = `${RBAC}/v1`;
  return [
    { apiVersion, kind, metadata, rules },
    {
      ...{ apiVersion, kind: `${kind}Binding`, metadata },
      roleRef: { apiGroup: RBAC, kind, name },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  ];
};

export const rolledOut = async (
  cluster: NodeCluster,
  namespace: string,
  names: readonly string[],
): Promise<void> => {
  for (const name of names)
    await cluster.kubectl('-n', namespace, 'rollout', 'status', `deployment/${name}`, '--timeout=300s');
};
