import { randomBytes, X509Certificate } from 'node:crypto';
import { CERT_MANAGER, ISSUER, issueCa, issueLeaf, localSigner } from '@handover/core';
import type { ControllerEvent, IssuedEntry } from '@handover/engine';
import { crds } from '@handover/install';
import {
  connect,
  customResourceDefinitions,
  type Kube,
  type KubeObject,
  namespaces,
  pods,
  secrets,
} from '@handover/kube';
import { day, hour, instant, parseCertificate } from '@handover/material';
import { FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type CsrAsked, csrOf, newKeys } from '../../test/cert-manager/csr.ts';
import { installCertManagerCrds, PlayedCertManager } from '../../test/cert-manager/played.ts';
import { RESOURCE_KINDS } from '../resources/kinds.ts';
import { Operator } from '../run/operator.ts';
import { Addresses } from '../workloads/addresses.ts';
import { type CertificateRequest, certificateRequests, certificates, conditionIn } from './kinds.ts';

let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
let running: Promise<unknown>[];
let issued: IssuedEntry[];
let failures: string[];

beforeEach(async () => {
  server = await FakeApiServer.start();
  end = new AbortController();
  running = [];
  issued = [];
  failures = [];
  kube = connect(server.config, { signal: new AbortController().signal, rate: false });
  for (const crd of crds()) await kube.create(customResourceDefinitions, crd as unknown as KubeObject);
  for (const name of ['handover-system', 'prod', 'team'])
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
});
afterEach(async () => {
  end.abort();
  await Promise.all(running);
  await server.stop();
});

const operate = (): void => {
  const on = (event: ControllerEvent): void => {
    if (event.kind === 'issued') issued.push(event.entry);
    if (event.kind === 'failed') failures.push(`${event.what}: ${String(event.error)}`);
  };
  const addresses = new Addresses([], []);
  const operator = new Operator({
    kube,
    namespace: 'handover-system',
    identity: 'one',
    pods: { addresses },
    on,
  });
  running.push(operator.run(end.signal));
};

const play = (csr: CsrAsked = { dnsNames: ['web.prod.svc'] }): PlayedCertManager => {
  const played = new PlayedCertManager(kube, () => csr);
  running.push(played.run(end.signal));
  return played;
};

const authority = (spec: object = {}): Promise<KubeObject> =>
  kube.create(RESOURCE_KINDS.Authority, {
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'Authority',
    metadata: { namespace: 'prod', name: 'mesh' },
    spec,
  } as KubeObject);

const secret = (
  name: string,
  files: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> = {},
): Promise<KubeObject> =>
  kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { namespace: 'prod', name, labels },
    data: Object.fromEntries(
      Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString('base64')]),
    ),
  });

const certificate = (
  namespace: string,
  name: string,
  issuer = 'mesh',
  kind: { readonly group: string; readonly kind: string } = ISSUER,
): Promise<KubeObject> =>
  kube.create(certificates, {
    apiVersion: CERT_MANAGER.apiVersion,
    kind: 'Certificate',
    metadata: { namespace, name },
    spec: { secretName: name, issuerRef: { ...kind, name: issuer } },
  });

const request = async (
  name: string,
  csr: CsrAsked,
  { namespace = 'prod', issuer = 'mesh', decided = 'Approved' }: Record<string, string> = {},
): Promise<void> => {
  await kube.create(certificateRequests, {
    apiVersion: CERT_MANAGER.apiVersion,
    kind: 'CertificateRequest',
    metadata: { namespace, name },
    spec: { issuerRef: { ...ISSUER, name: issuer }, request: Buffer.from(csrOf(csr)).toString('base64') },
  });
  if (decided === '') return;
  const status = { conditions: [{ type: decided, status: 'True' }] };
  await kube.patch(certificateRequests, { namespace, name, subresource: 'status' }, { merge: { status } });
};

const until = async <T>(look: () => Promise<T | undefined>, what: string, patience = 20_000): Promise<T> => {
  for (const began = performance.now(); performance.now() - began < patience; ) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited in vain for ${what}; ${failures.slice(-3).join('; ')}`);
};

const readyOf = (name: string, reason: string, namespace = 'prod'): Promise<CertificateRequest> =>
  until(async () => {
    const found = await kube.get(certificateRequests, { namespace, name });
    return found !== undefined && conditionIn(found, 'Ready')?.reason === reason ? found : undefined;
  }, `${name} to be ${reason}`);

const pemsIn = (text: string | undefined): readonly X509Certificate[] =>
  (
    Buffer.from(text ?? '', 'base64')
      .toString()
      .match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []
  ).map((pem) => new X509Certificate(pem));
const messageOf = (found: CertificateRequest): string => conditionIn(found, 'Ready')?.message ?? '';

const statusOf = async (): Promise<{
  phase?: string;
  generations?: readonly { generation: number; role: string }[];
  blockedBy?: readonly { consumer: string; waitsFor: string }[];
}> => {
  const found = await kube.get(RESOURCE_KINDS.Authority, { namespace: 'prod', name: 'mesh' });
  return ((found as { status?: object } | undefined)?.status ?? {}) as never;
};
const waitFor = (says: RegExp): Promise<string> =>
  until(async () => {
    const said = ((await statusOf()).blockedBy ?? []).map((one) => `${one.consumer}: ${one.waitsFor}`);
    return said.find((line) => says.test(line));
  }, `a blocker like ${says}`);
const generation = (number: number): Promise<unknown> =>
  until(
    async () => {
      const all = (await statusOf()).generations ?? [];
      return all.length === 1 && all[0]?.generation === number ? all : undefined;
    },
    `generation ${number} alone`,
    40_000,
  );
const rotate = (id: string): Promise<KubeObject> =>
  kube.patch(
    RESOURCE_KINDS.Authority,
    { namespace: 'prod', name: 'mesh' },
    { merge: { metadata: { annotations: { 'handover.dev/rotate': id } } } },
  );

test('an approved request is signed and logged; one that nobody decided waits; a denied one is denied', async () => {
  await installCertManagerCrds(kube);
  await authority();
  operate();
  const asked = Math.floor(Date.now() / 1000) * 1000;
  await request('good', { subject: { CN: 'web' }, dnsNames: ['web.prod.svc'] });
  await request('open', { dnsNames: ['web.prod.svc'] }, { decided: '' });
  await request('denied', { dnsNames: ['web.prod.svc'] }, { decided: 'Denied' });
  const { status } = await readyOf('good', 'Issued');
  const [leaf, ...behind] = pemsIn(status?.certificate);
  const [ca] = pemsIn(status?.ca);
  expect(behind).toEqual([]);
  expect(leaf?.subjectAltName).toBe('DNS:web.prod.svc');
  // A renewBefore only just shorter than the duration would be over at once if the hour before the issuance counted.
  expect(Date.parse(leaf?.validTo ?? '')).toBeGreaterThanOrEqual(asked + 90 * day);
  expect(Date.parse(leaf?.validFrom ?? '')).toBeLessThan(asked);
  expect(ca !== undefined && leaf?.verify(ca.publicKey)).toBe(true);
  expect(issued.filter(({ kind }) => kind === 'leaf')).toMatchObject([
    {
      for: { kind: 'CertificateRequest', namespace: 'prod', name: 'good' },
      authority: 'prod/mesh',
      generation: 1,
    },
  ]);
  expect((await readyOf('denied', 'Denied')).status?.failureTime).toBeDefined();
  const open = await kube.get(certificateRequests, { namespace: 'prod', name: 'open' });
  expect(open?.status?.certificate).toBeUndefined();
  expect(open?.status?.conditions ?? []).toEqual([]);
});

test('the policy of Leaves decides, by the namespace of the request; a request that can never be signed fails for good', async () => {
  await installCertManagerCrds(kube);
  await authority({ issueTo: { namespaceSelector: {} } });
  operate();
  const elsewhere = { namespace: 'team', issuer: 'prod/mesh' };
  await request('theirs', { dnsNames: ['api.team.svc'] }, elsewhere);
  await request('stolen', { dnsNames: ['web.prod.svc'] }, elsewhere);
  await request('ca', { dnsNames: ['web.prod.svc'], isCa: true });
  const theirs = await readyOf('theirs', 'Issued', 'team');
  const [leaf] = pemsIn(theirs.status?.certificate);
  expect(Date.parse(leaf?.validTo ?? '')).toBeLessThan(Date.now() + 91 * 86_400_000);
  const stolen = await readyOf('stolen', 'Failed', 'team');
  expect(messageOf(stolen)).toMatch(/^LEAF_REFUSED: .*"web.prod.svc" is not allowed/);
  expect(stolen.status?.failureTime).toBeDefined();
  expect(messageOf(await readyOf('ca', 'Failed'))).toMatch(/^SIGNING_REQUEST_REFUSED: .*CA/);
});

test('a request to an Authority that does not exist yet stays pending, and is signed once it does', async () => {
  await installCertManagerCrds(kube);
  operate();
  await request('early', { dnsNames: ['web.prod.svc'] });
  expect(messageOf(await readyOf('early', 'Pending'))).toMatch(/^AUTHORITY_UNKNOWN: /);
  await authority();
  await readyOf('early', 'Issued');
});

const HOT = { 'handover.dev/reload': 'hot' };
const podOf = async (mounts: string, annotations: object = HOT): Promise<void> => {
  await kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'prod', name: 'web', annotations },
    spec: {
      containers: [{ name: 'main', volumeMounts: [{ name: 'tls', mountPath: '/tls' }] }],
      volumes: [{ name: 'tls', secret: { secretName: mounts } }],
    },
  } as KubeObject);
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  const which = { namespace: 'prod', name: 'web', subresource: 'status' };
  await kube.patch(pods, which, { merge: { status } });
};

test('a rotation asks cert-manager for a new certificate, waits for the Secret, and names what it waits for', async () => {
  await installCertManagerCrds(kube);
  await authority({ rotation: { reloadWithin: '1s' } });
  operate();
  const played = play();
  await certificate('prod', 'web');
  await until(() => kube.get(secrets, { namespace: 'prod', name: 'web' }), 'the Secret of the Certificate');
  await podOf('web');
  played.away = true;
  await rotate('one');
  await waitFor(/^prod\/secrets\/web: to get a leaf of CA generation 2 from cert-manager/);
  const asked = await kube.get(certificates, { namespace: 'prod', name: 'web' });
  expect(conditionIn(asked ?? {}, 'Issuing')).toMatchObject({ status: 'True', reason: 'AuthorityRotated' });
  expect((await statusOf()).generations).toHaveLength(2);
  played.away = false;
  await generation(2);
  const secret = await kube.get(secrets, { namespace: 'prod', name: 'web' });
  const [leaf, cross] = pemsIn(secret?.data?.['tls.crt']);
  const cas = pemsIn(secret?.data?.['ca.crt']);
  expect(cas).toHaveLength(2);
  expect(leaf?.verify(cas[0]?.publicKey ?? expect.fail('no CA'))).toBe(true);
  expect(cross?.subject).toBe(cas[0]?.subject);
  // Without this its kubelet would hand the new leaf out a minute later.
  const pod = await kube.get(pods, { namespace: 'prod', name: 'web' });
  expect(pod?.metadata.annotations?.['handover.dev/nudge']).toBeDefined();
});

test.each([
  ['are gone', false],
  ['were made anew', true],
])(
  'a pod that began before Certificate and Secret %s holds the rotation up until it is out of use',
  async (_how, anew) => {
    await installCertManagerCrds(kube);
    await authority({ rotation: { reloadWithin: '1s' } });
    operate();
    const played = play();
    await certificate('prod', 'web');
    await until(() => kube.get(secrets, { namespace: 'prod', name: 'web' }), 'the Secret of the Certificate');
    await podOf('web', {});
    played.away = true;
    await rotate('one');
    await waitFor(/^prod\/secrets\/web: to get a leaf of CA generation 2/);
    await kube.delete(certificates, { namespace: 'prod', name: 'web' });
    await kube.delete(secrets, { namespace: 'prod', name: 'web' });
    for (const { metadata } of (await kube.list(certificateRequests)).items)
      await kube.delete(certificateRequests, { namespace: 'prod', name: metadata.name ?? '' });
    if (anew) await certificate('prod', 'web');
    played.away = false;
    // Nothing else is waited for, and the pod is not believed to have loaded anything.
    await until(async () => {
      const { blockedBy = [], generations = [] } = await statusOf();
      if (generations.length === 1) expect.fail('the old CA was retired');
      return blockedBy.length > 0 && blockedBy.every(({ consumer }) => consumer === 'Pod prod/web')
        ? true
        : undefined;
    }, 'the pod alone');
    const pod = { namespace: 'prod', name: 'web' };
    if (anew) await kube.patch(pods, pod, { merge: { metadata: { annotations: HOT } } });
    else await kube.delete(pods, pod);
    await generation(2);
  },
);

test('a Secret elsewhere whose Certificate is gone holds the rotation up until it is deleted', async () => {
  await installCertManagerCrds(kube);
  await authority({ rotation: { reloadWithin: '1s' }, issueTo: { namespaceSelector: {} } });
  operate();
  play({ dnsNames: ['web.team.svc'] });
  await certificate('team', 'web', 'prod/mesh');
  await until(() => kube.get(secrets, { namespace: 'team', name: 'web' }), 'the Secret of the Certificate');
  await kube.delete(certificates, { namespace: 'team', name: 'web' });
  await rotate('one');
  await waitFor(/^team\/secrets\/web: .*no Certificate asks for it any more/);
  await kube.delete(secrets, { namespace: 'team', name: 'web' });
  await generation(2);
});

test('a Certificate whose Secret no pod mounts rests on the word of its owner', async () => {
  await installCertManagerCrds(kube);
  await authority({ rotation: { reloadWithin: '1s' } });
  operate();
  play();
  await certificate('prod', 'web');
  await until(() => kube.get(secrets, { namespace: 'prod', name: 'web' }), 'the Secret of the Certificate');
  await rotate('one');
  await waitFor(/no pod mounts this Secret.*annotate its Certificate/);
  const said = { metadata: { annotations: { 'handover.dev/reload': 'hot' } } };
  await kube.patch(certificates, { namespace: 'prod', name: 'web' }, { merge: said });
  await generation(2);
});

test('a Certificate of an adopted CA Issuer holds the rotation up until its issuerRef names the Authority', async () => {
  await installCertManagerCrds(kube);
  const { privateKey } = newKeys();
  const signer = localSigner(privateKey);
  const dates = { notBefore: instant(Date.now() - hour), notAfter: instant(Date.now() + 30 * day) };
  const serial = new Uint8Array(randomBytes(12));
  const ca = parseCertificate(await issueCa({ name: 'shop', generation: 1, signer, serial, ...dates }));
  const key = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await secret('shop-ca', { 'tls.crt': ca.pem, 'tls.key': key });
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
  await secret('web', { 'tls.crt': leaf.pem, 'ca.crt': ca.pem }, { [CERT_MANAGER.secretLabel]: 'true' });
  await certificate('prod', 'web', 'shop', { group: 'cert-manager.io', kind: 'Issuer' });
  await podOf('web');
  await authority({ adopt: { secret: 'shop-ca' }, rotation: { reloadWithin: '1s' } });
  operate();
  play();
  await generation(1);
  await rotate('one');
  await waitFor(/Certificate web names Issuer shop: change its issuerRef to Authority prod\/mesh/);
  const untouched = await kube.get(secrets, { namespace: 'prod', name: 'web' });
  expect(untouched?.data?.['tls.crt']).toBe(Buffer.from(leaf.pem).toString('base64'));
  const changed = { spec: { issuerRef: { ...ISSUER, name: 'mesh' } } };
  await kube.patch(certificates, { namespace: 'prod', name: 'web' }, { merge: changed });
  await generation(2);
});

test('a Certificate that fails holds the rotation up, and its reason is in the status of the Authority', async () => {
  await installCertManagerCrds(kube);
  await authority({ rotation: { reloadWithin: '1s' } });
  operate();
  const played = play();
  await certificate('prod', 'web');
  await until(() => kube.get(secrets, { namespace: 'prod', name: 'web' }), 'the Secret of the Certificate');
  await podOf('web');
  played.approves = 'deny';
  await rotate('one');
  expect(await waitFor(/failed/)).toMatch(/Certificate web failed: .*denied.*its old leaf ends at/);
});

test('a leaf without a Certificate keeps the old CA until it ends', async () => {
  await installCertManagerCrds(kube);
  await authority({ rotation: { reloadWithin: '1s' } });
  operate();
  await request('csi', { dnsNames: ['web.prod.svc'] });
  await readyOf('csi', 'Issued');
  await rotate('one');
  await waitFor(/^leaves without a Certificate: waiting until /);
});

test('without cert-manager nothing of it is asked for but whether it is there', async () => {
  await authority({ rotation: { reloadWithin: '1s' } });
  operate();
  await generation(1);
  await rotate('one');
  await generation(2);
  expect(failures).toEqual([]);
  const asked = server.requests
    .map(({ path }) => path)
    .filter((path) => path.includes('cert-manager.io/v1/'));
  expect(asked).toEqual([]);
});
