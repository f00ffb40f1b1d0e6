import { resource } from '../../../packages/operator/test/cluster/stage.ts';
import type { RotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import type { CertManager } from '../cert-manager/cert-manager.ts';
import { caIssuer, certificate, type IssuerRef, issuer } from '../cert-manager/objects.ts';
import { NodeMesh } from '../src/node-mesh.ts';

export const NAMESPACE = 'mesh';
export const AUTHORITY = 'mesh';
const SIGNER = `handover.dev/${NAMESPACE}.${AUTHORITY}`;
const PROBED = { 'handover.dev/reload': 'hot', 'handover.dev/probe': '8443/mtls' };
const ACKNOWLEDGED = { 'handover.dev/ack-port': '8081' };

/** The pods of the procedure beside this (`../trust-manager/mesh.ts`), and one whose key the kubelet makes. */
const PODS = {
  /** A Leaf. */
  hot: { setting: { manner: 'hot', ack: true }, annotations: ACKNOWLEDGED },
  /** A Certificate of cert-manager that names the Authority. */
  late: { setting: { manner: 'polling', delay: 10 }, annotations: PROBED },
  /** A Certificate that a CA Issuer had issued; the Authority took over that CA. */
  once: { setting: { manner: 'frozen' }, annotations: { 'handover.dev/reload': 'restart' } },
  /** A projected pod certificate. */
  pod: { setting: { manner: 'hot', ack: true }, annotations: ACKNOWLEDGED, signer: SIGNER },
} as const;
const MESH = new NodeMesh(PODS, { namespace: NAMESPACE, trust: `${AUTHORITY}-trust`, rate: 12 });
export const HOT = ['hot', 'late', 'pod'] as const;
export const DIRECTIONS = MESH.directions;

const AUTHORITY_REF: IssuerRef = { group: 'handover.dev', kind: 'Authority', name: AUTHORITY };
const LEAF = {
  authority: AUTHORITY,
  secretName: 'hot',
  dnsNames: [`hot.${NAMESPACE}.svc`],
  usages: ['server', 'client'],
};
const BOTH_USAGES = { usages: ['digital signature', 'server auth', 'client auth'] };

/** A cert-manager user's CA and one of its certificates first; then the Authority takes that CA over, and the others join. */
export async function startMesh(stage: RotationStage, certManager: CertManager): Promise<void> {
  const { cluster } = stage;
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  await cluster.apply(
    ...caIssuer(NAMESPACE, 'users'),
    certificate(NAMESPACE, 'once', issuer('users'), BOTH_USAGES),
  );
  await certManager.issued({ namespace: NAMESPACE, name: 'once' });
  const spec = { adopt: { secret: 'users-ca' }, podCertificates: {} };
  await cluster.apply(
    resource('Authority', AUTHORITY, spec, NAMESPACE),
    resource('Leaf', 'hot', LEAF, NAMESPACE),
    certificate(NAMESPACE, 'late', AUTHORITY_REF, BOTH_USAGES),
    certificate(NAMESPACE, 'once', AUTHORITY_REF, BOTH_USAGES),
  );
  await certManager.issued({ namespace: NAMESPACE, name: 'late' });
  await certManager.issued({ namespace: NAMESPACE, name: 'once' });
  await MESH.start(stage);
}
