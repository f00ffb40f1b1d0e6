import type { Cluster, NodeCluster } from '../../cluster/src/index.ts';
import { startCertManager } from '../../field/cert-manager/cert-manager.ts';
import { caIssuer, certificate, issuer } from '../../field/cert-manager/objects.ts';

const NAMESPACE = 'shop';
const metadata = { namespace: NAMESPACE, name: 'web' };

const NGINX = `events {}
http {
  server {
    listen 8443 ssl;
    ssl_certificate /tls/tls.crt;
    ssl_certificate_key /tls/tls.key;
    location / { return 200 "hello\\n"; }
  }
}
`;

/** An nginx with the Secret of the Certificate `web`, which it reads when it starts. */
const web: readonly object[] = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'nginx.conf': NGINX } },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: {
          containers: [
            {
              name: 'nginx',
              image: 'nginx:1',
              readinessProbe: { tcpSocket: { port: 8443 }, periodSeconds: 1 },
              volumeMounts: [
                { name: 'tls', mountPath: '/tls' },
                { name: 'conf', mountPath: '/etc/nginx' },
              ],
            },
          ],
          volumes: [
            { name: 'tls', secret: { secretName: 'web' } },
            { name: 'conf', configMap: { name: 'web' } },
          ],
        },
      },
    },
  },
];

/** cert-manager itself, a CA Issuer, and a program with a certificate of it. */
export const withCertManager = async (cluster: Cluster | NodeCluster): Promise<void> => {
  if (!('node' in cluster)) throw new TypeError('cert-manager runs in pods: the stage needs a node');
  const manager = await startCertManager(cluster);
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  await cluster.apply(...caIssuer(NAMESPACE, 'shop'), certificate(NAMESPACE, 'web', issuer('shop')), ...web);
  await manager.issued(metadata);
  await cluster.kubectl('rollout', 'status', 'deployment/web', '-n', NAMESPACE, '--timeout=180s');
};
