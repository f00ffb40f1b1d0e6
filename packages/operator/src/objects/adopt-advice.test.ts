import { parseResources } from '@handover/core';
import { observeAnew } from '@handover/engine';
import { connect, namespaces, secrets } from '@handover/kube';
import { FakeApiServer } from '@handover/test-api-server';
import { expect, onTestFinished, test } from 'vitest';
import { KubeHome } from '../home/home.ts';
import { GivenResources } from '../resources/declarations.ts';
import { kindsWith } from './kinds.ts';

test('a Secret of another program is taken over with two consents, and the obstacle names both', async () => {
  const server = await FakeApiServer.start();
  const end = new AbortController();
  onTestFinished(async () => {
    end.abort();
    await server.stop();
  });
  const kube = connect(server.config, { signal: end.signal, rate: false });
  await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  await kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'shop', name: 'web-tls' },
    data: { 'tls.crt': 'eA==' },
  });
  const resource = (kind: string, name: string, spec: object) => ({
    value: { apiVersion: 'handover.dev/v1alpha1', kind, metadata: { name, namespace: 'shop' }, spec },
    where: name,
  });
  const declared = [
    resource('Authority', 'mesh', {}),
    resource('Leaf', 'web', { authority: 'mesh', secretName: 'web-tls', dnsNames: ['web.shop.svc'] }),
  ];
  const home = new KubeHome({
    connection: { kube, signal: end.signal },
    scope: { kinds: kindsWith({ version: 'v1' }), namespace: 'shop', trustNamespace: 'shop', wide: [] },
    resources: {
      declarations: new GivenResources(parseResources(declared)),
      clusterTrustBundles: () => false,
      injectionOf: undefined,
      takeOver: false,
    },
    consumers: { found: false },
  });
  home.start(end.signal);
  await home.ready();
  const { seen } = await observeAnew(home.fresh, 'shop/mesh');
  const { obstacle } = seen.objects.find(({ id }) => id === 'shop/secrets/web-tls') ?? {};
  expect(obstacle).toContain('handover.dev/adopt: "true" as an annotation of the resource that asks for it');
  expect(obstacle).toContain('kubectl -n shop label secrets web-tls handover.dev/adopt=true');
});
