import type { AuthorityState } from '@handover/core';
import type { Kube, KubeObject } from '@handover/kube';
import { apiServer, type FakeApiServer } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { RESOURCE_KINDS } from '../resources/declared.ts';
import { KubeRequests } from './requests.ts';

const ID = 'shop/mesh';
const AT = { namespace: 'shop', name: 'mesh' };
let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
beforeEach(async () => {
  ({ server, kube, stop: end } = await apiServer({ namespaces: ['shop'] }));
  server.serve(RESOURCE_KINDS.Authority);
  await kube.create(RESOURCE_KINDS.Authority, {
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'Authority',
    metadata: AT,
  } as KubeObject);
});

const requests = (isStored: boolean): KubeRequests =>
  new KubeRequests({
    kube,
    namespace: 'handover-system',
    authorities: { load: async () => undefined },
    isStored: () => isStored,
    signal: end.signal,
  });
const annotations = async () => (await kube.get(RESOURCE_KINDS.Authority, AT))?.metadata.annotations;

test('a rotation request is an annotation of the Authority, which names each id once', async () => {
  const asked = requests(true);
  for (const rotate of ['r1', 'r2', 'r1']) await asked.ask({ authority: ID, rotate });
  await asked.ask({ authority: ID, distrust: 3 });
  expect(await annotations()).toEqual({ 'handover.dev/rotate': 'r1,r2', 'handover.dev/distrust': '3' });
  expect(await asked.pending(ID)).toEqual({ rotate: [], distrust: [] });
});

test('a request to an Authority that is in no API server lasts as long as the process, and writes nothing', async () => {
  const asked = requests(false);
  await asked.ask({ authority: ID, rotate: 'r1' });
  await asked.ask({ authority: ID, distrust: 3 });
  await asked.ask({ authority: ID, rotate: 'r1' });
  expect(await asked.pending(ID)).toEqual({ rotate: ['r1'], distrust: [3] });
  const current = { number: 4, role: 'current' } as const;
  await asked.done(ID, { ids: ['r1'], generations: [current] } as unknown as AuthorityState);
  expect(await asked.pending(ID)).toEqual({ rotate: [], distrust: [] });
  expect(await annotations()).toBeUndefined();
});

test('an invalid rotation id is refused before anything is written', async () => {
  await expect(requests(true).ask({ authority: ID, rotate: 'a,b' })).rejects.toMatchObject({
    code: 'ROTATION_ID_INVALID',
  });
  expect(await annotations()).toBeUndefined();
});

test.each([true, false])(
  'rotations that have not begun are taken back, and those that have stay (Authority in an API server: %s)',
  async (isStored) => {
    const asked = requests(isStored);
    const begun = { ids: ['r1'] } as unknown as AuthorityState;
    for (const rotate of ['r1', 'r2', 'r3']) await asked.ask({ authority: ID, rotate });
    expect(await asked.drop(ID, begun)).toEqual(['r2', 'r3']);
    expect(await asked.drop(ID, begun)).toEqual([]);
    const left = isStored ? await annotations() : (await asked.pending(ID)).rotate;
    expect(left).toEqual(isStored ? { 'handover.dev/rotate': 'r1' } : ['r1']);
    expect(await asked.drop(ID, undefined)).toEqual(['r1']);
    expect((await annotations()) ?? {}).toEqual({});
  },
);
