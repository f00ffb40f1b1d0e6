// The world that examples run in: files of a mesh, a server for HTTP/1.1 and HTTP/2, and an API server, all on loopback.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { join } from 'node:path';
import { connect, validatingWebhookConfigurations } from '@handover/kube';
import { FakeApiServer } from '@handover/test-api-server';
import { MockCa } from '../../packages/runtime/test/mock-ca.ts';

const kubeconfig = (cluster, user) =>
  JSON.stringify({
    clusters: [{ name: 'x', cluster }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    users: [{ name: 'x', user }],
    'current-context': 'x',
  });

const apiServer = async () => {
  const server = await FakeApiServer.start();
  const end = new AbortController();
  await connect(server.config, { signal: end.signal }).create(validatingWebhookConfigurations, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'my-webhook' },
    webhooks: [
      {
        name: 'my-webhook.example.com',
        clientConfig: { service: { name: 'my-webhook', namespace: 'default' } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  end.abort();
  return server;
};

/** Writes the files into the directory. `adapt` puts the places of this world into an example. */
export const setStage = async (directory) => {
  const ca = new MockCa('mesh');
  const server = createSecureServer({ ...ca.leaf(), allowHTTP1: true }, (_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  const api = await apiServer();
  const { cert, key } = ca.leaf();
  const files = {
    'ca.crt': ca.pem,
    'tls.crt': cert,
    'tls.key': key,
    token: 'a-token',
    namespace: 'shop',
    'profile.json': JSON.stringify({
      minTLSVersion: 'VersionTLS12',
      ciphers: ['TLS_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
    }),
    kubeconfig: kubeconfig(
      { server: `https://localhost:${port}`, 'certificate-authority': join(directory, 'ca.crt') },
      { tokenFile: join(directory, 'token') },
    ),
    'api-server': kubeconfig({ server: api.url }, {}),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return {
    env: {
      KUBECONFIG: join(directory, 'api-server'),
      KUBERNETES_SERVICE_HOST: 'localhost',
      KUBERNETES_SERVICE_PORT: String(port),
    },
    adapt: (code) =>
      code
        .replaceAll('/etc/mesh', directory)
        .replaceAll('inCluster()', `inCluster({ directory: '${directory}' })`)
        .replaceAll('billing.mesh.svc:443', `localhost:${port}`)
        .replaceAll('https://billing.mesh.svc', `https://localhost:${port}`)
        .replaceAll("'billing.mesh.svc', port: 443", `'localhost', port: ${port}`)
        .replaceAll('listen(8443)', "listen(0, '127.0.0.1')")
        .replaceAll('0.0.0.0:8443', '127.0.0.1:0')
        .replaceAll('port: 8081', "port: 0, host: '127.0.0.1'"),
    end: async () => {
      server.close();
      await api.stop();
    },
  };
};
