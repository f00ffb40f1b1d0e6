// `handover operator --metrics-auth token` against a real API server: its own account, real tokens, real RBAC.
import { renameSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { installation } from '@handover/install';
import { namespaceObject } from '@handover/test-api-server';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { goOn, type Live } from '../capture.ts';

const ACCOUNT = 'system:serviceaccount:handover-system:handover';
const GROUPS = ['system:serviceaccounts', 'system:serviceaccounts:handover-system', 'system:authenticated'];

let cluster: Cluster;
let kubeconfig: string;
const tokens = { reader: '', stranger: '' };

const account = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace: 'monitoring' },
});

beforeAll(async () => {
  cluster = await startCluster();
  for (const object of installation({
    namespace: 'handover-system',
    image: 'none',
    metricsAuth: 'token',
    openshift: true,
  }).filter(({ kind }) => kind !== 'Deployment'))
    await cluster.apply(object);
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  await cluster.apply(namespaceObject('monitoring'), account('reader'), account('stranger'));
  await cluster.kubectl(
    ...['create', 'clusterrolebinding', 'monitoring', '--clusterrole=handover-metrics-reader'],
    '--serviceaccount=monitoring:reader',
  );
  for (const name of ['reader', 'stranger'] as const)
    tokens[name] = (await cluster.kubectl('create', 'token', name, '-n', 'monitoring')).trim();
  kubeconfig = await cluster.kubeconfigFor(ACCOUNT, GROUPS);
});
afterAll(() => cluster?.stop());

const start = async (
  config: string,
  profile = '/no/profile.json',
): Promise<{ readonly live: Live; readonly url: string; readonly health: string }> => {
  const live = goOn([
    ...['operator', '--kubeconfig', config, '--namespace', 'handover-system', '--log-level', 'trace'],
    ...['--health-address', '127.0.0.1:0', '--dashboard-address', '0'],
    ...['--metrics-auth', 'token', '--metrics-address', '127.0.0.1:0'],
    ...['--metrics-tls-profile', profile],
  ]);
  const said = (event: string) =>
    vi.waitFor(
      () =>
        new RegExp(`"event":"${event}","url":"([^"]+)"`).exec(live.said())?.[1] ?? expect.fail(live.said()),
      { timeout: 60_000 },
    );
  return { live, url: await said('metrics'), health: await said('serving') };
};

const ask = (url: string, token?: string): Promise<readonly [number, string]> =>
  new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    request(url, { agent: false, rejectUnauthorized: false, headers }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve([response.statusCode ?? 0, body]));
    })
      .on('error', reject)
      .end();
  });

const apply = (yaml: string): Promise<string> => {
  const file = join(cluster.directory, 'applied.yaml');
  writeFileSync(file, yaml);
  return cluster.kubectl('apply', '-f', file);
};

const OPENSHIFT = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apiservers.config.openshift.io}
spec:
  group: config.openshift.io
  names: {plural: apiservers, kind: APIServer, singular: apiserver, listKind: APIServerList}
  scope: Cluster
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`;
const CLUSTER_PROFILE = `
apiVersion: config.openshift.io/v1
kind: APIServer
metadata: {name: cluster}
spec: {tlsSecurityProfile: {type: Modern, modern: {}}}
`;
const profileOf = (type: string): string => `
apiVersion: handover.dev/v1alpha1
kind: TLSProfile
metadata: {name: all, namespace: handover-system}
spec: {type: ${type}, configMapName: handover-metrics-tls-profile}
`;

/** As a kubelet does with the operator's volume: the ConfigMap's file, once it is there, in one step. */
const project = async (file: string, minimum: string): Promise<void> => {
  const text = await vi.waitFor(
    async () => {
      const found = await cluster.kubectl(
        ...['get', 'configmap/handover-metrics-tls-profile', '-n', 'handover-system'],
        ...['-o', 'jsonpath={.data.profile\\.json}'],
      );
      expect(found).toContain(minimum);
      return found;
    },
    { timeout: 60_000, interval: 500 },
  );
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
};

/** Whether a client limited to TLS 1.2 is refused by TLS. */
const takesTls12 = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    request(url, { agent: false, rejectUnauthorized: false, maxVersion: 'TLSv1.2' }, (response) => {
      response.resume();
      resolve(true);
    })
      .on('error', () => resolve(false))
      .end();
  });

describe.each<[string, () => Promise<unknown>, boolean]>([
  ['off OpenShift, without a profile', async () => {}, false],
  ['off OpenShift, with a profile', () => apply(profileOf('Modern')), true],
  [
    'on OpenShift, with the profile of the cluster',
    async () => {
      await apply(OPENSHIFT);
      await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
      await apply(CLUSTER_PROFILE);
      await apply(profileOf('OpenShift'));
    },
    true,
  ],
  [
    'on OpenShift, without a profile',
    () => cluster.kubectl('delete', 'tlsprofile/all', '-n', 'handover-system'),
    false,
  ],
])('%s', (name, arrange, profiled) => {
  test('S1.10 metrics of a running operator: no token gets 401, a token without the right 403, with the right 200, whatever profile its TLS follows; health needs no token and has no metrics', async () => {
    await arrange();
    const file = join(cluster.directory, `${name.replaceAll(/\W+/g, '-')}.json`);
    const { live, url, health } = await start(kubeconfig, file);
    expect(url).toMatch(/^https:/);
    const asks = async (): Promise<void> => {
      expect((await ask(url))[0]).toBe(401);
      expect((await ask(url, 'made-up'))[0]).toBe(401);
      expect((await ask(url, tokens.stranger))[0]).toBe(403);
      expect(await ask(url, tokens.reader)).toEqual([200, expect.stringContaining('handover_info{')]);
      expect((await fetch(`${health}/livez`)).status).toBe(200);
      expect((await fetch(`${health}/metrics`)).status).toBe(404);
    };
    const becomes = (wanted: boolean) =>
      vi.waitFor(async () => expect(await takesTls12(url)).toBe(wanted), { timeout: 60_000, interval: 500 });
    await asks();
    expect(await takesTls12(url)).toBe(true);
    if (profiled) {
      await project(file, 'VersionTLS13');
      await becomes(false);
      await asks();
      await apply(profileOf('Intermediate'));
      await project(file, 'VersionTLS12');
      await becomes(true);
      await asks();
    }
    expect(await live.stop()).toBe(0);
    for (const token of Object.values(tokens)) expect(live.said()).not.toContain(token);
  });
});

test('a revoked right ends within a minute; without the right to review tokens, every scrape is refused', async () => {
  const { url } = await start(kubeconfig);
  expect((await ask(url, tokens.reader))[0]).toBe(200);
  await cluster.kubectl('delete', 'clusterrolebinding', 'monitoring');
  await vi.waitFor(async () => expect((await ask(url, tokens.reader))[0]).toBe(403), {
    timeout: 90_000,
    interval: 1_000,
  });
  const powerless = await cluster.kubeconfigFor('system:serviceaccount:handover-system:other', GROUPS);
  const other = await start(powerless);
  expect((await ask(other.url, tokens.reader))[0]).toBe(503);
  expect(other.live.said()).toMatch(/"event":"metrics not reviewed","code":"KUBE_FORBIDDEN"/);
});
