import { randomBytes, X509Certificate } from 'node:crypto';
import { CERT_MANAGER, ISSUER, issueCa, issueLeaf, localSigner } from '@handover/core';
import { pods, secrets } from '@handover/kube';
import { day, hour, instant, parseCertificate } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { newKeys } from '../../test/cert-manager/csr.ts';
import { CertManagerWorld } from '../../test/cert-manager/world.ts';
import { HOT, OperatorWorld } from '../../test/world.ts';
import { type CertificateRequest, certificateRequests, certificates, conditionIn } from './kinds.ts';

const ROTATES = { rotation: { reloadWithin: '1s' } } as const;
const WEB = { namespace: 'prod', name: 'web' } as const;

let world: CertManagerWorld;
beforeEach(async () => {
  world = await CertManagerWorld.open();
});

const pemsIn = (text: string | undefined): readonly X509Certificate[] =>
  (
    Buffer.from(text ?? '', 'base64')
      .toString()
      .match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []
  ).map((pem) => new X509Certificate(pem));
const messageOf = (found: CertificateRequest): string => conditionIn(found, 'Ready')?.message ?? '';

test('an approved CertificateRequest is signed and logged; an undecided one waits; a denied one is denied', async () => {
  await world.authority();
  world.operate();
  const asked = Math.floor(world.clock.now() / 1000) * 1000;
  await world.request('prod/good', { subject: { CN: 'web' }, dnsNames: ['web.prod.svc'] });
  await world.request('prod/open', { dnsNames: ['web.prod.svc'] }, { decided: '' });
  await world.request('prod/denied', { dnsNames: ['web.prod.svc'] }, { decided: 'Denied' });
  const { status } = await world.requestIs('prod/good', 'Issued');
  const [leaf, ...behind] = pemsIn(status?.certificate);
  const [ca] = pemsIn(status?.ca);
  expect(behind).toEqual([]);
  expect(leaf?.subjectAltName).toBe('DNS:web.prod.svc');
  // A renewBefore only just shorter than the duration would be over at once if the hour before the issuance counted.
  expect(Date.parse(leaf?.validTo ?? '')).toBeGreaterThanOrEqual(asked + 90 * day);
  expect(Date.parse(leaf?.validFrom ?? '')).toBeLessThan(asked);
  expect(ca !== undefined && leaf?.verify(ca.publicKey)).toBe(true);
  expect(
    world.events.flatMap((event) =>
      event.kind === 'issued' && event.entry.kind === 'leaf' ? [event.entry] : [],
    ),
  ).toMatchObject([
    {
      for: { kind: 'CertificateRequest', namespace: 'prod', name: 'good' },
      authority: 'prod/mesh',
      generation: 1,
    },
  ]);
  expect((await world.requestIs('prod/denied', 'Denied')).status?.failureTime).toBeDefined();
  const open = await world.kube.get(certificateRequests, { namespace: 'prod', name: 'open' });
  expect(open?.status?.certificate).toBeUndefined();
  expect(open?.status?.conditions ?? []).toEqual([]);
});

test('the rules for Leaves decide, by the namespace of the CertificateRequest; one that can never be signed fails for good', async () => {
  await world.authority({ issueTo: { namespaceSelector: {} } });
  world.operate();
  await world.request('team/theirs', { dnsNames: ['api.team.svc'] }, { issuer: 'prod/mesh' });
  await world.request('team/stolen', { dnsNames: ['web.prod.svc'] }, { issuer: 'prod/mesh' });
  await world.request('prod/ca', { dnsNames: ['web.prod.svc'], isCa: true });
  const theirs = await world.requestIs('team/theirs', 'Issued');
  const [leaf] = pemsIn(theirs.status?.certificate);
  expect(Date.parse(leaf?.validTo ?? '')).toBeLessThan(world.clock.now() + 91 * 86_400_000);
  const stolen = await world.requestIs('team/stolen', 'Failed');
  expect(messageOf(stolen)).toMatch(/^LEAF_REFUSED: .*"web.prod.svc" is not allowed/);
  expect(stolen.status?.failureTime).toBeDefined();
  expect(messageOf(await world.requestIs('prod/ca', 'Failed'))).toMatch(/^SIGNING_REQUEST_REFUSED: .*CA/);
});

test('what a CertificateRequest asks for controls no terminal that shows why it was refused', async () => {
  await world.authority({ issueTo: { namespaceSelector: {} } });
  world.operate();
  await world.request(
    'team/odd',
    { subject: { CN: 'a\u009b31m\u202eb' }, dnsNames: ['api.team.svc'] },
    { issuer: 'prod/mesh' },
  );
  expect(messageOf(await world.requestIs('team/odd', 'Failed'))).not.toMatch(/[\u0080-\u009f\u202e]/);
});

test('a CertificateRequest whose owner has a name that no Certificate can have is signed as one without an owner', async () => {
  await world.authority();
  world.operate();
  const owner = { apiVersion: CERT_MANAGER.apiVersion, kind: 'Certificate', name: 'a/../b', uid: 'u' };
  await world.request('prod/odd', { dnsNames: ['web.prod.svc'] }, { owner });
  await world.requestIs('prod/odd', 'Issued');
  expect(world.failures).toEqual([]);
});

test('a CertificateRequest whose answer the API server refuses is tried three times, and then left alone', async () => {
  await world.authority();
  world.operate();
  let armed = false;
  const isAnswer = (path: string): boolean => path.includes('/certificaterequests/refused/status');
  world.server.faults.add({
    when: ({ method, path }) => method === 'PATCH' && isAnswer(path) && armed,
    times: 1e9,
    status: 422,
    reason: 'Invalid',
  });
  await world.request('prod/refused', { dnsNames: ['web.prod.svc'] }, { decided: '' });
  const status = { conditions: [{ type: 'Approved', status: 'True' }] };
  const place = { namespace: 'prod', name: 'refused' };
  await world.kube.patch(certificateRequests, { ...place, subresource: 'status' }, { merge: { status } });
  armed = true;
  await world.clock.advance(300_000);
  expect(world.failures.filter((line) => line.includes('prod/refused')).length).toBeLessThanOrEqual(3);
});

test('a CertificateRequest to an Authority that does not exist yet stays pending, and is signed once it does', async () => {
  world.operate();
  await world.request('prod/early', { dnsNames: ['web.prod.svc'] });
  expect(messageOf(await world.requestIs('prod/early', 'Pending'))).toMatch(/^AUTHORITY_UNKNOWN: /);
  await world.authority();
  await world.requestIs('prod/early', 'Issued');
});

test('a rotation asks cert-manager for a new certificate, waits for the Secret, and names what it waits for', async () => {
  await world.authority(ROTATES);
  world.operate();
  const played = world.play();
  await world.certified('prod/web');
  await world.pod('prod/web', 'web');
  played.away = true;
  await world.rotate();
  await world.blocker(/^prod\/secrets\/web: to get a leaf of CA generation 2 from cert-manager/);
  const asked = await world.kube.get(certificates, WEB);
  expect(conditionIn(asked ?? {}, 'Issuing')).toMatchObject({ status: 'True', reason: 'AuthorityRotated' });
  expect((await world.status()).generations).toHaveLength(2);
  played.away = false;
  await world.retired(2);
  const secret = await world.secret('prod/web');
  const [leaf, cross] = pemsIn(secret?.data?.['tls.crt']);
  const cas = pemsIn(secret?.data?.['ca.crt']);
  expect(cas).toHaveLength(2);
  expect(leaf?.verify(cas[0]?.publicKey ?? expect.fail('no CA'))).toBe(true);
  expect(cross?.subject).toBe(cas[0]?.subject);
  // Without this its kubelet would hand the new leaf out a minute later.
  const pod = await world.kube.get(pods, WEB);
  expect(pod?.metadata.annotations?.['handover.dev/nudge']).toBeDefined();
});

test.each([
  ['are gone', false],
  ['were made anew', true],
])(
  'a pod that began before Certificate and Secret %s holds the rotation up until it is out of use',
  async (_how, anew) => {
    await world.authority(ROTATES);
    world.operate();
    const played = world.play();
    await world.certified('prod/web');
    await world.pod('prod/web', 'web', {});
    played.away = true;
    await world.rotate();
    await world.blocker(/^prod\/secrets\/web: to get a leaf of CA generation 2/);
    await world.kube.delete(certificates, WEB);
    await world.kube.delete(secrets, WEB);
    for (const { metadata } of (await world.kube.list(certificateRequests)).items)
      await world.kube.delete(certificateRequests, { namespace: 'prod', name: metadata.name ?? '' });
    if (anew) await world.certificate('prod/web');
    played.away = false;
    // Nothing else is waited for, and the pod is not believed to have loaded anything.
    await world.until(async () => {
      const { blockedBy = [], generations = [] } = await world.status();
      if (generations.length === 1) expect.fail('the old CA was retired');
      return blockedBy.length > 0 && blockedBy.every(({ consumer }) => consumer === 'Pod prod/web')
        ? true
        : undefined;
    }, 'the pod alone');
    const pod = WEB;
    if (anew) await world.kube.patch(pods, pod, { merge: { metadata: { annotations: HOT } } });
    else await world.kube.delete(pods, pod);
    await world.retired(2);
  },
);

test('a Secret elsewhere whose Certificate is gone holds no rotation up, and keeps the old CA trusted without its key', async () => {
  await world.authority({ ...ROTATES, issueTo: { namespaceSelector: {} } });
  world.operate();
  world.play({ dnsNames: ['web.team.svc'] });
  await world.certified('team/web');
  await world.kube.delete(certificates, { namespace: 'team', name: 'web' });
  await world.rotate();
  await world.retained('team/secrets/web (holds no newer leaf)');
  await world.kube.delete(secrets, { namespace: 'team', name: 'web' });
  await world.retained('team/secrets/web (holds no newer leaf)');
});

test('a Certificate whose Secret no pod mounts counts by the word of its owner', async () => {
  await world.authority(ROTATES);
  world.operate();
  world.play();
  await world.certified('prod/web');
  await world.rotate();
  await world.blocker(/no pod mounts this Secret.*annotate its Certificate/);
  const said = { metadata: { annotations: { 'handover.dev/reload': 'hot' } } };
  await world.kube.patch(certificates, WEB, { merge: said });
  await world.retired(2);
});

test('a Certificate whose Secret other programs use holds no rotation up by the word of its owner, and keeps the old CA trusted', async () => {
  await world.authority(ROTATES);
  world.operate();
  world.play();
  await world.certified('prod/web');
  const said = { metadata: { annotations: { 'handover.dev/used-by': 'others' } } };
  await world.kube.patch(certificates, WEB, { merge: said });
  await world.rotate();
  await world.retained('leaves whose users cannot be seen');
});

test('a Certificate of an adopted CA Issuer holds the rotation up until its issuerRef names the Authority', async () => {
  const { privateKey } = newKeys();
  const signer = localSigner(privateKey);
  const dates = {
    notBefore: instant(world.clock.now() - hour),
    notAfter: instant(world.clock.now() + 30 * day),
  };
  const serial = new Uint8Array(randomBytes(12));
  const ca = parseCertificate(await issueCa({ name: 'shop', generation: 1, signer, serial, ...dates }));
  const key = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await world.putSecret('prod/shop-ca', { 'tls.crt': ca.pem, 'tls.key': key });
  const leafKeys = newKeys();
  const leaf = parseCertificate(
    await issueLeaf({
      issuer: ca,
      signer,
      publicKey: leafKeys.publicKey,
      serial: new Uint8Array(randomBytes(12)),
      subject: { commonName: 'web' },
      dnsNames: ['web.prod.svc'],
      ipAddresses: [],
      uris: [],
      usages: ['server'],
      ...dates,
    }),
  );
  await world.putSecret(
    'prod/web',
    { 'tls.crt': leaf.pem, 'ca.crt': ca.pem },
    { [CERT_MANAGER.secretLabel]: 'true' },
  );
  await world.certificate('prod/web', {}, { group: 'cert-manager.io', kind: 'Issuer', name: 'shop' });
  await world.pod('prod/web', 'web');
  await world.authority({ adopt: { secret: 'shop-ca', lastLeafEnds: '2029-12-30' }, ...ROTATES });
  world.operate();
  world.play();
  await world.retired(1);
  await world.rotate();
  await world.blocker(/Certificate web names Issuer shop: change its issuerRef to Authority prod\/mesh/);
  const untouched = await world.secret('prod/web');
  expect(untouched?.data?.['tls.crt']).toBe(Buffer.from(leaf.pem).toString('base64'));
  const changed = { spec: { issuerRef: { ...ISSUER, name: 'mesh' } } };
  await world.kube.patch(certificates, WEB, { merge: changed });
  await world.retired(2);
});

test('a Certificate that fails holds the rotation up, and its reason is in the status of the Authority', async () => {
  await world.authority(ROTATES);
  world.operate();
  const played = world.play();
  await world.certified('prod/web');
  await world.pod('prod/web', 'web');
  played.approves = 'deny';
  await world.rotate();
  expect(await world.blocker(/failed/)).toMatch(/Certificate web failed: .*denied.*its old leaf ends at/);
});

test('a leaf without a Certificate keeps the old CA trusted until it ends, without its key', async () => {
  await world.authority(ROTATES);
  world.operate();
  await world.request('prod/csi', { dnsNames: ['web.prod.svc'] });
  await world.requestIs('prod/csi', 'Issued');
  await world.rotate();
  await world.retained('leaves whose users cannot be seen');
});

test('without cert-manager the API server is asked only whether cert-manager is there', async () => {
  const plain = await OperatorWorld.open();
  await plain.authority(ROTATES);
  plain.operate();
  await plain.retired(1);
  await plain.rotate();
  await plain.retired(2);
  expect(plain.failures).toEqual([]);
  const asked = plain.server.requests
    .map(({ path }) => path)
    .filter((path) => path.includes('cert-manager.io/v1/'));
  expect(asked).toEqual([]);
});
