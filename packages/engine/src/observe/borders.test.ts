import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { issueCa, localSigner } from '@handover/core';
import {
  after,
  day,
  hour,
  PrivateKey,
  parseCertificate,
  parseCertificates,
  second,
} from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { accepts, catalogue, MESH, on, resourcesOf, World } from '../../test/world.ts';
import {
  catalogueOf,
  converge,
  digestOf,
  type FileData,
  filesFrom,
  type ObjectRecord,
  observeWithRetry,
  reconcile,
  targetsOf,
} from '../index.ts';

const ID = 'default/mesh';
const OWN = 'default/configmaps/mesh-trust/ca.crt';
const OPEN = MESH.replace('spec: {', 'spec: {issueTo: {namespaceSelector: {}}, ');
const THEIRS = `${OPEN}---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: x, namespace: evil}
spec: {authority: default/mesh, dnsNames: [x.evil.svc], usages: [server]}
`;
const adopting = (how: string): ReturnType<typeof catalogue> =>
  catalogue(MESH.replace('spec: {', `spec: {adopt: ${how}, `));

let world: World;
beforeEach(() => {
  world = new World();
});

const authorityOf = async (name: string) => {
  const key = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const notAfter = after(world.now, 365 * day);
  const asked = {
    name,
    generation: 1,
    signer: localSigner(key.privateKey),
    serial: randomBytes(16),
    notBefore: after(world.now, -hour),
    notAfter,
  };
  const ca = parseCertificate(await issueCa(asked));
  return { ca, pem: PrivateKey.of(key.privateKey).exportPem() };
};
const bundle = async (id: string): Promise<readonly string[]> =>
  parseCertificates((await world.object(id)).data['ca.crt'] ?? '').certificates.map(({ subject }) => subject);
const state = async () => (await world.authorities.load(ID))?.state;
const forged = (data: FileData): ObjectRecord => ({
  digest: digestOf(data),
  revisions: { [ID]: 1_000_000_000 },
  anchors: [],
  changedAt: world.now,
  issuedBy: ID,
});

test('An object of another namespace that was there before the authority adds nothing to what it trusts', async () => {
  const { ca } = await authorityOf('evil');
  const data = filesFrom({ 'ca.crt': ca.pem, 'tls.crt': ca.pem, 'tls.key': '' });
  world.objects.put('evil/secrets/x', { data, record: forged(data) });
  await converge(on(world.home, catalogue(THEIRS)), ID);
  expect(await bundle(OWN)).toEqual([expect.stringMatching(/^CN=mesh 1 /)]);
  expect(await bundle('default/secrets/a')).toEqual(await bundle(OWN));
});

test.each(['evil/secrets/x', 'evil/secrets/unasked'])(
  'An object of another namespace with a made-up record (%s) stops neither writes nor a rotation',
  async (object) => {
    const resources = catalogue(THEIRS);
    await converge(on(world.home, resources), ID);
    const data = filesFrom({ 'ca.crt': 'junk' });
    world.objects.put(object, { data, record: forged(data), seal: { by: ID, mac: 'made up' } });
    world.rotate.push('r1');
    for (let step = 0; step < 4; step++) {
      await converge(on(world.home, resources), ID);
      world.pass(90 * second);
    }
    expect((await state())?.generations).toMatchObject([
      { number: 2, role: 'current' },
      { number: 1, role: 'retained', hasKey: false },
    ]);
    expect(await bundle(OWN)).toEqual([
      expect.stringMatching(/^CN=mesh 2 /),
      expect.stringMatching(/^CN=mesh 1 /),
    ]);
    expect((await state())?.revision).toBeLessThan(10);
    world.pass(3650 * day);
    await converge(on(world.home, resources), ID);
    expect((await state())?.generations.some(({ number }) => number === 1)).toBe(false);
  },
);

test('An object of another namespace that is a bundle of the authority and claims to hold a leaf of it is rewritten', async () => {
  const resources = catalogue(`${THEIRS}---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: spread}
spec:
  sources: [{authority: default/mesh}]
  targets: [{configMap: {name: trust, key: ca.crt}}]
`);
  await converge(on(world.home, resources), ID);
  const data = filesFrom({ 'ca.crt': 'junk' });
  world.objects.put('evil/configmaps/trust/ca.crt', { data, record: forged(data) });
  await converge(on(world.home, resources), ID);
  expect(await bundle('evil/configmaps/trust/ca.crt')).toEqual(await bundle(OWN));
});

test('An object of another namespace to which a record was copied with its seal is not believed', async () => {
  const resources = catalogue(THEIRS);
  await converge(on(world.home, resources), ID);
  const { data, record, claim } = await world.object('default/secrets/a');
  world.objects.put('evil/secrets/copy', { data, ...(record && { record }), seal: claim?.seal });
  const { seen, stored } = await observeWithRetry(on(world.home, resources).fresh, ID);
  expect(stored.has('evil/secrets/copy')).toBe(false);
  expect(seen.objects.map(({ id }) => id)).not.toContain('evil/secrets/copy');
});

test('An object of another namespace keeps a TrustBundle from that namespace, and from no other', () => {
  const spreading = `${THEIRS}---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: spread}
spec:
  sources: [{authority: default/mesh}]
  targets: [{secret: {name: x, key: ca.crt}}]
`;
  const resources = resourcesOf(spreading);
  const left: string[] = [];
  const known = catalogueOf(resources, { onConflict: ({ metadata }) => left.push(metadata.name) });
  const [spread] = known.trustBundles;
  expect(left).toEqual([]);
  expect(spread && targetsOf(spread, known)).toEqual(['default/secrets/x/ca.crt']);
  expect([...(known.contested?.get('spread')?.keys() ?? [])]).toEqual(['evil/secrets/x/ca.crt']);
});

test('An authority whose state is gone does not begin anew over the CAs in use, and says how to decide', async () => {
  const resources = catalogue(MESH);
  await converge(on(world.home, resources), ID);
  const before = await world.object('default/secrets/a');
  const fingerprint = parseCertificates(before.data['ca.crt'] ?? '').certificates[0]?.fingerprint ?? '';
  const { objects } = world;
  world = new World();
  for (const id of [OWN, 'default/secrets/a', 'default/secrets/b']) {
    const { data, record, claim } = (await objects.read(id)) ?? before;
    world.objects.put(id, { data, ...(record && { record }), seal: claim?.seal });
  }
  const { plan } = await reconcile(on(world.home, resources), ID);
  expect(plan.actions).toEqual([]);
  expect(plan.blockedBy.map(({ consumer }) => consumer).sort()).toEqual([
    OWN,
    'default/secrets/a',
    'default/secrets/b',
  ]);
  expect(plan.blockedBy[0]?.waitsFor).toContain(`spec.adopt.fingerprints to [${fingerprint}]`);
  await converge(on(world.home, adopting(`{fingerprints: [${fingerprint}]}`)), ID);
  expect((await state())?.generations.map(({ number, role }) => `${number} ${role}`)).toEqual([
    '1 next',
    '0 current',
  ]);
  expect(accepts(before.data['tls.crt'], (await world.object(OWN)).data['ca.crt'], world.now)).toBe(true);
});

test('Adoption of a Secret with the key of a CA goes on with that CA, which signs its successor', async () => {
  const { ca, pem } = await authorityOf('company');
  world.objects.put('default/secrets/company-ca', {
    data: filesFrom({ 'tls.crt': ca.pem, 'tls.key': pem }),
  });
  const resources = adopting('{secret: company-ca}');
  await converge(on(world.home, resources), ID);
  expect(await bundle(OWN)).toEqual([ca.subject]);
  const { data } = await world.object('default/secrets/a');
  expect(accepts(data['tls.crt'], ca.pem, world.now)).toBe(true);
  expect((await state())?.generations).toMatchObject([{ number: 1, role: 'current', hasKey: true }]);
  world.rotate.push('r1');
  await converge(on(world.home, resources), ID);
  world.pass(20 * second);
  await converge(on(world.home, resources), ID);
  const next = (await world.object('default/secrets/a')).data['tls.crt'];
  expect(next).not.toEqual(data['tls.crt']);
  expect(accepts(next, ca.pem, world.now)).toBe(true);
});

test.each([
  ['until its end', '', 365],
  ['until the day that spec.adopt.lastLeafEnds names', ', lastLeafEnds: "2030-03-01"', 60],
])(
  'An adopted CA with its key stays trusted after its replacement, without that key, for leaves that it signed before: %s',
  async (_, more, days) => {
    const { ca, pem } = await authorityOf('mesh');
    const files = { 'tls.crt': ca.pem, 'tls.key': pem };
    world.objects.put('default/secrets/old-ca', { data: filesFrom(files) });
    const resources = adopting(`{secret: old-ca${more}}`);
    await converge(on(world.home, resources), ID);
    world.rotate.push('r1');
    for (let step = 0; step < 4; step++) {
      await converge(on(world.home, resources), ID);
      world.pass(200 * second);
    }
    expect((await state())?.generations).toMatchObject([
      { number: 2, role: 'current' },
      { number: 1, role: 'retained', hasKey: false },
    ]);
    expect(await bundle(OWN)).toHaveLength(2);
    world.pass((days + 1) * day);
    await converge(on(world.home, resources), ID);
    expect((await state())?.generations.some(({ number }) => number === 1)).toBe(false);
  },
);

test('Adoption of certificates covers those that are named, and no others', async () => {
  const [named, other] = [await authorityOf('named'), await authorityOf('other')];
  world.objects.put('default/secrets/a', { data: filesFrom({ 'ca.crt': named.ca.pem + other.ca.pem }) });
  const { plan } = await reconcile(on(world.home, adopting(`{fingerprints: [${named.ca.fingerprint}]}`)), ID);
  expect(plan.actions).toEqual([]);
  expect(plan.blockedBy[0]?.waitsFor).toContain(other.ca.fingerprint);
});

test.each(['{secret: company-ca}', `{fingerprints: [${'ab'.repeat(32)}]}`])(
  'Adoption waits for what is not there (%s): beginning without it would leave it out',
  async (how) => {
    const { plan } = await reconcile(on(world.home, adopting(how)), ID);
    expect(plan.actions).toEqual([]);
    expect(plan.blockedBy).toMatchObject([{ waitsFor: expect.stringContaining('spec.adopt') }]);
  },
);

test('Adoption of the Secret of a Leaf that is not there yet begins with a CA of its own', async () => {
  await converge(on(world.home, adopting('{secret: a}')), ID);
  expect((await state())?.generations).toMatchObject([{ number: 1, role: 'current' }]);
});

test('Adoption of a key that is not the key of the certificate is refused', async () => {
  const [one, other] = [await authorityOf('one'), await authorityOf('other')];
  world.objects.put('default/secrets/pair', {
    data: filesFrom({ 'tls.crt': one.ca.pem, 'tls.key': other.pem }),
  });
  await expect(converge(on(world.home, adopting('{secret: pair}')), ID)).rejects.toMatchObject({
    code: 'ADOPT_REFUSED',
  });
});

test.each([
  ['is empty', {}],
  ['holds a key alone', { 'tls.key': 'x' }],
  ['holds something that is no certificate', { 'ca.crt': 'junk' }],
  ['has its CA under another name', { 'ca.pem': 'x' }],
])('Consent to a Secret that %s is waited for, with what is missing', async (_what, data) => {
  world.objects.put('default/secrets/company-ca', { data: filesFrom(data as Record<string, string>) });
  const { plan } = await reconcile(on(world.home, adopting('{secret: company-ca}')), ID);
  expect(plan.actions).toEqual([]);
  expect(plan.blockedBy).toMatchObject([{ waitsFor: expect.stringContaining('in ca.crt, or in tls.crt') }]);
});

test('Consent to a Secret that holds more CAs than can be in use is refused', async () => {
  const many = await Promise.all(Array.from({ length: 17 }, (_, index) => authorityOf(`ca${index}`)));
  const cas = many.map(({ ca }) => ca.pem).join('');
  world.objects.put('default/secrets/company-ca', { data: filesFrom({ 'ca.crt': cas }) });
  await expect(converge(on(world.home, adopting('{secret: company-ca}')), ID)).rejects.toMatchObject({
    code: 'ADOPT_REFUSED',
    message: expect.stringContaining('holds 17 CAs'),
  });
});

test('an object that cannot be made is named, and the next step waits for it by name', async () => {
  const trust = 'default/configmaps/big/ca.crt';
  const resources = catalogue(`${MESH}---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: big}
spec:
  sources: [{authority: default/mesh}]
  targets: [{configMap: {name: big}}]
`);
  const { objects } = world;
  world.home = {
    ...world.home,
    objects: {
      read: (id) => objects.read(id),
      issuedBy: (...args) => objects.issuedBy(...args),
      write: (...args) => objects.write(...args),
      whyAbsent: (id) => (id === trust ? 'the API server refuses it: too long' : undefined),
    },
  };
  await converge(on(world.home, resources), ID);
  world.rotate.push('r1');
  world.pass(60 * second);
  const { plan } = await converge(on(world.home, resources), ID);
  expect(plan.phase).toBe('Introducing');
  expect(plan.blockedBy).toContainEqual(
    expect.objectContaining({ consumer: trust, waitsFor: expect.stringContaining('too long') }),
  );
});
