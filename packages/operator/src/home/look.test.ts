import { MANAGED_LABEL, parseResources } from '@handover/core';
import { type Kube, type KubeObject, secrets } from '@handover/kube';
import { apiServer } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { type HomeOn, homeOn, resourceIn } from '../../test/home.ts';
import { GivenResources } from '../resources/declarations.ts';
import type { Declared } from '../resources/declared.ts';
import type { KubeHome } from './home.ts';

let kube: Kube;
let end: AbortController;
beforeEach(async () => {
  ({ kube, stop: end } = await apiServer({ namespaces: ['prod'] }));
});

const authority = (name: string) => resourceIn('prod', 'Authority', name);

const homeOf = (resources: HomeOn['resources'] = [authority('mesh')]): KubeHome =>
  homeOn({ kube, signal: end.signal, namespace: 'prod', wide: ['secrets', 'configmaps'], resources });

test('two passes at once have a snapshot each, and neither reads through the other’s', async () => {
  const home = homeOf();
  await home.ready();
  const first = await home.fresh();
  expect(await first.objects.read('prod/secrets/web')).toBeUndefined();
  await kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'prod', name: 'web', labels: { [MANAGED_LABEL]: 'true' } },
    data: { 'tls.crt': '' },
  } as KubeObject);
  const second = await home.fresh();
  expect(await second.objects.read('prod/secrets/web')).toBeDefined();
  // What the first has listed stays what it was: its plan must not rest on two moments.
  expect(await first.objects.read('prod/secrets/web')).toBeUndefined();
  expect(await (await home.fresh()).objects.read('prod/secrets/web')).toBeDefined();
});

/** Resources to which one is added just after they have been read for the last time. */
class Changing extends GivenResources {
  #left = 2;
  now: readonly Declared[];
  changed: () => void = () => {};

  constructor() {
    super(parseResources([authority('mesh')]));
    this.now = super.all();
  }

  override all(): readonly Declared[] {
    const { now } = this;
    if (--this.#left === 0)
      queueMicrotask(() => {
        this.now = new GivenResources(parseResources([authority('mesh'), authority('more')])).all();
        this.changed();
      });
    return now;
  }
}

test('resources that were read before a change are not used after it', async () => {
  const declarations = new Changing();
  const home = homeOf(declarations);
  declarations.changed = () => home.forget();
  await home.ready();
  expect([...(await home.resolved()).catalogue.authorities.keys()]).toEqual(['prod/mesh', 'prod/more']);
});

test('a target of a kind that the API server does not serve does not stop other targets from being watched', async () => {
  const roots = {
    value: {
      apiVersion: 'handover.dev/v1alpha1',
      kind: 'TrustBundle',
      metadata: { name: 'roots' },
      spec: { sources: [{ authority: 'prod/mesh' }], targets: [{ clusterTrustBundle: { name: 'roots' } }] },
    },
    where: 'roots',
  };
  const home = homeOf(new GivenResources(parseResources([authority('mesh'), roots])));
  await home.ready();
  expect(home.synced).toBe(true);
  expect((await home.resolved()).absent.get('roots')).toEqual([
    { target: 'ClusterTrustBundle roots', why: expect.stringContaining('certificates.k8s.io/v1 or v1beta1') },
  ]);
});
