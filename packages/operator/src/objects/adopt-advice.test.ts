import { observeWithRetry } from '@handover/engine';
import { secrets } from '@handover/kube';
import { apiServer } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { homeOn, resourceIn } from '../../test/home.ts';

test('a Secret of another program is taken over with two consents, and the obstacle names both', async () => {
  const { kube, stop } = await apiServer({ namespaces: ['shop'] });
  await kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'shop', name: 'web-tls' },
    data: { 'tls.crt': 'eA==' },
  });
  const resources = [
    resourceIn('shop', 'Authority', 'mesh'),
    resourceIn('shop', 'Leaf', 'web', {
      authority: 'mesh',
      secretName: 'web-tls',
      dnsNames: ['web.shop.svc'],
    }),
  ];
  const home = homeOn({ kube, signal: stop.signal, namespace: 'shop', resources });
  await home.ready();
  const { seen } = await observeWithRetry(home.fresh, 'shop/mesh');
  const { obstacle } = seen.objects.find(({ id }) => id === 'shop/secrets/web-tls') ?? {};
  expect(obstacle).toContain('handover.dev/adopt: "true" as an annotation of the resource that asks for it');
  expect(obstacle).toContain('kubectl -n shop label secrets web-tls handover.dev/adopt=true');
});
