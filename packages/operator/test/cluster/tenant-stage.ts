// What the attacks of one namespace on another share: a real API server with RBAC and the admission policies of `handover install`, the
// real operator as a process with the token of its service account, and a user with admin rights in the namespace `evil` only.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODE_OPTIONS, SERVICE_ACCOUNT } from '@handover/install';
import {
  configMaps,
  connect,
  type Kube,
  type KubeObject,
  loadKubeConfig,
  namespaces,
  pods,
  type ResourceKind,
  secrets,
  serviceAccounts,
  services,
} from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { freePort, namespaceObject, PROGRAM } from '@handover/test-api-server';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { buildCli, start } from './certgen-stage.ts';
import { connectTo, until } from './stage.ts';

export const EVIL = 'evil';
export const OPERATOR_NAMESPACE = 'handover-system';

export interface TenantStage {
  readonly cluster: Cluster;
  /** May do everything. */
  readonly admin: Kube;
  /** May do everything in the namespace `evil`, and nothing elsewhere. */
  readonly evil: Kube;
  readonly operator: OperatorProcess;
  /** A namespace in which pods can be made. */
  namespace(name: string): Promise<void>;
  stop(): Promise<void>;
}

export interface OperatorProcess {
  readonly lines: readonly string[];
  readonly healthPort: number;
  /** Milliseconds until /livez answers 200; infinite when it does not within ten seconds. */
  livez(): Promise<number>;
  /** Bytes of memory that the process holds. */
  memory(): number;
  stop(): Promise<void>;
}

const KINDS: Readonly<Record<string, ResourceKind>> = {
  ...RESOURCE_KINDS,
  ConfigMap: configMaps,
  Namespace: namespaces,
  Pod: pods,
  Secret: secrets,
  Service: services,
  ServiceAccount: serviceAccounts,
};

export const kindNamed = (name: string): ResourceKind => {
  const found = KINDS[name];
  if (found === undefined) throw new Error(`this test knows no kind ${name}`);
  return found;
};

/** Server-side apply as the user that `kube` stands for. */
export const put = async (kube: Kube, object: object): Promise<KubeObject> => {
  const { kind = '', metadata } = object as KubeObject;
  const { name = '', namespace } = metadata;
  return kube.patch(
    kindNamed(kind),
    { name, ...(namespace === undefined ? {} : { namespace }) },
    { apply: object, force: true, fieldManager: 'tenant-test' },
  );
};

export const secret = (
  namespace: string,
  name: string,
  stringData: Readonly<Record<string, string>>,
  more: { readonly labels?: object; readonly annotations?: object; readonly [field: string]: unknown } = {},
): object => {
  const { labels = {}, annotations = {}, ...rest } = more;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels, annotations },
    stringData,
    ...rest,
  };
};

const LIVEZ_MS = 10_000;

const startOperator = async (
  cluster: Cluster,
  kubeconfig: string,
  flags: readonly string[],
): Promise<OperatorProcess> => {
  const [port, page] = [await freePort(), await freePort()];
  const child: ChildProcess = spawn(
    process.execPath,
    [
      PROGRAM,
      ...['operator', '--namespace', OPERATOR_NAMESPACE, '--kubeconfig', kubeconfig],
      ...['--health-address', `127.0.0.1:${port}`, '--dashboard-address', `127.0.0.1:${page}`],
      ...flags,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS }, cwd: cluster.directory },
  );
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => lines.push(...String(chunk).split('\n').filter(Boolean)));
  const over = once(child, 'exit');
  const ask = async (path: string): Promise<number> => {
    const signal = AbortSignal.timeout(LIVEZ_MS);
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal }).catch(() => undefined);
    await answer?.arrayBuffer().catch(() => undefined);
    return answer?.status ?? 0;
  };
  await until(
    async () => {
      if (child.exitCode !== null) throw new Error(`the operator ended: ${lines.slice(-5).join('\n')}`);
      return (await ask('/readyz')) === 200;
    },
    'the operator to be ready',
    120_000,
  );
  return {
    lines,
    healthPort: port,
    livez: async () => {
      const began = performance.now();
      return (await ask('/livez')) === 200 ? performance.now() - began : Number.POSITIVE_INFINITY;
    },
    memory: () => {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1024;
    },
    stop: async () => {
      child.kill('SIGTERM');
      const hung = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await over;
      clearTimeout(hung);
    },
  };
};

/** What `handover install` prints, applied as printed. Nothing runs its Deployment here: the process below stands for it. */
const install = async (cluster: Cluster, flags: readonly string[]): Promise<void> => {
  const { code, stdout, stderr } = await start(['install', '--image', 'none', ...flags]).ended;
  if (code !== 0) throw new Error(stderr);
  const file = join(cluster.directory, 'install.yaml');
  writeFileSync(file, stdout);
  await cluster.kubectl('apply', '--server-side', '-f', file);
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
};

const tokenConfig = async (cluster: Cluster): Promise<string> => {
  const token = await cluster.kubectl(
    ...['create', 'token', SERVICE_ACCOUNT, '--namespace', OPERATOR_NAMESPACE, '--duration=2h'],
  );
  const path = join(cluster.directory, 'operator.kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: cluster.url, 'certificate-authority': cluster.caFile } }],
    users: [{ name: 'operator', user: { token: token.trim() } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'operator' } }],
    'current-context': 'test',
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
};

const RBAC = 'rbac.authorization.k8s.io';
const tenantRights: readonly object[] = [
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'Role',
    metadata: { name: 'everything', namespace: EVIL },
    rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
  },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'everything', namespace: EVIL },
    roleRef: { apiGroup: RBAC, kind: 'Role', name: 'everything' },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: 'evil-admin' }],
  },
];

/** `flags`: of the installation and of its operator. */
export async function setTenantStage(...flags: readonly string[]): Promise<TenantStage> {
  buildCli();
  const cluster = await startCluster();
  const end = new AbortController();
  const admin = connectTo(cluster, end.signal);
  const namespace = async (name: string): Promise<void> => {
    await put(admin, namespaceObject(name));
    await put(admin, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'default', namespace: name },
    });
  };
  await install(cluster, flags);
  await namespace(EVIL);
  await cluster.apply(...tenantRights);
  const tenant = await loadKubeConfig({ kubeconfig: cluster.kubeconfigFor('evil-admin') });
  const evil = connect(tenant, { signal: end.signal, rate: false });
  const operator = await startOperator(cluster, await tokenConfig(cluster), flags);
  return {
    cluster,
    admin,
    evil,
    operator,
    namespace,
    stop: async () => {
      await operator.stop();
      end.abort();
      await cluster.stop();
    },
  };
}

/** `handover …` as an administrator runs it against this cluster: what it printed. */
export const handover = async (
  { cluster }: TenantStage,
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> =>
  start([...args, '--home', 'kube', '--kubeconfig', cluster.kubeconfig]).ended;

/** Asks /livez until `during` is over, and says how long its slowest answer took. */
export const slowestLivez = async (
  operator: OperatorProcess,
  during: () => Promise<unknown>,
): Promise<number> => {
  let over = false;
  let slowest = 0;
  const asking = (async () => {
    while (!over) {
      slowest = Math.max(slowest, await operator.livez());
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  try {
    await during();
  } finally {
    over = true;
    await asking;
  }
  return slowest;
};
