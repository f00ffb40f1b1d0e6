import type { RotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import type { CertManager } from '../cert-manager/cert-manager.ts';
import { caIssuer, certificate, issuer } from '../cert-manager/objects.ts';
import { NodeMesh } from '../src/node-mesh.ts';
import { bundle, TRUST_NAMESPACE } from './trust-manager.ts';

export const NAMESPACE = 'mesh';
/** One that follows its files, one that loads them ten seconds late, and one that reads them when it starts. */
const PODS = {
  hot: { setting: { manner: 'hot' } },
  late: { setting: { manner: 'polling', delay: 10 } },
  once: { setting: { manner: 'frozen' } },
} as const;
const MESH = new NodeMesh(PODS, { namespace: NAMESPACE, trust: 'mesh', rate: 16 });
export const NAMES = MESH.names;
export const DIRECTIONS = MESH.directions;

/** The roots that the Bundle gives out: copies, because a source that is the issuer's own Secret would change at once. */
export const roots = (data: Readonly<Record<string, string>>): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'mesh-roots', namespace: TRUST_NAMESPACE },
  data,
});

/** The certificate of a CA that cert-manager made. */
export const rootIn = async (stage: RotationStage, secret: string): Promise<string> => {
  const told = await stage.cluster.kubectl('-n', NAMESPACE, 'get', 'secret', secret, '-o', 'json');
  const { data } = JSON.parse(told) as { readonly data: Readonly<Record<string, string>> };
  return Buffer.from(data['tls.crt'] ?? '', 'base64')
    .toString('utf8')
    .trim();
};

/** Pods with certificates of a CA Issuer, and trust from a Bundle. */
export async function startMesh(stage: RotationStage, certManager: CertManager): Promise<void> {
  const { cluster } = stage;
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  await cluster.apply(...caIssuer(NAMESPACE, 'mesh'));
  await certManager.issued({ namespace: NAMESPACE, name: 'mesh-ca' });
  await cluster.apply(
    roots({ 'first.crt': await rootIn(stage, 'mesh-ca') }),
    bundle('mesh', {
      sources: [{ configMap: { name: 'mesh-roots', includeAllKeys: true } }],
      target: { configMap: { key: 'ca.crt' } },
    }),
    ...NAMES.map((name) => certificate(NAMESPACE, name, issuer('mesh'))),
  );
  for (const name of NAMES) await certManager.issued({ namespace: NAMESPACE, name });
  await MESH.start(stage);
}
