import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Compat } from '@handover/core';
import type { ControllerEvent } from '@handover/engine';
import { allowed, crds, type InstallOptions, installation, installedGrants } from '@handover/install';
import { connect, type Kube, type KubeConfig, loadKubeConfig, type RequestReport } from '@handover/kube';
import { Operator, type OperatorOptions, RESOURCE_KINDS } from '@handover/operator';
import { type Cluster, startCluster } from '@handover/test-cluster';

/** A real API server with our kinds on it, and operators against it. */
export interface Stage {
  readonly cluster: Cluster;
  readonly kube: Kube;
  /** Every request of every operator, oldest first. */
  readonly requests: (RequestReport & { readonly by: string })[];
  readonly events: (ControllerEvent & { readonly by: string })[];
  start(name: string, options?: Partial<OperatorOptions>): Running;
  /** An object as a file, for kubectl. */
  file(object: object): string;
  stop(): Promise<void>;
}

export interface Running {
  readonly operator: Operator;
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export const connectTo = (
  cluster: Cluster,
  signal: AbortSignal,
  onRequest?: (report: RequestReport) => void,
  config: KubeConfig = {
    server: cluster.url,
    namespace: 'default',
    tls: {
      ca: { file: cluster.caFile },
      cert: { file: cluster.clientCert },
      key: { file: cluster.clientKey },
    },
    auth: {},
  },
): Kube => connect(config, { signal, rate: false, ...(onRequest === undefined ? {} : { onRequest }) });

export interface StageOptions {
  readonly crds?: boolean;
  readonly controllerManager?: boolean;
  readonly apiServerFlags?: readonly string[];
  /** Installs everything that `handover install` prints; operators get only its rights. */
  readonly installed?: Partial<InstallOptions>;
}

export async function setStage(options: StageOptions = {}): Promise<Stage> {
  const { controllerManager = false, apiServerFlags = [] } = options;
  const cluster = await startCluster({ controllerManager, apiServerFlags });
  const end = new AbortController();
  const kube = connectTo(cluster, end.signal);
  const requests: (RequestReport & { readonly by: string })[] = [];
  const events: (ControllerEvent & { readonly by: string })[] = [];
  const running: Running[] = [];
  let files = 0;
  let account: KubeConfig | undefined;
  if (options.installed !== undefined) {
    const wanted = { namespace: 'handover-system', image: 'none', ...options.installed };
    const all = installation(wanted).filter(({ kind }) => kind !== 'Deployment');
    for (const object of all) await cluster.apply(object);
    await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
    const groups = [
      'system:serviceaccounts',
      'system:serviceaccounts:handover-system',
      'system:authenticated',
    ];
    const kubeconfig = await cluster.kubeconfigFor('system:serviceaccount:handover-system:handover', groups);
    account = await loadKubeConfig({ kubeconfig });
  } else {
    if (options.crds !== false) {
      await cluster.apply(...crds());
      await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
    }
    await cluster.kubectl('create', 'namespace', 'handover-system');
  }
  return {
    cluster,
    kube,
    requests,
    events,
    start: (name, more = {}) => {
      const stop = new AbortController();
      const close = new AbortController();
      const operator = new Operator({
        kube: connectTo(cluster, close.signal, (report) => requests.push({ ...report, by: name }), account),
        namespace: 'handover-system',
        identity: name,
        on: (event) => events.push({ ...event, by: name }),
        ...more,
      });
      const ended = operator.run(stop.signal).finally(() => close.abort());
      const one: Running = {
        operator,
        ended,
        stop: async () => {
          stop.abort();
          await ended;
        },
      };
      running.push(one);
      return one;
    },
    file: (object) => {
      const path = join(cluster.directory, `object-${++files}.json`);
      writeFileSync(path, JSON.stringify(object));
      return path;
    },
    stop: async () => {
      await Promise.all(running.map((one) => one.stop()));
      end.abort();
      await cluster.stop();
    },
  };
}

/** Repeats the check until it is true. The bound only keeps a failing test from hanging. */
/** What was seen instead of what a test waits for. */
export class Unmet {
  readonly seen: unknown;

  constructor(seen: unknown) {
    this.seen = seen;
  }
}

export async function until<T>(
  look: () => Promise<T | Unmet | undefined | false>,
  what: string,
  ms = 60_000,
): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false && !(found instanceof Unmet)) return found;
    const seen = found instanceof Unmet ? `, but ${JSON.stringify(found.seen)}` : '';
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}${seen}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const resource = (
  kind: string,
  name: string,
  spec: object = {},
  namespace: string | undefined = 'default',
): object => ({
  apiVersion: 'handover.dev/v1alpha1',
  kind,
  metadata: { name, ...(kind === 'TrustBundle' ? {} : { namespace }) },
  spec,
});

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export const condition = async (
  stage: Stage,
  kind: keyof typeof RESOURCE_KINDS,
  name: string,
  type: string,
  namespace = 'default',
): Promise<Condition | undefined> => {
  const found = await stage.kube.get(RESOURCE_KINDS[kind], {
    name,
    ...(kind === 'TrustBundle' ? {} : { namespace }),
  });
  const { conditions = [] } = (found?.status ?? {}) as { conditions?: readonly Condition[] };
  return conditions.find((candidate) => candidate.type === type);
};

/** Requests that the roles of an installation do not allow. */
export const beyondRights = (
  stage: Stage,
  compat: readonly Compat[],
  more: Partial<InstallOptions> = {},
): readonly string[] => {
  const grants = installedGrants({ namespace: 'handover-system', image: 'handover', compat, ...more });
  return (
    stage.requests
      // Discovery is open to all users; the Lease is the client's own, and works without its watch.
      .filter(({ verb, resource: plural }) => verb !== 'discover' && plural !== 'leases')
      .map(({ verb, group, resource: plural, subresource, namespace, name }) => ({
        verb: verb === 'apply' ? 'patch' : verb,
        group,
        resource: plural,
        subresource,
        namespace: namespace === '' ? undefined : namespace,
        name: name === '' ? undefined : name,
      }))
      .filter((request) => !allowed(grants, request))
      .map((request) => JSON.stringify(request))
  );
};
