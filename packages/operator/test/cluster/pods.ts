import { setTimeout as pause } from 'node:timers/promises';
import { type KubeObject, kindOf, pods, type ResourceKind } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { resource, type Stage, Unmet } from './stage.ts';

// Pods that no node runs: the API server and its controllers are real, and these functions play the kubelet.

/** Makes every pod run and be ready at once; pods whose name matches `sick` never are. */
export class Kubelet {
  /** Names of all pods ever seen, by uid. */
  readonly seen = new Map<string, string>();
  sick: RegExp | undefined;
  readonly #stage: Stage;
  readonly #timer: NodeJS.Timeout;
  #looking = false;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#timer = setInterval(() => void this.#lookAlone(), 250);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** All pods that a workload ever had: the first ones and their replacements. */
  made(workload: string): number {
    return [...this.seen.values()].filter((name) => name.startsWith(`${workload}-`) || name === workload)
      .length;
  }

  /** One look at a time: an older one would know pods that are gone. */
  async #lookAlone(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    await this.#look().catch(() => {});
    this.#looking = false;
  }

  async #look(): Promise<void> {
    const { kube } = this.#stage;
    const { items } = await kube.list(pods, { namespace: 'default' });
    for (const { metadata, status } of items) {
      const { uid = '', name = '' } = metadata;
      this.seen.set(uid, name);
      if (metadata.deletionTimestamp !== undefined) {
        // StatefulSets and DaemonSets wait until a kubelet reports that a pod has ended. The uid matters: the next
        // pod of a StatefulSet has the same name.
        await kube
          .delete(pods, { namespace: 'default', name }, { uid, gracePeriodSeconds: 0 })
          .catch(() => {});
        continue;
      }
      if ((status as { phase?: string } | undefined)?.phase === 'Running' || this.sick?.test(name)) continue;
      const now = new Date().toISOString();
      const conditions = ['Ready', 'ContainersReady', 'PodScheduled', 'Initialized'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: now,
      }));
      await kube.patch(
        pods,
        { namespace: 'default', name, subresource: 'status' },
        { merge: { status: { phase: 'Running', conditions } } },
      );
    }
  }
}

interface Shape {
  readonly kind?: 'Deployment' | 'StatefulSet' | 'DaemonSet';
  readonly annotations?: Record<string, string>;
  /** Of the workload itself. */
  readonly words?: Record<string, string>;
  readonly pod?: object;
  readonly spec?: object;
  readonly replicas?: number;
}

export const mounted = (secretName: string): object => ({
  containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'tls', mountPath: '/tls' }] }],
  volumes: [{ name: 'tls', secret: { secretName } }],
});
export const inEnvironment = (secretName: string): object => ({
  containers: [
    {
      name: 'main',
      image: 'none',
      env: [{ name: 'CRT', valueFrom: { secretKeyRef: { name: secretName, key: 'tls.crt' } } }],
    },
  ],
});

/** By default a Deployment of two pods that read the leaf of the same name from their environment. */
export const workload = (name: string, shape: Shape = {}): object => {
  const {
    kind = 'Deployment',
    annotations = {},
    words = {},
    pod = inEnvironment(name),
    replicas = 2,
  } = shape;
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'default', annotations: words },
    spec: {
      ...(kind === 'DaemonSet' ? {} : { replicas }),
      ...(kind === 'StatefulSet' ? { serviceName: name, podManagementPolicy: 'Parallel' } : {}),
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name }, annotations: { 'example.com/keep': 'me', ...annotations } },
        spec: { terminationGracePeriodSeconds: 0, ...pod },
      },
      ...shape.spec,
    },
  };
};

export const leaf = (name: string, authority = 'mesh', more: object = {}): object =>
  resource('Leaf', name, { authority, secretName: name, dnsNames: [`${name}.default.svc`], ...more });

export interface AuthoritySeen {
  readonly phase?: string;
  readonly generations?: readonly {
    readonly generation: number;
    readonly role: string;
    readonly fingerprint: string;
  }[];
  readonly blockedBy?: readonly { readonly consumer: string; readonly waitsFor: string }[];
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

export const authoritySeen = async (stage: Stage, name: string): Promise<AuthoritySeen> =>
  ((await stage.kube.get(RESOURCE_KINDS.Authority, { namespace: 'default', name }))?.status ??
    {}) as AuthoritySeen;

/** True, or what is seen instead. */
export const isStable =
  (stage: Stage, name: string, generation: number) => async (): Promise<true | Unmet> => {
    const { phase, generations, blockedBy } = await authoritySeen(stage, name);
    const is = phase === 'Stable' && generations?.length === 1 && generations[0]?.generation === generation;
    return is || new Unmet({ phase, generations, blockedBy });
  };

/** A workload that comes in the second in which the old CA stops signing does not speak for others: the API server dates in whole seconds. */
const A_SECOND_MS = 1_000;

export const rotate = async (stage: Stage, authority: string, id: string): Promise<string> => {
  await pause(A_SECOND_MS);
  return stage.cluster.kubectl(
    'annotate',
    `authority/${authority}`,
    `handover.dev/rotate=${id}`,
    '--overwrite',
  );
};

interface Template {
  readonly template: { readonly metadata: { readonly annotations?: Record<string, string> } };
}
export const templateOf = async (
  stage: Stage,
  kind: ResourceKind,
  name: string,
): Promise<Readonly<Record<string, string>>> => {
  const found = (await stage.kube.get(kind, { namespace: 'default', name })) as KubeObject | undefined;
  return (found?.spec as Template | undefined)?.template.metadata.annotations ?? {};
};

export interface EventSeen {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly kind: string; readonly name: string };
  readonly reportingController: string;
}
const events = kindOf('events.k8s.io/v1', 'events', 'Event');
/** Events of the operator, oldest first. */
export const eventsOf = async (stage: Stage, kind: string, name: string): Promise<readonly EventSeen[]> => {
  const { items } = await stage.kube.list(events, { namespace: 'default' });
  const version = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion);
  return ([...items].sort((a, b) => version(a) - version(b)) as unknown as readonly EventSeen[]).filter(
    ({ regarding, reportingController }) =>
      reportingController === 'handover.dev/operator' && regarding.kind === kind && regarding.name === name,
  );
};
