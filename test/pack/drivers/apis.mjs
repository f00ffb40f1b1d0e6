// Clients of APIs over https; the server knows one answer of each.
import { writeFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import { Client as AnyClient, HttpConnection } from '@elastic/elasticsearch';
import { hotKubeConfig } from '@handover/runtime/kubernetes';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { nodeServer, optionsFrom } from './node-server.mjs';

export const title = 'stand-in: its API over node:https';

const ANSWERS = {
  '/': { version: { number: '9.0.0' }, tagline: 'You Know, for Search' },
  '/api/v1/namespaces/shop/pods': { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [] },
};
export const start = (files, { folder }) => {
  const server = https.createServer(optionsFrom(files), ({ url }, response) => {
    const [path] = url.split('?');
    response.writeHead(path in ANSWERS ? 200 : 404, {
      'content-type': 'application/json',
      'x-elastic-product': 'Elasticsearch',
    });
    response.end(JSON.stringify(ANSWERS[path] ?? {}));
  });
  return nodeServer(files, server, { kubeconfig: join(folder, 'kubeconfig') });
};

const kubeconfigFor = ({ url, files }) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'shop',
    clusters: [
      { name: 'shop', cluster: { server: url.replace(/\/$/, ''), 'certificate-authority': files.ca } },
    ],
    users: [{ name: 'app', user: { 'client-certificate': files.cert, 'client-key': files.key } }],
    contexts: [{ name: 'shop', context: { cluster: 'shop', user: 'app' } }],
  });

// Retries would hide failures.
class Client extends AnyClient {
  constructor(options) {
    super({ ...options, maxRetries: 0 });
  }
}
const hot = new KubeConfig();

export const drivers = [
  {
    package: '@elastic/elasticsearch',
    make: ({ url, agent }) => new Client({ node: url, Connection: HttpConnection, agent: () => agent }),
    ask: async (client) => {
      const { version } = await client.info();
      if (version.number !== '9.0.0') throw new Error('another answer');
    },
    end: (client) => client.close(),
  },
  {
    package: '@kubernetes/client-node',
    before: (context) => {
      writeFileSync(context.kubeconfig, kubeconfigFor(context));
      hot.loadFromFile(context.kubeconfig);
      return { kc: hot };
    },
    make: async ({ kc }) => hotKubeConfig(kc),
    ask: async () => {
      const { items } = await hot.makeApiClient(CoreV1Api).listNamespacedPod({ namespace: 'shop' });
      if (items.length !== 0) throw new Error('another answer');
    },
  },
];
