import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { type KubeObject, podCertificateRequests } from '@handover/kube';

export const REQUESTS = podCertificateRequests('v1');

/** The status of a request. */
export interface Answer {
  readonly conditions?: readonly {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
  }[];
  readonly certificateChain?: string;
  readonly notBefore?: string;
  readonly notAfter?: string;
  readonly beginRefreshAt?: string;
}

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};

const SEQUENCE = 0x30;
/** AlgorithmIdentifiers: RSA with SHA-256, ECDSA with SHA-256, Ed25519. */
const SIGNATURES = {
  rsa: Buffer.from('300d06092a864886f70d01010b0500', 'hex'),
  ec: Buffer.from('300a06082a8648ce3d040302', 'hex'),
  ed25519: Buffer.from('300506032b6570', 'hex'),
} as const;

/** A PKCS#10 request without names, as a kubelet makes them. */
export const stubRequest = (
  { publicKey, privateKey }: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
  signedBy: KeyObject = privateKey,
): string => {
  const info = der(
    SEQUENCE,
    der(0x02, Buffer.from([0])),
    der(SEQUENCE),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa0),
  );
  const type = publicKey.asymmetricKeyType as keyof typeof SIGNATURES;
  const signature = sign(type === 'ed25519' ? undefined : 'sha256', info, signedBy);
  const bits = der(0x03, Buffer.from([0]), signature);
  return der(SEQUENCE, info, SIGNATURES[type], bits).toString('base64');
};

export const newKey = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

/** A pod with a podCertificate volume. */
export const certifiedPod = (
  namespace: string,
  name: string,
  signer: string,
  more: object = {},
): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace,
      name,
      labels: { app: name },
      ...('metadata' in more ? (more.metadata as object) : {}),
    },
    spec: {
      serviceAccountName: 'default',
      nodeName: 'node-1',
      containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'own', mountPath: '/own' }] }],
      volumes: [
        {
          name: 'own',
          projected: {
            sources: [
              {
                podCertificate: {
                  signerName: signer,
                  keyType: 'ECDSAP256',
                  credentialBundlePath: 'bundle.pem',
                },
              },
            ],
          },
        },
      ],
    },
    status: { phase: 'Running' },
  }) as unknown as KubeObject;

/** The request that the kubelet would make for it. */
export const requestFor = (pod: KubeObject, signer: string, spec: object = {}): KubeObject =>
  ({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'PodCertificateRequest',
    metadata: { namespace: pod.metadata.namespace, name: `req-${randomUUID().slice(0, 13)}` },
    spec: {
      signerName: signer,
      podName: pod.metadata.name,
      podUID: pod.metadata.uid,
      serviceAccountName: 'default',
      serviceAccountUID: '00000000-0000-4000-8000-000000000001',
      nodeName: 'node-1',
      nodeUID: '00000000-0000-4000-8000-000000000002',
      maxExpirationSeconds: 86_400,
      stubPKCS10Request: stubRequest(newKey()),
      ...spec,
    },
  }) as unknown as KubeObject;
