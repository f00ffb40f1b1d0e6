import type { RotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import type { CertManager } from '../cert-manager/cert-manager.ts';
import { caIssuer, certificate, issuer } from '../cert-manager/objects.ts';
import { nodePart } from '../envoy/pods.ts';
import { rolledOut } from '../src/go-program.ts';
import { bundle, TRUST_NAMESPACE } from './trust-manager.ts';

export const NAMESPACE = 'mesh';
/** Calls per second of each pod, over all its directions. */
const RATE = 16;
/** One that follows its files, one that loads them ten seconds late, and one that reads them when it starts. */
const PARTS = {
  hot: { manner: 'hot' },
  late: { manner: 'polling', delay: 10 },
  once: { manner: 'frozen' },
} as const;
type Name = keyof typeof PARTS;
export const NAMES = Object.keys(PARTS) as readonly Name[];
export const DIRECTIONS = NAMES.flatMap((from) =>
  NAMES.filter((to) => to !== from).map((to) => `${from} → ${to}`),
);

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
  const address = (name: Name): string => `10.96.0.${90 + NAMES.indexOf(name)}`;
  const target = (name: Name) => ({
    name,
    address: `${address(name)}:8443`,
    servername: `${name}.${NAMESPACE}.svc`,
  });
  for (const name of NAMES) {
    await certManager.issued({ namespace: NAMESPACE, name });
    const targets = NAMES.filter((other) => other !== name).map(target);
    await cluster.apply(
      ...nodePart({
        ...{ namespace: NAMESPACE, name, address: address(name), secret: name, trust: 'mesh' },
        image: stage.image,
        setting: { ...PARTS[name], rate: RATE, targets, collector: stage.collectorUrl },
      }),
    );
  }
  await rolledOut(cluster, NAMESPACE, NAMES);
}
