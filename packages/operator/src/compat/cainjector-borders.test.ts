import { deployments, type KubeObject, validatingWebhookConfigurations } from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { OperatorWorld } from '../../test/world.ts';
import { RESOURCE_KINDS } from '../resources/declared.ts';

let world: OperatorWorld;
beforeEach(async () => {
  world = await OperatorWorld.open({ namespaces: ['cert-manager', 'evil'] });
  await world.authority({ rotation: { reloadWithin: '1s' } });
  await world.leaf('prod/hook');
});

const operate = (): void => {
  world.operate({ injection: { compat: ['cainjector'] } });
};

const webhook = async (name: string): Promise<void> => {
  await world.kube.create(validatingWebhookConfigurations, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name, annotations: { 'cert-manager.io/inject-ca-from': 'prod/hook' } },
    webhooks: [
      { name: 'a.example.com', clientConfig: { service: { name: 'hook', namespace: 'prod', path: '/' } } },
    ],
  } as KubeObject);
};

/** How many CAs the webhook trusts. */
const trusts = async (name: string): Promise<number> => {
  const held = (await world.kube.get(validatingWebhookConfigurations, { name })) as unknown as {
    readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
  };
  const bundle = held.webhooks[0]?.clientConfig.caBundle ?? '';
  return bundle === '' ? 0 : parseCertificates(Buffer.from(bundle, 'base64').toString()).certificates.length;
};

const injected = (name: string): Promise<unknown> =>
  world.until(async () => (await trusts(name)) === 1 || undefined, `a CA in webhook ${name}`);

/** A ready Deployment with cainjector's label. */
const cainjectorIn = async (namespace: string): Promise<void> => {
  const where = { namespace, name: 'cainjector' };
  const labels = { 'app.kubernetes.io/name': 'cainjector' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'cainjector' }] } };
  await world.kube.create(deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...where, labels },
    spec: { selector: { matchLabels: labels }, template },
  } as KubeObject);
  const status = { replicas: 1, readyReplicas: 1 };
  await world.kube.patch(deployments, { ...where, subresource: 'status' }, { merge: { status } });
};

/** Distrusts the first CA, and waits until the webhook has the next one alone. */
const distrusted = async (name: string): Promise<void> => {
  const before = await bundle(name);
  await world.annotate('handover.dev/distrust', '1');
  const isReplaced = async (): Promise<true | undefined> =>
    ((await trusts(name)) === 1 && (await bundle(name)) !== before) || undefined;
  await world.until(isReplaced, `webhook ${name} without the distrusted CA`);
};

const bundle = async (name: string): Promise<string> =>
  JSON.stringify((await world.kube.get(validatingWebhookConfigurations, { name }))?.webhooks);

test('a Deployment that looks like cainjector outside the namespace of cert-manager keeps no webhook from its bundle, and no distrust from a webhook', async () => {
  await webhook('early');
  operate();
  await injected('early');
  await cainjectorIn('evil');
  await webhook('late');
  await injected('late');
  await distrusted('early');
});

test('a cainjector in the namespace of cert-manager keeps new objects, and none that has a bundle already', async () => {
  await webhook('early');
  operate();
  await injected('early');
  await cainjectorIn('cert-manager');
  await webhook('late');
  await distrusted('early');
  expect(await trusts('late')).toBe(0);
});

test('a webhook goes back to a running cainjector when its record is removed', async () => {
  await webhook('early');
  operate();
  await injected('early');
  await cainjectorIn('cert-manager');
  const annotations = { 'handover.dev/record': null };
  await world.kube.patch(
    validatingWebhookConfigurations,
    { name: 'early' },
    { merge: { metadata: { annotations } } },
  );
  await world.clock.advance(120_000);
  const { metadata } = (await world.kube.get(validatingWebhookConfigurations, { name: 'early' })) ?? {};
  expect(Object.keys(metadata?.annotations ?? {})).toEqual(['cert-manager.io/inject-ca-from']);
});

test('a webhook whose Leaf is gone loses a distrusted CA all the same', async () => {
  await webhook('early');
  operate();
  await injected('early');
  await world.kube.delete(RESOURCE_KINDS.Leaf, { namespace: 'prod', name: 'hook' });
  await distrusted('early');
});
