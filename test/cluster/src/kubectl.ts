import { execFile } from 'node:child_process';
import { HandoverError } from '@handover/material';
import type { Cluster } from './api.ts';

const MAX_OUTPUT = 64 * 1024 * 1024;

const run = (program: string, args: readonly string[], input?: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = execFile(program, args, { maxBuffer: MAX_OUTPUT }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      reject(new HandoverError('CLUSTER_KUBECTL', stderr.trim() || error.message));
    });
    child.stdin?.on('error', () => undefined); // it says why on standard error
    child.stdin?.end(input);
  });

export const kubectlOf = (
  program: string,
  kubeconfig: string,
  cache: string,
): Pick<Cluster, 'kubectl' | 'apply'> => {
  const common = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${cache}`];
  return {
    kubectl: (...args) => run(program, [...common, ...args]),
    apply: async (...objects) => {
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
      await run(program, [...common, 'apply', '--server-side', '--field-manager=test', '-f', '-'], list);
    },
  };
};
