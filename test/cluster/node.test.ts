import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { makeCa, type NodeCluster, noNodeBecause, startCluster } from './src/index.ts';

const SOON = { timeout: 120_000, interval: 50 };

const pod = (name: string, container: object, volumes: readonly object[] = []): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', imagePullPolicy: 'Never', ...container }],
    volumes,
  },
});

const secret = (value: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'rotated', namespace: 'default' },
  stringData: { value },
});

const get = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const asking = request(url, { agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => resolve(body));
    });
    asking.on('error', reject);
    asking.end();
  });

describe.skipIf(noNodeBecause() !== undefined)('a whole node', () => {
  let cluster: NodeCluster;
  const ready = (name: string): Promise<string> =>
    cluster.kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=120s');
  const inside = (name: string, ...command: readonly string[]): Promise<string> =>
    cluster.kubectl('exec', name, '--', ...command);

  beforeAll(async () => {
    cluster = await startCluster({ size: 'node', kubelet: { syncFrequency: '10s' } });
  });
  afterAll(() => cluster?.stop());

  it('brings a Secret into a pod, and its next value too, sooner when the pod is nudged', async () => {
    const bearer = {
      image: 'localhost/busybox:1',
      command: ['sleep', '1000000'],
      volumeMounts: [{ name: 'rotated', mountPath: '/rotated' }],
    };
    await cluster.apply(
      secret('first'),
      pod('bearer', bearer, [{ name: 'rotated', secret: { secretName: 'rotated' } }]),
    );
    await ready('bearer');
    expect(await inside('bearer', 'cat', '/rotated/value')).toBe('first');

    const arrival = async (value: string): Promise<number> => {
      const from = performance.now();
      await vi.waitFor(async () => expect(await inside('bearer', 'cat', '/rotated/value')).toBe(value), SOON);
      return Math.round(performance.now() - from);
    };
    await cluster.apply(secret('second'));
    const alone = await arrival('second');
    await cluster.apply(secret('third'));
    const patch = JSON.stringify({ metadata: { annotations: { 'handover.dev/nudge': 'third' } } });
    await cluster.kubectl('patch', 'pod', 'bearer', '--subresource=status', '--type=merge', '-p', patch);
    const nudged = await arrival('third');
    console.info(`a Secret's new value was in the pod after ${alone} ms by itself, ${nudged} ms when nudged`);
  });

  it('brings a ClusterTrustBundle into a pod', async () => {
    const { pem } = makeCa(join(cluster.directory, 'bundle'), 'ca', 'bundle');
    const source = { clusterTrustBundle: { name: 'test-roots', path: 'ca.crt' } };
    await cluster.apply(
      {
        apiVersion: 'certificates.k8s.io/v1beta1',
        kind: 'ClusterTrustBundle',
        metadata: { name: 'test-roots' },
        spec: { trustBundle: pem },
      },
      pod(
        'truster',
        {
          image: 'localhost/busybox:1',
          command: ['sleep', '1000000'],
          volumeMounts: [{ name: 'roots', mountPath: '/roots' }],
        },
        [{ name: 'roots', projected: { sources: [source] } }],
      ),
    );
    await ready('truster');
    expect((await inside('truster', 'cat', '/roots/ca.crt')).trim()).toBe(pem.trim());
  });

  it('runs a folder of JavaScript, and joins it to loopback of this machine in both directions', async () => {
    const answering = createServer((_, response) => response.end('from the machine'));
    await new Promise<void>((resolve) => answering.listen(0, '127.0.0.1', resolve));
    const { port } = answering.address() as AddressInfo;
    await cluster.node.expose(port);
    const folder = mkdtempSync(join(cluster.directory, 'app-'));
    writeFileSync(
      join(folder, 'main.mjs'),
      `import { createServer, get } from 'node:http';
       createServer((_, response) => {
         get('http://${cluster.node.address}:${port}/', (answer) => {
           answer.setEncoding('utf8').on('data', (text) => response.end('a pod, and word ' + text));
         }).on('error', (error) => response.end(String(error)));
       }).listen(8080);`,
    );
    const image = await cluster.node.loadImage({
      name: 'localhost/app:1',
      files: { '/app': folder },
      entrypoint: ['node', '/app/main.mjs'],
    });
    await cluster.apply(
      pod('app', { image, readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 } }),
    );
    await ready('app');
    const address = await cluster.kubectl('get', 'pod', 'app', '-o', 'jsonpath={.status.podIP}');
    const outside = await cluster.node.forward(`${address}:8080`);
    expect(await get(`http://127.0.0.1:${outside}/`)).toBe('a pod, and word from the machine');
    answering.close();
  });

  it('goes on when the API server has a new CA: the kubelet follows and pods stay', async () => {
    const started = [
      'get',
      'pod',
      'bearer',
      '-o',
      'jsonpath={.status.containerStatuses[0].containerID}',
    ] as const;
    const before = await cluster.kubectl(...started);
    await cluster.apiServer.rotateServingCa();
    await cluster.apply(pod('later', { image: 'localhost/busybox:1', command: ['sleep', '1000000'] }));
    await ready('later');
    expect(await cluster.kubectl(...started)).toBe(before);
  });
});
