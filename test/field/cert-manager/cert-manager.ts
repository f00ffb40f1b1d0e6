import { fileURLToPath } from 'node:url';
import { namespaceObject } from '@handover/test-api-server';
import { findCainjector, type NodeCluster } from '@handover/test-cluster';
import { until } from '../../../packages/operator/test/cluster/stage.ts';
import { buildGo, moduleAt } from '../clients/build.ts';
import { programPod, rolledOut, service } from '../src/program-pod.ts';
import { caIssuer, certificate, issuer } from './objects.ts';
import { CAINJECTOR, CONTROLLER, NAMESPACE, roles, WEBHOOK, WEBHOOK_CA } from './roles.ts';

const MODULE = 'github.com/cert-manager/cert-manager';
const PROGRAMS = fileURLToPath(new URL('programs', import.meta.url));
const [SECURE_PORT, HEALTH_PORT] = [10250, 6080];

export interface Named {
  readonly namespace: string;
  readonly name: string;
}

export interface CertManager {
  /** `v1.21.2` */
  readonly version: string;
  /** Asks for a new certificate, as `cmctl renew` does, and returns at once. */
  renew(certificate: Named): Promise<void>;
  /** Waits until a Certificate is Ready. */
  issued(certificate: Named): Promise<void>;
}

interface Condition {
  readonly type: string;
  readonly status: string;
}
interface Certificate {
  readonly metadata: { readonly resourceVersion: string; readonly generation: number };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const webhooks = (kind: 'Validating' | 'Mutating', path: string, rule: object): object => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: `${kind}WebhookConfiguration`,
  // Their cainjector writes the caBundle.
  metadata: {
    name: WEBHOOK,
    annotations: { 'cert-manager.io/inject-ca-from-secret': `${NAMESPACE}/${WEBHOOK_CA}` },
  },
  webhooks: [
    {
      name: 'webhook.cert-manager.io',
      rules: [{ apiVersions: ['v1'], ...rule }],
      clientConfig: { service: { name: WEBHOOK, namespace: NAMESPACE, path } },
      admissionReviewVersions: ['v1'],
      matchPolicy: 'Equivalent',
      sideEffects: 'None',
      failurePolicy: 'Fail',
      timeoutSeconds: 30,
    },
  ],
});

const objects = (image: string): readonly object[] => [
  namespaceObject(NAMESPACE),
  ...roles(),
  ...programPod({ namespace: NAMESPACE, name: CONTROLLER, image, command: ['/app/controller'] }),
  ...programPod({
    namespace: NAMESPACE,
    name: WEBHOOK,
    image,
    command: [
      '/app/webhook',
      `--secure-port=${SECURE_PORT}`,
      `--healthz-port=${HEALTH_PORT}`,
      `--dynamic-serving-ca-secret-namespace=${NAMESPACE}`,
      `--dynamic-serving-ca-secret-name=${WEBHOOK_CA}`,
      `--dynamic-serving-dns-names=${WEBHOOK}.${NAMESPACE}.svc`,
    ],
    ready: { path: '/healthz', port: HEALTH_PORT },
  }),
  service(NAMESPACE, WEBHOOK, SECURE_PORT),
  ...programPod({
    namespace: NAMESPACE,
    name: CAINJECTOR,
    image,
    command: ['/app/cainjector', `--leader-election-namespace=${NAMESPACE}`],
  }),
  webhooks('Mutating', '/mutate', {
    apiGroups: ['cert-manager.io'],
    operations: ['CREATE'],
    resources: ['certificaterequests'],
  }),
  webhooks('Validating', '/validate', {
    apiGroups: ['cert-manager.io', 'acme.cert-manager.io'],
    operations: ['CREATE', 'UPDATE'],
    resources: ['*/*'],
  }),
];

/** Issues once through a CA Issuer, in a namespace of its own, which is then deleted. */
const works = async (cluster: NodeCluster, manager: CertManager): Promise<void> => {
  const namespace = 'cert-manager-works';
  await cluster.kubectl('create', 'namespace', namespace);
  const wanted = [...caIssuer(namespace, 'works'), certificate(namespace, 'first', issuer('works'))];
  await until(
    // Refused until the webhook serves and its caBundle is written.
    () =>
      cluster.apply(...wanted).then(
        () => true,
        () => false,
      ),
    "cert-manager's webhook to accept objects",
    300_000,
  );
  await manager.issued({ namespace, name: 'first' });
  await cluster.kubectl('delete', 'namespace', namespace, '--wait=false');
};

/**
 * Real cert-manager in a cluster with a node: controller, webhook and cainjector as pods in the namespace `cert-manager`, with their CRDs.
 * It has issued a certificate when this returns.
 *
 * ```ts
 * const certManager = await startCertManager(stage.cluster); // the cluster of startCluster({ size: 'node' }) or of setRotationStage()
 * await stage.cluster.apply(...APPROVE_AUTHORITIES); // only for issuerRefs to handover.dev/Authority
 * await stage.cluster.apply(certificate('shop', 'web', { group: 'handover.dev', kind: 'Authority', name: 'shop' }));
 * await certManager.issued({ namespace: 'shop', name: 'web' });
 * await certManager.renew({ namespace: 'shop', name: 'web' });
 * ```
 */
export async function startCertManager(cluster: NodeCluster): Promise<CertManager> {
  const programs = await buildGo(PROGRAMS, 'cert-manager', ['./controller', './webhook']);
  const cainjector = await findCainjector((line) => void process.stderr.write(`${line}\n`));
  const { version, dir } = await moduleAt(PROGRAMS, MODULE);
  await cluster.kubectl('apply', '--server-side', '-f', `${dir}/deploy/crds`);
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s');
  const image = await cluster.node.loadImage({
    name: 'localhost/cert-manager:1',
    base: 'empty',
    files: { '/app': programs, '/app/cainjector': cainjector },
  });
  await cluster.apply(...objects(image));
  await rolledOut(cluster, NAMESPACE, [CONTROLLER, WEBHOOK, CAINJECTOR]);
  const get = async ({ namespace, name }: Named): Promise<Certificate> =>
    JSON.parse(await cluster.kubectl('-n', namespace, 'get', 'certificate', name, '-o', 'json'));
  const manager: CertManager = {
    version,
    renew: async (one) => {
      const { metadata, status } = await get(one);
      const issuing = {
        ...{ type: 'Issuing', status: 'True', reason: 'ManuallyTriggered' },
        message: 'Renewal was asked for by a test',
        lastTransitionTime: `${new Date().toISOString().slice(0, 19)}Z`,
        observedGeneration: metadata.generation,
      };
      const conditions = (status?.conditions ?? []).filter(({ type }) => type !== 'Issuing');
      const patch = {
        metadata: { resourceVersion: metadata.resourceVersion },
        status: { conditions: [...conditions, issuing] },
      };
      const how = ['--subresource=status', '--type=merge', '-p', JSON.stringify(patch)];
      await cluster.kubectl('-n', one.namespace, 'patch', 'certificate', one.name, ...how);
    },
    issued: async ({ namespace, name }) => {
      const ready = ['--for=condition=Ready', `certificate/${name}`, '--timeout=300s'];
      await cluster.kubectl('-n', namespace, 'wait', ...ready);
    },
  };
  await works(cluster, manager);
  return manager;
}
