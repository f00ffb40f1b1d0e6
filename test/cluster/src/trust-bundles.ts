import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';

/** What a cluster needs to serve ClusterTrustBundles and to project them into pods. */
export interface TrustBundles {
  readonly gates: Readonly<Record<string, boolean>>;
  /** Flags of every component that has feature gates. */
  readonly gateFlags: readonly string[];
  readonly apiFlags: readonly string[];
}

/** `Kubernetes v1.37.1`: the release of these binaries, which may be envtest's. */
const minorOf = (bin: string): number => {
  const told = execFileSync(join(bin, 'kube-apiserver'), ['--version'], { encoding: 'utf8' }).trim();
  const minor = /^Kubernetes v1\.(\d+)\./.exec(told)?.[1];
  if (minor === undefined)
    throw new HandoverError('CLUSTER_VERSION', `kube-apiserver --version says ${JSON.stringify(told)}`);
  return Number(minor);
};

/** On by default, and v1, since 1.37. Before that beta, and off by default. */
export const trustBundlesOf = (bin: string): TrustBundles => {
  if (minorOf(bin) >= 37) return { gates: {}, gateFlags: [], apiFlags: [] };
  const gates = { ClusterTrustBundle: true, ClusterTrustBundleProjection: true };
  return {
    gates,
    gateFlags: [`--feature-gates=${Object.keys(gates).map((gate) => `${gate}=true`)}`],
    apiFlags: ['--runtime-config=certificates.k8s.io/v1beta1/clustertrustbundles=true'],
  };
};
