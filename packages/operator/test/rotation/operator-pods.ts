import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { type Kube, leases, pods } from '@handover/kube';
import type { NodeCluster } from '@handover/test-cluster';

const run = promisify(execFile);
export const OWN = 'handover-system';

/** A pod of the operator. */
export interface OperatorPod {
  readonly name: string;
  readonly image: string;
  readonly ready: boolean;
  readonly leaving: boolean;
}

interface PodShape {
  readonly spec?: { readonly containers?: readonly { readonly image?: string }[] };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export const operatorPods = async (kube: Kube): Promise<readonly OperatorPod[]> => {
  const { items } = await kube.list(pods, { namespace: OWN });
  return items.map((pod) => {
    const { spec, status } = pod as PodShape;
    return {
      name: pod.metadata.name ?? '',
      image: spec?.containers?.[0]?.image ?? '',
      ready: status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
      leaving: pod.metadata.deletionTimestamp !== undefined,
    };
  });
};

/** Image of the leading pod; undefined: no running pod leads. */
export const leadingImage = async (kube: Kube): Promise<string | undefined> => {
  const lease = await kube.get(leases, { namespace: OWN, name: 'handover' });
  const { holderIdentity = '' } = (lease?.spec ?? {}) as { readonly holderIdentity?: string };
  return (await operatorPods(kube)).find(({ name }) => holderIdentity.startsWith(`${name}-`))?.image;
};

/** The answer at this path through `kubectl port-forward` to the Deployment's port. */
export const fetchForwarded = async (cluster: NodeCluster, port: number, path: string): Promise<Response> => {
  const child = spawn(
    cluster.kubectlPath,
    ['--kubeconfig', cluster.kubeconfig, '-n', OWN, 'port-forward', 'deployment/handover', `:${port}`],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const local = /^Forwarding from 127\.0\.0\.1:(\d+) ->/.exec(line)?.[1];
      if (local === undefined) continue;
      const answer = await fetch(`http://127.0.0.1:${local}${path}`);
      return new Response(await answer.text(), { status: answer.status });
    }
    throw new Error('kubectl port-forward ended without a port');
  } finally {
    child.kill();
  }
};

/** Standard output of a program, called as at a terminal. */
export const output = async (command: string, ...args: readonly string[]): Promise<string> =>
  (await run(command, [...args], { maxBuffer: 64 * 1024 * 1024 })).stdout;
