import { readFileSync } from 'node:fs';
import { type ConnectOptions, connect, type Kube, type KubeConfig, loadKubeConfig } from '@handover/kube';
import type { Command } from 'commander';

export interface KubeFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export const kubeOptions = (command: Command): Command =>
  command
    .option('--kubeconfig <file>', 'kubeconfig to use instead of KUBECONFIG or ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig');

export async function connectKube(
  flags: KubeFlags,
  signal: AbortSignal,
  options: Omit<ConnectOptions, 'signal' | 'userAgent'> = {},
): Promise<{ readonly kube: Kube; readonly config: KubeConfig }> {
  const config = await loadKubeConfig({
    ...(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig }),
    ...(flags.context === undefined ? {} : { context: flags.context }),
  });
  const kube = connect(config, { ...options, signal, userAgent: 'handover' });
  return { kube, config };
}

const OWN_NAMESPACE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** Namespace of the pod that this runs in; undefined: not in a pod. */
export const podNamespace = (): string | undefined => {
  const { POD_NAMESPACE } = process.env;
  if (POD_NAMESPACE !== undefined && POD_NAMESPACE !== '') return POD_NAMESPACE;
  try {
    return readFileSync(OWN_NAMESPACE, 'utf8').trim();
  } catch {
    return undefined;
  }
};

/** Namespace of the operator: the flag, else the pod's own, else the default. */
export const ownNamespace = (said: string | undefined): string => said ?? podNamespace() ?? 'handover-system';
