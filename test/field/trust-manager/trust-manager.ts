import { fileURLToPath } from 'node:url';
import type { NodeCluster } from '@handover/test-cluster';
import { until } from '../../../packages/operator/test/cluster/stage.ts';
import { moduleAt } from '../cert-manager/cert-manager.ts';
import { certificate, issuer } from '../cert-manager/objects.ts';
import { buildGo } from '../clients/build.ts';
import { grant, programPod, type Rule, rolledOut, service } from '../src/go-program.ts';

const MODULE = 'github.com/cert-manager/trust-manager';
const PROGRAM = fileURLToPath(new URL('program', import.meta.url));
/** The namespace of trust-manager and of the sources of its Bundles: their default. */
export const TRUST_NAMESPACE = 'cert-manager';
const NAME = 'trust-manager';
const [WEBHOOK_PORT, READY_PORT] = [6443, 6060];

export interface TrustManager {
  /** `v0.25.0` */
  readonly version: string;
}

const rule = (group: string, resources: string, verbs: string): Rule => ({
  apiGroups: [group],
  resources: resources.split(' '),
  verbs: verbs.split(' '),
});
const account = { namespace: TRUST_NAMESPACE, name: NAME };
const READ = 'get list watch';

const rights = (): readonly object[] => [
  ...grant(NAME, account, [
    rule('trust.cert-manager.io', 'bundles', READ),
    rule('trust.cert-manager.io', 'bundles/finalizers', 'update'),
    rule('trust.cert-manager.io', 'bundles/status', 'patch'),
    rule('trust-manager.io', 'clusterbundles', READ),
    rule('trust-manager.io', 'clusterbundles/finalizers', 'update'),
    rule('trust-manager.io', 'clusterbundles/status', 'patch'),
    rule('', 'configmaps secrets', `${READ} create patch delete`),
    rule('', 'namespaces', READ),
    rule('', 'events', 'create patch'),
    rule('events.k8s.io', 'events', 'create patch'),
  ]),
  ...grant(NAME, account, [rule('coordination.k8s.io', 'leases', `${READ} create update`)], TRUST_NAMESPACE),
];

const webhook = (): object => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: {
    name: NAME,
    annotations: { 'cert-manager.io/inject-ca-from': `${TRUST_NAMESPACE}/${NAME}` },
  },
  webhooks: [
    {
      name: 'trust.cert-manager.io',
      rules: [
        {
          apiGroups: ['trust.cert-manager.io'],
          apiVersions: ['v1alpha1'],
          operations: ['CREATE', 'UPDATE'],
          resources: ['bundles'],
        },
      ],
      clientConfig: {
        service: {
          name: NAME,
          namespace: TRUST_NAMESPACE,
          path: '/validate-trust-cert-manager-io-v1alpha1-bundle',
        },
      },
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Fail',
    },
  ],
});

export interface BundleSpec {
  readonly sources: readonly object[];
  readonly target: object;
}
export const bundle = (name: string, spec: BundleSpec): object => ({
  apiVersion: 'trust.cert-manager.io/v1alpha1',
  kind: 'Bundle',
  metadata: { name },
  spec,
});

/**
 * Real trust-manager beside the cert-manager of `startCertManager`, which gives its webhook's certificate. `defaultCas` is the PEM that a source
 * with `useDefaultCAs` stands for. It accepts Bundles when this returns.
 */
export async function startTrustManager(cluster: NodeCluster, defaultCas: string): Promise<TrustManager> {
  const programs = await buildGo(PROGRAM, 'trust-manager', [`${MODULE}/cmd/trust-manager`]);
  const { version, dir } = await moduleAt(PROGRAM, MODULE);
  await cluster.kubectl('apply', '--server-side', '-f', `${dir}/deploy/crds`);
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s');
  const image = await cluster.node.loadImage({
    name: 'localhost/trust-manager:1',
    base: 'empty',
    files: { '/app': programs },
  });
  const root = `${NAME}-root`;
  await cluster.apply(
    ...rights(),
    {
      apiVersion: 'cert-manager.io/v1',
      kind: 'Issuer',
      metadata: { name: root, namespace: TRUST_NAMESPACE },
      spec: { selfSigned: {} },
    },
    certificate(TRUST_NAMESPACE, NAME, issuer(root)),
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'default-cas', namespace: TRUST_NAMESPACE },
      data: {
        'package.json': JSON.stringify({ name: 'default-cas', version: '1', bundle: defaultCas }),
      },
    },
    service(TRUST_NAMESPACE, NAME, WEBHOOK_PORT),
    webhook(),
    ...programPod({
      ...account,
      image,
      command: [
        '/app/trust-manager',
        `--trust-namespace=${TRUST_NAMESPACE}`,
        `--webhook-port=${WEBHOOK_PORT}`,
        `--readiness-probe-port=${READY_PORT}`,
        '--default-package-location=/packages/package.json',
        '--secret-targets-enabled=true',
      ],
      ready: { path: '/readyz', port: READY_PORT },
      volumes: [
        { path: '/tls', name: 'tls', volume: { secret: { secretName: NAME } } },
        { path: '/packages', name: 'packages', volume: { configMap: { name: 'default-cas' } } },
      ],
    }),
  );
  await rolledOut(cluster, TRUST_NAMESPACE, [NAME]);
  const first = bundle('trust-manager-works', {
    sources: [{ useDefaultCAs: true }],
    target: { configMap: { key: 'ca.crt' } },
  });
  await until(
    // Refused until the webhook's caBundle is written.
    () =>
      cluster.apply(first).then(
        () => true,
        () => false,
      ),
    "trust-manager's webhook to accept a Bundle",
    300_000,
  );
  await cluster.kubectl('delete', 'bundle', 'trust-manager-works');
  return { version };
}
