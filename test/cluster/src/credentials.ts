import { join } from 'node:path';
import { writeKubeconfig } from './kubeconfig.ts';
import { type CertificateFiles, makeCa, makeTokenKey, type TestCa, writeWhole } from './pki.ts';

/** The API server's address inside the cluster, and the first address of the Service range. */
const SERVICE_ADDRESS = '10.96.0.1';
export const SERVICE_RANGE = '10.96.0.0/16';

const SERVER_NAMES = {
  dnsNames: [
    'localhost',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ],
} as const;

export interface Credentials {
  readonly directory: string;
  /** Signs clients' certificates and the kubelet's; apart from the API server's own CA, so that either rotates alone. */
  readonly clientCa: TestCa;
  /** CA of the aggregation layer: its clients may act for a user. */
  readonly frontProxyCa: TestCa;
  readonly frontProxy: CertificateFiles;
  readonly kubeletClient: CertificateFiles;
  readonly tokenKey: { readonly publicFile: string; readonly keyFile: string };
  readonly admin: CertificateFiles;
  /** The CAs that clients trust: the API server's, or old and new together. The path never changes. */
  readonly caFile: string;
  /** The API server's first certificate. */
  readonly servingCa: TestCa;
  readonly serving: CertificateFiles;
  /** Kubeconfig of a component inside the cluster. */
  kubeconfigFor(
    file: string,
    url: string,
    user: { commonName: string; organizations?: readonly string[] },
  ): string;
  /** A new CA for the API server and a certificate from it, in separate files; nothing uses them yet. */
  nextServing(): { readonly ca: TestCa; readonly leaf: CertificateFiles };
}

export function makeCredentials(directory: string, nodeAddress?: string): Credentials {
  let generation = 0;
  const ipAddresses = ['127.0.0.1', SERVICE_ADDRESS, ...(nodeAddress === undefined ? [] : [nodeAddress])];
  const nextServing = (): { ca: TestCa; leaf: CertificateFiles } => {
    generation++;
    const ca = makeCa(directory, `serving-ca-${generation}`, 'test-cluster-serving', generation);
    const leaf = ca.issue(`serving-${generation}`, {
      commonName: 'kube-apiserver',
      usage: 'server',
      ipAddresses,
      ...SERVER_NAMES,
    });
    return { ca, leaf };
  };
  const clientCa = makeCa(directory, 'client-ca', 'test-cluster-clients');
  const frontProxyCa = makeCa(directory, 'front-proxy-ca', 'test-cluster-front-proxy');
  const first = nextServing();
  const caFile = join(directory, 'ca.crt');
  writeWhole(caFile, first.ca.pem, 0o644);
  return {
    directory,
    clientCa,
    frontProxyCa,
    frontProxy: frontProxyCa.issue('front-proxy', { commonName: 'front-proxy-client', usage: 'client' }),
    kubeletClient: clientCa.issue('kubelet-client', {
      commonName: 'kube-apiserver-kubelet-client',
      organizations: ['system:masters'],
      usage: 'client',
    }),
    tokenKey: makeTokenKey(directory),
    admin: clientCa.issue('admin', {
      commonName: 'test-admin',
      organizations: ['system:masters'],
      usage: 'client',
    }),
    caFile,
    servingCa: first.ca,
    serving: first.leaf,
    kubeconfigFor: (file, url, user) =>
      writeKubeconfig(join(directory, `${file}.kubeconfig`), {
        url,
        caFile,
        user: clientCa.issue(file, { ...user, usage: 'client' }),
      }),
    nextServing,
  };
}
