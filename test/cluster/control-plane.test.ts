import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import type { HandoverError } from '@handover/material';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from './src/index.ts';
import { places } from './src/places.ts';
import { readRecords } from './src/record.ts';

const configMap = (name: string, data: Record<string, string>): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});

/** Status of a GET by a client that trusts exactly this CA, or the error's code. */
const get = (cluster: Cluster, path: string, ca: string): Promise<number | string> =>
  new Promise((resolve) => {
    const asking = request(
      `${cluster.url}${path}`,
      { ca, cert: readFileSync(cluster.clientCert), key: readFileSync(cluster.clientKey), agent: false },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    asking.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    asking.end();
  });

describe('a control plane', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ audit: 'Metadata' });
  });
  afterAll(() => cluster?.stop());

  it('serves the API to kubectl and to a client with its CA', async () => {
    const version = JSON.parse(await cluster.kubectl('version', '-o', 'json')) as {
      serverVersion: { gitVersion: string };
    };
    expect(version.serverVersion.gitVersion).toMatch(/^v1\.\d+\.\d+/);
    expect(await get(cluster, '/api/v1/namespaces', readFileSync(cluster.caFile, 'utf8'))).toBe(200);
  });

  it('serves ClusterTrustBundles', async () => {
    expect(await cluster.kubectl('get', 'clustertrustbundles')).toBe('');
  });

  it('authenticates a user without rights', async () => {
    const kubeconfig = cluster.kubeconfigFor('visitor', ['visitors']);
    const told = await cluster.kubectl('auth', 'whoami', '-o', 'json', `--kubeconfig=${kubeconfig}`);
    expect(JSON.parse(told).status.userInfo).toMatchObject({ username: 'visitor' });
    await expect(cluster.kubectl('get', 'secrets', `--kubeconfig=${kubeconfig}`)).rejects.toThrow(
      /forbidden/i,
    );
  });

  it('keeps its objects when the API server is killed and started again', async () => {
    await cluster.apply(configMap('kept', { answer: '42' }));
    const before = cluster.apiServer.pid;
    await cluster.apiServer.stop('SIGKILL');
    expect(cluster.apiServer.pid).toBeUndefined();
    expect(await get(cluster, '/readyz', readFileSync(cluster.caFile, 'utf8'))).toBe('ECONNREFUSED');
    await cluster.apiServer.start();
    expect(cluster.apiServer.pid).not.toBe(before);
    expect(await cluster.kubectl('get', 'configmap', 'kept', '-o', 'jsonpath={.data.answer}')).toBe('42');
  });

  it('is refused by a client that trusts only the old CA, once the API server has a new one', async () => {
    const old = readFileSync(cluster.caFile, 'utf8');
    await cluster.apiServer.rotateServingCa();
    expect(await get(cluster, '/readyz', old)).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
    expect(await get(cluster, '/readyz', readFileSync(cluster.caFile, 'utf8'))).toBe(200);
    expect(await cluster.kubectl('get', 'namespace', 'default', '-o', 'name')).toBe('namespace/default\n');
  });

  it('has every request in its audit log', async () => {
    await cluster.apply(configMap('audited', {}));
    expect(cluster.audit()).toContainEqual(
      expect.objectContaining({
        verb: 'patch',
        requestURI: expect.stringContaining('/configmaps/audited'),
        user: expect.objectContaining({ username: 'test-admin' }),
      }),
    );
  });
});

it('reports the output of a component that does not start, and leaves nothing behind', async () => {
  const starting = startCluster({ apiServerFlags: ['--no-such-flag'] });
  const error = await starting.then(
    () => undefined,
    (reason: unknown) => reason as HandoverError,
  );
  expect(error?.code).toBe('CLUSTER_START');
  expect(error?.message).toMatch(/the process has ended[\s\S]*unknown flag: --no-such-flag/);
  expect(readRecords(places().records).map(({ record }) => record.directory)).not.toContain(error?.path);
  expect(existsSync(error?.path ?? '')).toBe(false);
});
