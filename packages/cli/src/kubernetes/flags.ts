import type { Command } from 'commander';

export interface KubeFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export const kubeOptions = (command: Command): Command =>
  command
    .option('--kubeconfig <file>', 'kubeconfig to use instead of KUBECONFIG or ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig');
