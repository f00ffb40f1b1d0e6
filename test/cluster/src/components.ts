import { join } from 'node:path';
import { type Credentials, SERVICE_RANGE } from './credentials.ts';
import type { ProcessSpec } from './keeper-protocol.ts';
import type { CertificateFiles } from './pki.ts';
import type { TrustBundles } from './trust-bundles.ts';

/** Paths and addresses of a cluster's control plane. */
export interface Layout {
  readonly directory: string;
  readonly bin: string;
  /** Address the API server listens on, and the one it gives to clients inside the cluster. */
  readonly bindAddress: string;
  readonly advertiseAddress: string;
  readonly apiPort: number;
  readonly etcdPort: number;
  readonly etcdPeerPort: number;
  /** Inside the cluster's own network, if it has one; the same as outside otherwise. */
  readonly innerUrl: string;
  readonly credentials: Credentials;
  /** Whether there are pods: they reach the API server through its Endpoints, and it reaches pods through theirs. */
  readonly hasPods: boolean;
  readonly trustBundles: TrustBundles;
}

const component = (
  { directory, bin }: Layout,
  name: string,
  program: string,
  args: readonly string[],
): ProcessSpec => ({
  name,
  command: join(bin, program),
  args,
  log: join(directory, `${name}.log`),
});

export const etcd = (layout: Layout): ProcessSpec => {
  const client = `http://127.0.0.1:${layout.etcdPort}`;
  const peer = `http://127.0.0.1:${layout.etcdPeerPort}`;
  return component(layout, 'etcd', 'etcd', [
    '--name=test',
    `--data-dir=${join(layout.directory, 'etcd')}`,
    // Survives a killed process, not a lost machine: a test's data is not needed after that.
    '--unsafe-no-fsync',
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=test=${peer}`,
    '--log-level=warn',
  ]);
};

export const apiServer = (
  layout: Layout,
  serving: CertificateFiles,
  extraFlags: readonly string[],
): ProcessSpec => {
  const { credentials: c } = layout;
  return component(layout, 'kube-apiserver', 'kube-apiserver', [
    `--etcd-servers=http://127.0.0.1:${layout.etcdPort}`,
    `--bind-address=${layout.bindAddress}`,
    `--advertise-address=${layout.advertiseAddress}`,
    `--secure-port=${layout.apiPort}`,
    `--tls-cert-file=${serving.certFile}`,
    `--tls-private-key-file=${serving.keyFile}`,
    `--client-ca-file=${c.clientCa.certFile}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${c.tokenKey.publicFile}`,
    `--service-account-signing-key-file=${c.tokenKey.keyFile}`,
    `--kubelet-client-certificate=${c.kubeletClient.certFile}`,
    `--kubelet-client-key=${c.kubeletClient.keyFile}`,
    `--kubelet-certificate-authority=${c.clientCa.certFile}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--requestheader-client-ca-file=${c.frontProxyCa.certFile}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-username-headers=X-Remote-User',
    `--proxy-client-cert-file=${c.frontProxy.certFile}`,
    `--proxy-client-key-file=${c.frontProxy.keyFile}`,
    // With pods, directly to a Service's Endpoints. Endpoints may not be on loopback, so without pods the API server reaches an
    // aggregated API through a Service of type ExternalName, `localhost`, which only the other routing supports.
    `--enable-aggregator-routing=${layout.hasPods}`,
    '--allow-privileged=true',
    `--endpoint-reconciler-type=${layout.hasPods ? 'lease' : 'none'}`,
    ...layout.trustBundles.gateFlags,
    ...layout.trustBundles.apiFlags,
    ...extraFlags,
  ]);
};

export const controllerManager = (layout: Layout, extraFlags: readonly string[]): ProcessSpec => {
  const { credentials: c } = layout;
  const user = { commonName: 'system:kube-controller-manager' };
  const kubeconfig = c.kubeconfigFor('controller-manager', layout.innerUrl, user);
  return component(layout, 'kube-controller-manager', 'kube-controller-manager', [
    `--kubeconfig=${kubeconfig}`,
    // Listens on no port, so that none can collide.
    '--secure-port=0',
    `--service-account-private-key-file=${c.tokenKey.keyFile}`,
    `--root-ca-file=${c.caFile}`,
    '--use-service-account-credentials',
    '--leader-elect=false',
    `--cluster-signing-cert-file=${c.clientCa.certFile}`,
    `--cluster-signing-key-file=${c.clientCa.keyFile}`,
    ...layout.trustBundles.gateFlags,
    ...extraFlags,
  ]);
};

export const scheduler = (layout: Layout): ProcessSpec => {
  const user = { commonName: 'system:kube-scheduler' };
  const kubeconfig = layout.credentials.kubeconfigFor('scheduler', layout.innerUrl, user);
  return component(layout, 'kube-scheduler', 'kube-scheduler', [
    `--kubeconfig=${kubeconfig}`,
    '--secure-port=0',
    '--leader-elect=false',
  ]);
};
