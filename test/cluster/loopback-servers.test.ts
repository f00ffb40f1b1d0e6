import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Cluster, makeCa, startCluster } from './src/index.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const serve = async (cluster: Cluster, name: string, listener: RequestListener) => {
  const ca = makeCa(join(cluster.directory, name), 'ca', name);
  const { certFile, keyFile } = ca.issue('server', {
    commonName: name,
    usage: 'server',
    dnsNames: [`${name}.default.svc`],
    ipAddresses: ['127.0.0.1'],
  });
  const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, ca, port: (server.address() as AddressInfo).port };
};

const json = (value: object) => (response: Parameters<RequestListener>[1]) => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
};

describe('an API server and servers on loopback', () => {
  let cluster: Cluster;
  const servers: Server[] = [];
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(async () => {
    for (const server of servers) server.close();
    await cluster?.stop();
  });

  it('serves an aggregated API while it trusts its CA, and not once the caBundle holds another CA', async () => {
    const group = 'apis.example.test';
    const { server, ca, port } = await serve(cluster, 'aggregated', (request, response) => {
      const about = { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${group}/v1`, resources: [] };
      const path = request.url ?? '';
      json(path.endsWith('/hello') ? { hello: 'world' } : about)(response);
    });
    servers.push(server);
    const apiService = (caBundle: string): object => ({
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1.${group}` },
      spec: {
        group,
        version: 'v1',
        groupPriorityMinimum: 1000,
        versionPriority: 10,
        caBundle: base64(caBundle),
        service: { namespace: 'default', name: 'aggregated', port },
      },
    });
    await cluster.apply(
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'aggregated', namespace: 'default' },
        spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
      },
      apiService(ca.pem),
    );
    await vi.waitFor(
      async () =>
        expect(await cluster.kubectl('get', '--raw', `/apis/${group}/v1/hello`)).toBe('{"hello":"world"}'),
      { timeout: 60_000, interval: 100 },
    );
    await cluster.apply(apiService(makeCa(join(cluster.directory, 'other'), 'ca', 'other').pem));
    await vi.waitFor(
      () => expect(cluster.kubectl('get', '--raw', `/apis/${group}/v1/hello`)).rejects.toThrow(),
      { timeout: 60_000, interval: 100 },
    );
  });

  it('calls a webhook, and its error names the certificate when it does not trust it', async () => {
    const { server, ca, port } = await serve(cluster, 'webhook', (request, response) => {
      let body = '';
      request.on('data', (text) => {
        body += text;
      });
      request.on('end', () => {
        const { uid } = (JSON.parse(body) as { request: { uid: string } }).request;
        const answer = { uid, allowed: false, status: { message: 'not on a test day' } };
        json({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer })(response);
      });
    });
    servers.push(server);
    const webhook = (caBundle: string): object => ({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'tests' },
      webhooks: [
        {
          name: 'configmaps.example.test',
          clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: base64(caBundle) },
          rules: [
            { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
          ],
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
        },
      ],
    });
    const create = (): Promise<string> =>
      cluster.kubectl('create', 'configmap', 'asked-about', '--dry-run=server');
    await cluster.apply(webhook(ca.pem));
    await vi.waitFor(() => expect(create()).rejects.toThrow('not on a test day'), {
      timeout: 60_000,
      interval: 100,
    });
    await cluster.apply(webhook(makeCa(join(cluster.directory, 'another'), 'ca', 'another').pem));
    await vi.waitFor(() => expect(create()).rejects.toThrow('certificate signed by unknown authority'), {
      timeout: 60_000,
      interval: 100,
    });
  });
});
