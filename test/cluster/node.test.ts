import { writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { makeCa, type NodeCluster, noNodeBecause, startCluster } from './src/index.ts';

const SOON = { timeout: 120_000, interval: 50 };

const pod = (
  name: string,
  container: object,
  volumes: readonly object[] = [],
  nodeName?: string,
): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { name } },
  spec: {
    ...(nodeName === undefined ? {} : { nodeName }),
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

  it('delivers a Secret and its next value to a pod, sooner when the pod is nudged', async () => {
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

  it('delivers a ClusterTrustBundle to a pod', async () => {
    const { pem } = makeCa(join(cluster.directory, 'bundle'), 'ca', 'bundle');
    const source = { clusterTrustBundle: { name: 'test-roots', path: 'ca.crt' } };
    await cluster.apply(
      {
        apiVersion: 'certificates.k8s.io/v1',
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

  it('runs a folder of JavaScript, and connects it to this machine’s loopback in both directions', async () => {
    const answering = createServer((_, response) => response.end('from the machine'));
    await new Promise<void>((resolve) => answering.listen(0, '127.0.0.1', resolve));
    const { port } = answering.address() as AddressInfo;
    await cluster.node.expose(port);
    const folder = temporaryFolder();
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

  it('survives a new CA of the API server: the kubelet follows and pods stay', async () => {
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

describe.skipIf(noNodeBecause() !== undefined)('two nodes', () => {
  let cluster: NodeCluster;
  beforeAll(async () => {
    cluster = await startCluster({ size: 'node', nodes: 2 });
  });
  afterAll(() => cluster?.stop());
  const addressOf = (name: string): Promise<string> =>
    cluster.kubectl('get', 'pod', name, '-o', 'jsonpath={.status.podIP}');

  it('runs an image on both, with separate addresses that reach each other, also through a Service', async () => {
    expect(cluster.nodes.map(({ name }) => name)).toEqual(['test-node', 'test-node-2']);
    expect(cluster.node).toBe(cluster.nodes[0]);
    const image = await cluster.node.loadImage({ name: 'localhost/pages:1' });
    const page = (node: string): object => {
      const serve = `require('node:http').createServer((_, answer) => answer.end('on ${node}')).listen(8080)`;
      const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 };
      return pod(`page-${node}`, { image, command: ['node', '-e', serve], readinessProbe }, [], node);
    };
    const service = (node: string, clusterIP: string): object => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: node, namespace: 'default' },
      spec: { clusterIP, selector: { name: `page-${node}` }, ports: [{ port: 80, targetPort: 8080 }] },
    });
    const [one = '', two = ''] = cluster.nodes.map(({ name }) => name);
    await cluster.apply(page(one), page(two), service(one, '10.96.0.61'), service(two, '10.96.0.62'));
    for (const name of [one, two])
      await cluster.kubectl('wait', '--for=condition=Ready', `pod/page-${name}`, '--timeout=120s');
    const fetched = (from: string, url: string): Promise<string> =>
      cluster.kubectl(
        'exec',
        `page-${from}`,
        '--',
        'node',
        '-e',
        `fetch('${url}').then((a) => a.text()).then(console.log)`,
      );
    for (const [from, to] of [
      [one, two],
      [two, one],
    ] as const) {
      expect(await fetched(from, `http://${await addressOf(`page-${to}`)}:8080/`)).toBe(`on ${to}\n`);
      const address = to === one ? '10.96.0.61' : '10.96.0.62';
      await vi.waitFor(
        async () => expect(await fetched(from, `http://${address}/`)).toBe(`on ${to}\n`),
        SOON,
      );
    }
  });

  it('moves the pods of a drained node to the other node, and back when that one is drained', async () => {
    const labels = { app: 'mover' };
    const container = { name: 'main', image: 'localhost/busybox:1', command: ['sleep', '1000000'] };
    await cluster.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'mover', namespace: 'default' },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 0,
            containers: [{ imagePullPolicy: 'Never', ...container }],
          },
        },
      },
    });
    const ready = ['rollout', 'status', 'deployment/mover', '--timeout=120s'] as const;
    const hosts = (): Promise<string> =>
      cluster.kubectl('get', 'pods', '-l', 'app=mover', '-o', 'jsonpath={.items[*].spec.nodeName}');
    await cluster.kubectl(...ready);
    const first = await hosts();
    const other = cluster.nodes.find(({ name }) => name !== first)?.name;
    await cluster.kubectl('drain', first, '--force', '--timeout=120s');
    await vi.waitFor(async () => expect(await hosts()).toBe(other), SOON);
    await cluster.kubectl('uncordon', first);
    await cluster.kubectl(...ready);
    await cluster.kubectl('drain', other ?? '', '--force', '--timeout=120s');
    await vi.waitFor(async () => expect(await hosts()).toBe(first), SOON);
  });
});
