import { generateKey, issueCa, localSigner } from '@handover/core';
import { encodePem, instant } from '@handover/material';
import type { SeenRequest } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { OperatorWorld, placeOf } from '../../test/world.ts';
import { RESOURCE_KINDS } from '../resources/declared.ts';

let world: OperatorWorld;
beforeEach(async () => {
  world = await OperatorWorld.open({ namespaces: ['evil', 'other'] });
});

const asksFor = (name: string): readonly SeenRequest[] =>
  world.server.requests.filter(
    ({ path, query }) =>
      path.includes('/namespaces/evil/secrets') &&
      (path.endsWith(`/${name}`) || query.get('fieldSelector') === `metadata.name=${name}`),
  );

test('100 Authorities of one namespace that adopt Secrets which do not come delay no Authority of another', async () => {
  world.server.faults.add({
    when: ({ path, query }) =>
      path.includes('/namespaces/evil/secrets') &&
      (path.includes('/ca-') || query.get('fieldSelector')?.includes('ca-') === true),
    times: 100_000,
    does: 'hang',
  });
  await world.authority({}, 'prod/mesh');
  await world.leaf('prod/before');
  for (let index = 0; index < 100; index++)
    await world.authority({ adopt: { secret: `ca-${index}` } }, `evil/a${index}`);
  world.operate();
  await world.issued('prod/before');
  await world.leaf('prod/after');
  await world.issued('prod/after');
  // They are asked for, a few at a time, and no watch is spent on them.
  const asked = world.server.requests.filter(({ path }) => path.includes('/namespaces/evil/secrets/ca-'));
  expect(asked.length).toBeGreaterThan(0);
  expect(new Set(asked.map(({ path }) => path)).size).toBeLessThanOrEqual(8);
  expect(
    world.server.requests.filter(({ query }) => query.get('fieldSelector')?.includes('ca-') === true),
  ).toEqual([]);
});

const ownCa = async (): Promise<{ readonly certificate: string; readonly key: string }> => {
  const { privateKey } = generateKey('ECDSA-P256');
  const now = world.clock.now();
  const der = await issueCa({
    name: 'old',
    generation: 1,
    signer: localSigner(privateKey),
    serial: new Uint8Array(16).fill(7),
    notBefore: instant(now - 60_000),
    notAfter: instant(now + 3_600_000),
  });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  return { certificate: encodePem('CERTIFICATE', der), key };
};

test('a Secret that an Authority adopts is read until the Authority has its CA, and no longer', async () => {
  const { certificate, key } = await ownCa();
  await world.putSecret('evil/ca-old', { 'tls.crt': certificate, 'tls.key': key });
  await world.authority({ adopt: { secret: 'ca-old' } }, 'evil/mesh');
  world.operate();
  await world.leaf('evil/web');
  await world.issued('evil/web');
  expect(await world.held('evil/web', 'ca.crt')).toContain(certificate.trim());
  const asked = asksFor('ca-old').length;
  expect(asked).toBeGreaterThan(0);
  for (const name of ['second', 'third']) {
    await world.leaf(`evil/${name}`);
    await world.issued(`evil/${name}`);
  }
  expect(asksFor('ca-old')).toHaveLength(asked);
});

test('a change in one namespace causes no pass over Authorities of others that its resources do not name', async () => {
  await world.authority({ issueTo: { namespaceSelector: {} } }, 'prod/mesh');
  await world.authority({}, 'other/own');
  await world.leaf('prod/web');
  world.operate();
  await world.issued('prod/web');
  await world.until(async () => world.rests('other/own') > 0 || undefined, 'a pass over other/own');
  const before = new Map(['prod/mesh', 'other/own'].map((id) => [id, world.rests(id)]));
  const began = world.clock.monotonic();
  await world.authority({}, 'evil/own');
  for (let index = 0; index < 20; index++) {
    await world.leaf(`evil/l${index}`, { authority: 'own' });
    await world.issued(`evil/l${index}`);
  }
  const seconds = (world.clock.monotonic() - began) / 1_000;
  // Looks that nothing calls for come every 20 s at the most.
  const most = 1 + Math.ceil(seconds / 20);
  for (const id of ['prod/mesh', 'other/own'])
    expect(world.rests(id) - (before.get(id) ?? 0)).toBeLessThanOrEqual(most);

  // One that it names is looked at, at once.
  await world.leaf('evil/named', { authority: 'prod/mesh' });
  await world.issued('evil/named');
  expect(world.rests('other/own') - (before.get('other/own') ?? 0)).toBeLessThanOrEqual(most + 1);
});

test('resources that change all the time do not delay an Authority that adopts a CA', async () => {
  const { certificate, key } = await ownCa();
  world.operate();
  const end = new AbortController();
  await world.leaf('evil/restless', { authority: 'absent' });
  const churn = (async () => {
    for (let index = 0; !end.signal.aborted; index++) {
      const merge = { spec: { dnsNames: [`a${index}.evil.svc`] } };
      await world.kube.patch(RESOURCE_KINDS.Leaf, placeOf('evil/restless'), { merge });
      await world.clock.sleep(5, end.signal);
    }
  })();
  for (let index = 0; index < 8; index++) {
    const name = `web${index}`;
    const id = `prod/${name}`;
    const adopt = { 'handover.dev/adopt': 'true' };
    await world.putSecret(id, { 'ca.crt': certificate, 'tls.crt': certificate, 'tls.key': key }, adopt);
    await world.authority({ adopt: { secret: name } }, id);
    await world.ask('Leaf', id, { authority: name, dnsNames: [`${name}.prod.svc`] }, adopt);
    await world.until(
      async () => (await world.held(id))?.trim() !== certificate.trim() || undefined,
      `another certificate in ${id}`,
      10_000,
    );
    expect(await world.held(id, 'ca.crt')).toContain(certificate.trim());
  }
  end.abort();
  await churn;
});

test('a Leaf that was deleted and created again while the API server was away is issued again, though its generation is the same', async () => {
  await world.authority({}, 'prod/mesh');
  await world.leaf('prod/web');
  world.operate();
  await world.issued('prod/web');
  await world.until(async () => world.rests('prod/mesh') > 0 || undefined, 'a pass over prod/mesh');
  const before = await world.held('prod/web');
  await world.server.stop();
  const { store } = world.server;
  const kind = store.kind('handover.dev', 'v1alpha1', 'leaves');
  const place = placeOf('prod/web');
  store.delete(kind, place, {}, false);
  const made = {
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'Leaf',
    metadata: place,
    spec: { authority: 'mesh', dnsNames: ['other.prod.svc'] },
  };
  store.create(kind, place, made as never, { manager: 'kubectl', subresource: '', dryRun: false });
  world.server.compact();
  await world.server.start();
  const isAnew = async (): Promise<true | undefined> =>
    (await world.held('prod/web')) !== before || undefined;
  await world.until(isAnew, 'another certificate', 20_000);
});
