// What a reader already has at the start of a document: the minimum that its commands need.
import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { namespaceObject, temporaryFolder } from '@handover/test-api-server';
import {
  apiServer,
  apiServerCrd,
  clusterVersionCrd,
  setClusterVersion,
} from '../../../packages/operator/test/cluster/openshift.ts';
import { BUNDLE_CRD } from '../../../packages/operator/test/trust-manager/crd.ts';
import { type Cluster, makeCa, type NodeCluster } from '../../cluster/src/index.ts';

const webhookConfiguration = (
  name: string,
  annotations: Readonly<Record<string, string>> = {},
  kind = 'ValidatingWebhookConfiguration',
): object => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name, annotations },
  webhooks: [
    {
      name: 'check.example.com',
      clientConfig: { service: { name: 'server', namespace: 'default' } },
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      rules: [
        { apiGroups: ['x.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['x'] },
      ],
    },
  ],
});

/** A reader's own webhook, without a caBundle. */
export const webhook = async (cluster: Cluster): Promise<void> =>
  cluster.apply(namespaceObject('my-webhook'), webhookConfiguration('my-webhook'));

/** The objects of Envoy Gateway's chart. */
export const gateway = async (cluster: Cluster): Promise<void> => {
  const name = 'envoy-gateway-topology-injector.envoy-gateway-system';
  await cluster.apply(
    namespaceObject('envoy-gateway-system'),
    webhookConfiguration(name, {}, 'MutatingWebhookConfiguration'),
  );
};

/** An aggregated API without a running server. */
export const packagingApi = async (cluster: Cluster): Promise<void> => {
  await cluster.apply(namespaceObject('packaging'));
  await cluster.apply(
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'packaging-api', namespace: 'packaging' },
      spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port: 10443 }] },
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1alpha1.packaging.example.com' },
      spec: {
        group: 'packaging.example.com',
        version: 'v1alpha1',
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        service: { name: 'packaging-api', namespace: 'packaging', port: 10443 },
      },
    },
  );
};

/** OpenShift's own kinds on a Kubernetes: there is no OpenShift here. */
export const openShift = async (cluster: Cluster): Promise<void> => {
  await cluster.apply(await apiServerCrd(), await clusterVersionCrd(), namespaceObject('shop'));
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  await cluster.apply(apiServer({ tlsSecurityProfile: { type: 'Intermediate', intermediate: {} } }));
  await setClusterVersion(cluster, '4.20.1');
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { ports: [{ port: 443 }], selector: { app: 'web' } },
  });
};

/** A Secret as cert-manager leaves it, and a webhook that names its Certificate. */
export const theirSecret = async (cluster: Cluster): Promise<void> => {
  const ca = makeCa(join(cluster.directory, 'theirs'), 'ca', 'their CA');
  const { certFile, keyFile } = ca.issue('web', {
    commonName: 'web',
    usage: 'server',
    dnsNames: ['web.shop.svc'],
  });
  await cluster.apply(namespaceObject('shop'));
  await cluster.kubectl(
    ...['create', 'secret', 'generic', 'web-tls', '-n', 'shop', '--type=kubernetes.io/tls'],
    ...[`--from-file=tls.crt=${certFile}`, `--from-file=tls.key=${keyFile}`],
    `--from-literal=ca.crt=${ca.pem}`,
  );
  await cluster.kubectl(
    ...['annotate', 'secret', 'web-tls', '-n', 'shop', 'cert-manager.io/certificate-name=web'],
  );
  await cluster.apply(webhookConfiguration('shop', { 'cert-manager.io/inject-ca-from': 'shop/web' }));
};

/** What trust-manager leaves: its kind, its namespace, and a CA to spread. */
export const companyCa = async (cluster: Cluster): Promise<void> => {
  await cluster.apply(BUNDLE_CRD, namespaceObject('shop'), namespaceObject('cert-manager'));
  const { pem } = makeCa(join(cluster.directory, 'theirs'), 'ca', 'company CA');
  await cluster.kubectl(
    'create',
    'configmap',
    'company-ca',
    '-n',
    'cert-manager',
    `--from-literal=ca.crt=${pem}`,
  );
};

/** This machine's nginx under the name of the well-known image. */
export const loadNginx = async (cluster: NodeCluster, program: string): Promise<void> => {
  const empty = temporaryFolder();
  const files: Record<string, string> = {
    '/usr/sbin/nginx': realpathSync(program),
    // Its user, and the folders of its build.
    '/etc/passwd': '/etc/passwd',
    '/etc/group': '/etc/group',
    '/var/lib/nginx': empty,
    '/var/log/nginx': empty,
    '/run': empty,
  };
  const libraries = execFileSync('ldd', [program], { encoding: 'utf8' });
  for (const [, path = ''] of libraries.matchAll(/(?:=>\s*|^\s*)(\/\S+)\s+\(/gm))
    files[path] = realpathSync(path);
  await cluster.node.loadImage({
    name: 'docker.io/library/nginx:1',
    base: 'busybox',
    files,
    env: { PATH: '/usr/sbin:/bin' },
    entrypoint: ['nginx', '-e', 'stderr', '-g', 'daemon off;'],
  });
};
