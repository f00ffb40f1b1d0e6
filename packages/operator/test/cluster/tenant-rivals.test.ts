// With --compat cainjector: a Deployment of another namespace that looks like a running cainjector.
import { deployments, validatingWebhookConfigurations } from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { RESOURCE_KINDS } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from './stage.ts';
import { EVIL, put, setTenantStage, type TenantStage } from './tenant-stage.ts';

const PROD = 'prod';
const LABELS = { 'app.kubernetes.io/name': 'cainjector' } as const;

let stage: TenantStage;
beforeAll(async () => {
  stage = await setTenantStage('--compat', 'cainjector');
  await stage.namespace(PROD);
  await put(stage.admin, resource('Authority', 'mesh', { rotation: { reloadWithin: '1s' } }, PROD));
  await put(stage.admin, resource('Leaf', 'hook', { authority: 'mesh', dnsNames: ['hook.prod.svc'] }, PROD));
}, 300_000);
afterAll(() => stage?.stop());

const webhook = (name: string): Promise<void> =>
  stage.cluster.apply({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name, annotations: { 'cert-manager.io/inject-ca-from': `${PROD}/hook` } },
    webhooks: [
      {
        name: 'a.example.com',
        clientConfig: { service: { name: 'hook', namespace: PROD, path: '/' } },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Ignore',
        rules: [
          { apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] },
        ],
      },
    ],
  });

const trusted = async (name: string): Promise<readonly string[]> => {
  const found = (await stage.admin.get(validatingWebhookConfigurations, { name })) as unknown as {
    readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
  };
  const bundle = Buffer.from(found.webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString();
  return bundle === '' ? [] : parseCertificates(bundle).certificates.map(({ fingerprint }) => fingerprint);
};

test('a ready Deployment of the namespace evil with cainjector’s label keeps no webhook from its bundle, and no distrust from a webhook', async () => {
  await webhook('early');
  const [before] = await until(async () => {
    const held = await trusted('early');
    return held.length === 1 && held;
  }, 'a CA in the webhook');
  await stage.evil.create(deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'cainjector', namespace: EVIL, labels: LABELS },
    spec: {
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: { containers: [{ name: 'main', image: 'none' }] } },
    },
  } as never);
  const status = { replicas: 1, readyReplicas: 1, availableReplicas: 1 };
  await stage.evil.patch(
    deployments,
    { namespace: EVIL, name: 'cainjector', subresource: 'status' },
    { merge: { status } },
  );
  await webhook('late');
  await until(async () => (await trusted('late')).length === 1, 'a CA in the other webhook');
  const annotations = { 'handover.dev/distrust': '1' };
  await stage.admin.patch(
    RESOURCE_KINDS.Authority,
    { namespace: PROD, name: 'mesh' },
    { merge: { metadata: { annotations } } },
  );
  await until(async () => {
    const held = [...(await trusted('early')), ...(await trusted('late'))];
    return held.length === 2 && !held.includes(before ?? '');
  }, 'both webhooks without the distrusted CA');
  expect(await trusted('early')).toEqual(await trusted('late'));
});
