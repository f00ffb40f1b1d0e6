import {
  apiServices,
  configMaps,
  customResourceDefinitions,
  type KubeObject,
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stage, setStage, until } from './stage.ts';

let stage: Stage;
let bundle: string;
beforeAll(async () => {
  stage = await setStage();
  stage.start('one');
  await stage.cluster.apply(
    {
      apiVersion: 'handover.dev/v1alpha1',
      kind: 'Authority',
      metadata: { name: 'mesh', namespace: 'default' },
      spec: {},
    },
    {
      apiVersion: 'handover.dev/v1alpha1',
      kind: 'TrustBundle',
      metadata: { name: 'webhooks' },
      spec: {
        sources: [{ authority: 'default/mesh' }],
        targets: [
          { inject: { kind: 'ValidatingWebhookConfiguration', name: 'check' } },
          { inject: { kind: 'MutatingWebhookConfiguration', name: 'change', webhooks: ['b.example.com'] } },
          { inject: { kind: 'APIService', name: 'v1alpha1.data.example.com' } },
          { inject: { kind: 'CustomResourceDefinition', name: 'things.example.com' } },
        ],
      },
    },
  );
  const held = await until(
    () => stage.kube.get(configMaps, { namespace: 'default', name: 'mesh-trust' }),
    'the bundle',
  );
  bundle = Buffer.from(held.data?.['ca.crt'] ?? '').toString('base64');
}, 120_000);
afterAll(() => stage.stop());

const clientConfig = { service: { name: 'hook', namespace: 'default', path: '/' } };
const webhook = (name: string) => ({
  name,
  clientConfig,
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  rules: [{ apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] }],
  failurePolicy: 'Ignore',
});
const caOf = (object: KubeObject | undefined, index = 0): string | undefined =>
  (object as unknown as { webhooks: { clientConfig: { caBundle?: string } }[] } | undefined)?.webhooks[index]
    ?.clientConfig.caBundle;

test('webhooks, an APIService and a CRD get the bundle, whoever comes first', async () => {
  await stage.cluster.apply(
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'check' },
      webhooks: [webhook('a.example.com'), webhook('b.example.com')],
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'change' },
      webhooks: [webhook('a.example.com'), webhook('b.example.com')],
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1alpha1.data.example.com' },
      spec: {
        group: 'data.example.com',
        version: 'v1alpha1',
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        service: { name: 'api', namespace: 'default' },
      },
    },
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
        scope: 'Namespaced',
        conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    },
  );
  try {
    await until(
      async () =>
        caOf(await stage.kube.get(validatingWebhookConfigurations, { name: 'check' }), 0) === bundle,
      'the first webhook',
      20_000,
    );
    await until(
      async () =>
        caOf(await stage.kube.get(validatingWebhookConfigurations, { name: 'check' }), 1) === bundle,
      'the second webhook',
      20_000,
    );
    await until(
      async () => caOf(await stage.kube.get(mutatingWebhookConfigurations, { name: 'change' }), 1) === bundle,
      'the named webhook',
      20_000,
    );
    expect(caOf(await stage.kube.get(mutatingWebhookConfigurations, { name: 'change' }), 0)).toBeUndefined();
    await until(
      async () =>
        ((await stage.kube.get(apiServices, { name: 'v1alpha1.data.example.com' })) as any)?.spec.caBundle ===
        bundle,
      'the APIService',
      20_000,
    );
    await until(
      async () =>
        ((await stage.kube.get(customResourceDefinitions, { name: 'things.example.com' })) as any)?.spec
          .conversion.webhook.clientConfig.caBundle === bundle,
      'the CRD',
      20_000,
    );
  } catch (e) {
    console.log(
      JSON.stringify(
        stage.events.slice(-10),
        (k, v) => (v instanceof Error ? { m: v.message, c: (v as any).code } : v),
        1,
      ),
    );
    throw e;
  }
});

test('a patched caBundle is put right by exactly one write', async () => {
  const n = stage.requests.length;
  await stage.cluster.kubectl(
    'patch',
    'apiservice',
    'v1alpha1.data.example.com',
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { caBundle: 'ZHVtbXktZGF0YS1zaW11bGF0aW5nLW9sZC1wb2Q=', versionPriority: 17 } }),
  );
  const t = performance.now();
  await until(
    async () =>
      ((await stage.kube.get(apiServices, { name: 'v1alpha1.data.example.com' })) as any)?.spec.caBundle ===
      bundle,
    'repair',
    20_000,
  );
  console.log('repaired in', performance.now() - t);
  expect(
    ((await stage.kube.get(apiServices, { name: 'v1alpha1.data.example.com' })) as any)?.spec.versionPriority,
  ).toBe(17);
  await new Promise((r) => setTimeout(r, 2000));
  console.log(
    stage.requests
      .slice(n)
      .map(
        (r) =>
          `${r.verb} ${r.resource}${r.subresource ? '/' + r.subresource : ''} ${r.namespace}/${r.name} ${r.status}`,
      )
      .join('\n'),
  );
  console.log(await stage.cluster.kubectl('get', 'trustbundle', 'webhooks', '-o', 'yaml'));
});
