import { fork } from 'node:child_process';
import { once } from 'node:events';
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { hotKubeConfig } from '../src/kubernetes.ts';
import { MockCa } from '../test/mock-ca.ts';
import { Volume } from '../test/volume.ts';
import { type Figure, interleaved, rate } from './figures.ts';

type ClientNode = typeof import('client-node-1');

async function lines(): Promise<readonly (readonly [string, ClientNode])[]> {
  if (Number.parseInt(process.versions.node, 10) < 22 && process.env.HANDOVER_HOOK !== undefined) {
    register(pathToFileURL(process.env.HANDOVER_HOOK));
  }
  return [
    ['1.4.0', await import('client-node-1')],
    ['2.0.1', (await import('client-node-2')) as unknown as ClientNode],
  ];
}

/** Requests per second of the Kubernetes client, as it is and as hotKubeConfig makes it, against the same server. */
export async function kube(): Promise<Figure[]> {
  const ca = new MockCa('bench');
  const volume = new Volume({ 'ca.crt': ca.pem, token: 'token' });
  const server = fork(new URL('./api-server.mjs', import.meta.url));
  server.send(ca.leaf());
  const [port] = (await once(server, 'message')) as [number];
  const stop = new AbortController();
  const figures: Figure[] = [];
  for (const [version, { CoreV1Api, KubeConfig }] of await lines()) {
    const config = () => {
      const kc = new KubeConfig();
      kc.loadFromClusterAndUser(
        {
          name: 'c',
          server: `https://localhost:${port}`,
          caFile: volume.path('ca.crt'),
          skipTLSVerify: false,
        },
        { name: 'u', authProvider: { name: 'tokenFile', config: { tokenFile: volume.path('token') } } },
      );
      return kc;
    };
    const plain = config().makeApiClient(CoreV1Api);
    const hot = (await hotKubeConfig(config(), { signal: stop.signal })).makeApiClient(CoreV1Api);
    for (const [how, width, least] of [
      ['sequential', 1, 5],
      ['16-way', 16, 8],
    ] as const) {
      const base = () =>
        rate(20 * Math.min(width, 4), width, () => plain.listNamespacedPod({ namespace: 'x' }));
      const ours = () =>
        rate(150 * Math.min(width, 4), width, () => hot.listNamespacedPod({ namespace: 'x' }));
      await base();
      await ours();
      const result = await interleaved(5, 4, base, ours);
      figures.push({
        name: `client-node ${version}, ${how}: hot ÷ plain`,
        value: result.ratio,
        unit: '×',
        bound: { least },
        note: `${Math.round(result.ours)}/s against ${Math.round(result.base)}/s`,
      });
    }
  }
  stop.abort();
  server.disconnect();
  volume.remove();
  return figures;
}
