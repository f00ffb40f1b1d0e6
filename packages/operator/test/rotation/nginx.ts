import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import type { NodeCluster } from '@handover/test-cluster';
import { NAMESPACE } from './mesh.ts';

const NAME = 'nginx';

const CONF = `
daemon off;
worker_processes 1;
error_log stderr;
pid /tmp/nginx.pid;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
  server {
    listen 8443 ssl;
    ssl_certificate /tls/tls.crt;
    ssl_certificate_key /tls/tls.key;
    ssl_client_certificate /tls/ca.crt;
    ssl_verify_client on;
    location / { return 200 "here\\n"; }
  }
}
`;

/** Tells nginx to reload new files, as administrators do. */
const RUN = `
nginx -e stderr -c /conf/nginx.conf &
last=$(readlink /tls/..data)
while sleep 1; do
  now=$(readlink /tls/..data)
  if [ "$now" != "$last" ]; then nginx -e stderr -c /conf/nginx.conf -s reload; last=$now; fi
done
`;

/** An image of this machine's nginx; undefined: not installed. */
export const loadNginx = async (cluster: NodeCluster): Promise<string | undefined> => {
  let program: string;
  try {
    program = execFileSync('which', ['nginx'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
  const libraries = execFileSync('ldd', [program], { encoding: 'utf8' });
  const files: Record<string, string> = { '/usr/sbin/nginx': realpathSync(program) };
  for (const [, path = ''] of libraries.matchAll(/(?:=>\s*|^\s*)(\/\S+)\s+\(/gm))
    files[path] = realpathSync(path);
  return cluster.node.loadImage({ name: 'localhost/nginx:1', base: 'busybox', files });
};

/** It asks for client certificates and refuses in HTTP: the handshake itself succeeds with any certificate. */
export const nginx = (image: string): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: NAME, namespace: NAMESPACE },
    data: { 'nginx.conf': CONF },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: NAME, namespace: NAMESPACE },
    spec: {
      selector: { matchLabels: { app: NAME } },
      template: {
        metadata: {
          labels: { app: NAME },
          annotations: { 'handover.dev/reload': 'hot', 'handover.dev/probe': '8443/mtls' },
        },
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 1,
          securityContext: { runAsUser: 65532 },
          containers: [
            {
              name: 'main',
              image,
              imagePullPolicy: 'Never',
              command: ['/bin/sh', '-c', RUN],
              env: [{ name: 'PATH', value: '/usr/sbin:/bin' }],
              readinessProbe: { tcpSocket: { port: 8443 }, periodSeconds: 1, timeoutSeconds: 5 },
              volumeMounts: [
                { name: 'tls', mountPath: '/tls' },
                { name: 'conf', mountPath: '/conf' },
              ],
            },
          ],
          volumes: [
            { name: 'tls', secret: { secretName: NAME } },
            { name: 'conf', configMap: { name: NAME } },
          ],
        },
      },
    },
  },
];
