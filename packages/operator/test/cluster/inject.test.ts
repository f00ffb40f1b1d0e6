import {
  apiServices,
  configMaps,
  customResourceDefinitions,
  mutatingWebhookConfigurations,
  type ResourceKind,
  validatingWebhookConfigurations,
} from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Relay } from './relay.ts';
import { type Running, resource, type Stage, setStage, until } from './stage.ts';

const API = 'v1alpha1.data.example.com';
let stage: Stage;
let one: Running;
let bundle: string;

beforeAll(async () => {
  stage = await setStage();
  one = stage.start('one');
  await stage.cluster.apply(
    resource('Authority', 'mesh'),
    resource('TrustBundle', 'webhooks', {
      sources: [{ authority: 'default/mesh' }],
      targets: [
        { inject: { kind: 'ValidatingWebhookConfiguration', name: 'check' } },
        { inject: { kind: 'MutatingWebhookConfiguration', name: 'change', webhooks: ['b.example.com'] } },
        { inject: { kind: 'APIService', name: API } },
        { inject: { kind: 'CustomResourceDefinition', name: 'things.example.com' } },
      ],
    }),
  );
  const held = await until(
    () => stage.kube.get(configMaps, { namespace: 'default', name: 'mesh-trust' }),
    'the bundle',
  );
  bundle = Buffer.from(held.data?.['ca.crt'] ?? '').toString('base64');
}, 300_000);
afterAll(() => stage.stop());

const clientConfig = { service: { name: 'hook', namespace: 'default', path: '/' } };
const webhook = (name: string): object => ({
  name,
  clientConfig,
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Ignore',
  rules: [{ apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] }],
});
const webhooks = (kind: string, name: string): object => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name },
  webhooks: [webhook('a.example.com'), webhook('b.example.com')],
});
const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
    scope: 'Namespaced',
    conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};
const apiService = {
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: API },
  spec: {
    group: 'data.example.com',
    version: 'v1alpha1',
    groupPriorityMinimum: 1000,
    versionPriority: 15,
    service: { name: 'api', namespace: 'default' },
  },
};

/** The value at a path of an object: `webhooks.1.clientConfig.caBundle`. */
const at = async (kind: ResourceKind, name: string, path: string): Promise<unknown> => {
  const found: unknown = await stage.kube.get(kind, { name });
  return path.split('.').reduce((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], found);
};
const holds = (kind: ResourceKind, name: string, path: string): Promise<true> =>
  until(async () => (await at(kind, name, path)) === bundle, `${name} ${path}`);

test('webhooks, an APIService and a CRD get the bundle as soon as they exist, and only the named ones', async () => {
  await stage.cluster.apply(
    webhooks('ValidatingWebhookConfiguration', 'check'),
    webhooks('MutatingWebhookConfiguration', 'change'),
    apiService,
    crd,
  );
  await holds(validatingWebhookConfigurations, 'check', 'webhooks.0.clientConfig.caBundle');
  await holds(validatingWebhookConfigurations, 'check', 'webhooks.1.clientConfig.caBundle');
  await holds(mutatingWebhookConfigurations, 'change', 'webhooks.1.clientConfig.caBundle');
  expect(
    await at(mutatingWebhookConfigurations, 'change', 'webhooks.0.clientConfig.caBundle'),
  ).toBeUndefined();
  await holds(apiServices, API, 'spec.caBundle');
  await holds(
    customResourceDefinitions,
    'things.example.com',
    'spec.conversion.webhook.clientConfig.caBundle',
  );
  await stage.cluster.kubectl('wait', '--for=condition=Ready', 'trustbundle/webhooks', '--timeout=60s');
});

test('a patched caBundle is restored with exactly one write, and the neighbouring field keeps its edit', async () => {
  const before = stage.requests.length;
  const patch = { spec: { caBundle: 'ZHVtbXktZGF0YS1zaW11bGF0aW5nLW9sZC1wb2Q=', versionPriority: 17 } };
  await stage.cluster.kubectl('patch', 'apiservice', API, '--type=merge', '-p', JSON.stringify(patch));
  await holds(apiServices, API, 'spec.caBundle');
  expect(await at(apiServices, API, 'spec.versionPriority')).toBe(17);
  const writes = stage.requests
    .slice(before)
    .filter(({ verb, resource: kind }) => kind === 'apiservices' && !['get', 'list', 'watch'].includes(verb));
  expect(writes).toHaveLength(1);
});

test('a silent watch does not hide a drift: it is soon opened again', async () => {
  await one.stop();
  const relay = await Relay.start(stage.cluster);
  const end = new AbortController();
  let muted = 0;
  stage.start('two', { kube: relay.connect(end.signal) });
  await until(
    async () => relay.log.some(({ path }) => path.includes('/validatingwebhookconfigurations')),
    'a watch',
  );
  relay.fate = ({ watch, path, query }) => {
    const mute =
      watch &&
      path.endsWith('/validatingwebhookconfigurations') &&
      !query.includes('sendInitialEvents') &&
      ++muted === 1;
    return mute ? 'mute' : 'pass';
  };
  await until(async () => muted === 1, 'the watch that will say nothing', 90_000);
  await stage.cluster.kubectl(
    ...['patch', 'validatingwebhookconfiguration', 'check', '--type=json', '-p'],
    JSON.stringify([{ op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value: 'Cg==' }]),
  );
  const began = performance.now();
  await until(
    async () =>
      (await at(validatingWebhookConfigurations, 'check', 'webhooks.0.clientConfig.caBundle')) === bundle,
    'the repair',
    100_000,
  );
  console.log(
    `put right ${Math.round((performance.now() - began) / 1_000)} s after the drift, by a watch that was mute`,
  );
  expect(muted).toBeGreaterThan(1);
  end.abort();
  await relay.stop();
}, 240_000);
