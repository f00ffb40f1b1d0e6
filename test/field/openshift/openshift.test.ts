// S1 where OpenShift's own APIServer/cluster cannot be read: forbidden, unavailable, silent. The last known profile stays in force.
// Against: OpenShift's CRDs; kube-apiserver.
import { readFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { configMaps } from '@handover/kube';
import { makeCa } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiServer, apiServerCrd } from '../../../packages/operator/test/cluster/openshift.ts';
import {
  condition,
  type Running,
  resource,
  type Stage,
  setStage,
  until,
} from '../../../packages/operator/test/cluster/stage.ts';

const LONG = 180_000;
let stage: Stage;
let operator: Running;

beforeAll(async () => {
  stage = await setStage({ installed: { openshift: true } });
  await stage.cluster.apply(await apiServerCrd());
  await stage.cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  operator = stage.start('one');
});
afterAll(() => stage?.stop());

const follow = (type: string): Promise<unknown> =>
  stage.cluster.apply(apiServer({ tlsSecurityProfile: { type } }));
const written = async (): Promise<{ readonly minimum?: string; readonly version?: string }> => {
  const found = await stage.kube.get(configMaps, { namespace: 'default', name: 'tls-profile' });
  const { minTLSVersion } = JSON.parse(found?.data?.['profile.json'] ?? '{}') as { minTLSVersion?: string };
  return {
    ...(minTLSVersion === undefined ? {} : { minimum: minTLSVersion }),
    ...(found?.metadata.resourceVersion === undefined ? {} : { version: found.metadata.resourceVersion }),
  };
};
const says = (type: string, status: string, reason: string, words = /./) =>
  until(
    async () => {
      const found = await condition(stage, 'TLSProfile', 'follows', type);
      return found?.status === status && found.reason === reason && words.test(found.message);
    },
    `${type}=${status} ${reason} ${words}`,
    LONG,
  );
const isMinimum = (minimum: string) =>
  until(async () => (await written()).minimum === minimum, `a minimum of ${minimum}`, LONG);

/** What the installation allows about OpenShift's kinds, wherever it says so. */
const rolesAbout = async (): Promise<readonly string[]> => {
  const { items } = JSON.parse(await stage.cluster.kubectl('get', 'clusterroles', '-o', 'json')) as {
    items: { metadata: { name: string }; rules?: { apiGroups?: string[] }[] }[];
  };
  return items
    .filter(
      ({ metadata, rules = [] }) =>
        metadata.name.startsWith('handover') &&
        rules.some(({ apiGroups = [] }) => apiGroups.includes('config.openshift.io')),
    )
    .map(({ metadata }) => metadata.name);
};

/** Rights and routes are looked at when a watch begins: one that is under way goes on for an hour. */
const endWatches = async (): Promise<void> => {
  await stage.cluster.apiServer.stop();
  await stage.cluster.apiServer.start();
};

test('S1.4 the CRD of openshift/api: the profile is followed', async () => {
  await stage.cluster.apply(
    resource('TLSProfile', 'follows', { type: 'OpenShift', configMapName: 'tls-profile' }),
  );
  await follow('Modern');
  await isMinimum('VersionTLS13');
  await says('Degraded', 'False', 'Honored');
});

test('S1.7 what the API server of this OpenShift refuses never arrives', async () => {
  const before = await written();
  await expect(follow('Bogus')).rejects.toThrow(/Unsupported value: "Bogus"/);
  expect(await written()).toEqual(before);
});

test('S1.1 the right to read it is taken away: the last profile stays, a condition says why, and a restart changes nothing', async () => {
  const before = await written();
  const [role = '', ...others] = await rolesAbout();
  expect(others).toEqual([]);
  const whole = JSON.parse(await stage.cluster.kubectl('get', 'clusterrole', role, '-o', 'json')) as {
    metadata: object;
    rules: { apiGroups: string[] }[];
  };
  const rules = whole.rules.filter(({ apiGroups }) => !apiGroups.includes('config.openshift.io'));
  const setRules = (value: readonly object[]) =>
    stage.cluster.kubectl(
      'patch',
      'clusterrole',
      role,
      '--type=merge',
      '-p',
      JSON.stringify({ rules: value }),
    );
  await setRules(rules);
  await endWatches();
  await follow('Old');
  await says('Degraded', 'True', 'SourceForbidden', /may not be read.*last profile that was read stays/);
  await says('Ready', 'True', 'Written');
  expect(await written()).toEqual(before);

  await operator.stop();
  operator = stage.start('two');
  await says('Ready', 'False', 'SourceForbidden', /the files from before stay/);
  await until(async () => operator.operator.waitingFor().length === 0, 'the operator to be ready', LONG);
  expect(await written()).toEqual(before);

  await setRules(whole.rules);
  await isMinimum('VersionTLS10');
  await follow('Modern');
  await isMinimum('VersionTLS13');
  await says('Degraded', 'False', 'Honored');
});

interface Elsewhere {
  readonly port: number;
  close(): Promise<void>;
}

/** Sends the group to this port; undefined: back to the API server itself. */
const serveGroupFrom = async (port: number | undefined): Promise<void> => {
  const name = 'v1.config.openshift.io';
  if (port === undefined) {
    await stage.cluster.kubectl('delete', 'apiservice', name);
    return;
  }
  await stage.cluster.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'elsewhere', namespace: 'default' },
    spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
  });
  const service = { name: 'elsewhere', namespace: 'default', port };
  const labels = { 'kube-aggregator.kubernetes.io/automanaged': null };
  await stage.cluster.kubectl(
    ...['patch', 'apiservice', name, '--type=merge', '-p'],
    JSON.stringify({ metadata: { labels }, spec: { service, insecureSkipTLSVerify: true } }),
  );
};

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

/** Nothing listens there. */
const refusing = async (): Promise<Elsewhere> => {
  const server = createServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return { port, close: async () => undefined };
};

/** Says that it is there, so that the API server passes requests on, and then answers none of them. */
const silent = async (): Promise<Elsewhere> => {
  const ca = makeCa(join(stage.cluster.directory, 'silent'), 'ca', 'silent');
  const { certFile, keyFile } = ca.issue('silent', { commonName: 'silent', usage: 'server' });
  const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  const server = createHttpsServer(pair, ({ url }, response) => {
    if (url?.split('?', 1)[0] === '/apis/config.openshift.io/v1')
      response.end(
        JSON.stringify({
          kind: 'APIResourceList',
          apiVersion: 'v1',
          groupVersion: 'config.openshift.io/v1',
          resources: [],
        }),
      );
  });
  const port = await listening(server);
  return {
    port,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

test.each([
  ['refuses connections', refusing, /503|unavailable/],
  ['accepts requests and answers none', silent, /./],
])(
  'S1.1 the server of its API group %s: the last profile stays, and a condition says why until it is back',
  async (how, elsewhere, words) => {
    const before = await written();
    const { port, close } = await elsewhere();
    const since = stage.requests.length;
    await serveGroupFrom(port);
    await endWatches();
    await says(
      'Degraded',
      'True',
      'SourceUnavailable',
      /cannot be read now.*last profile that was read stays/,
    );
    const { message = '' } = (await condition(stage, 'TLSProfile', 'follows', 'Degraded')) ?? {};
    console.log(`${how}: ${message}`);
    expect(message).toMatch(words);
    await says('Ready', 'True', 'Written');
    expect(await written()).toEqual(before);
    const asked = stage.requests.slice(since).filter(({ resource: kind }) => kind === 'apiservers');
    expect(asked.some(({ status }) => status !== 200)).toBe(true);
    // Nothing else is held up: another profile is written meanwhile.
    const name = elsewhere.name;
    await stage.cluster.apply(resource('TLSProfile', name, { type: 'Old', configMapName: name }));
    await until(
      async () => (await condition(stage, 'TLSProfile', name, 'Ready'))?.status === 'True',
      'another profile',
      LONG,
    );
    await serveGroupFrom(undefined);
    await close();
    await says('Degraded', 'False', 'Honored');
    expect(await written()).toEqual(before);
  },
);
