// Against: a real API server of Kubernetes 1.37, which serves PodCertificateRequests in v1. What it allows a signer to say.
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { generateKey, localSigner, signedWith, unsignedCa, unsignedLeaf } from '@handover/core';
import {
  after,
  day,
  encodePem,
  hour,
  type Instant,
  instant,
  minute,
  parseCertificate,
} from '@handover/material';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const SIGNER = 'handover.dev/default.mesh';
let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
}, 300_000);
afterAll(() => cluster?.stop());

const der = (tag: number, ...parts: readonly Uint8Array[]): Uint8Array => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const ECDSA_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex');

/** What a kubelet sends: a PKCS#10 request without a name, signed by the pod's key. */
const stubRequest = (key: KeyObject, spki: Uint8Array): string => {
  const body = der(0x30, der(0x02, Buffer.from([0])), der(0x30), spki, der(0xa0));
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, key));
  return Buffer.from(der(0x30, body, der(0x30, ECDSA_SHA256), signature)).toString('base64');
};

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const others = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const spkiOf = (key: KeyObject): Uint8Array => key.export({ type: 'spki', format: 'der' });

const request = (name: string, spec: object = {}): object => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'PodCertificateRequest',
  metadata: { name, namespace: 'default' },
  spec: {
    signerName: SIGNER,
    podName: 'web-0',
    podUID: 'pod-uid',
    serviceAccountName: 'web',
    serviceAccountUID: 'account-uid',
    nodeName: 'node',
    nodeUID: 'node-uid',
    stubPKCS10Request: stubRequest(keys.privateKey, spkiOf(keys.publicKey)),
    ...spec,
  },
});
const create = async (name: string, spec: object = {}): Promise<void> => {
  await cluster.apply(request(name, spec));
};

const caKey = generateKey('ECDSA-P256');
const signer = localSigner(caKey.privateKey);
const signed = (unsigned: Parameters<typeof signedWith>[0]): Uint8Array =>
  signedWith(unsigned, sign('sha256', unsigned.tbs, caKey.privateKey));
const now = instant(Math.floor(Date.now() / 1_000) * 1_000);
const ca = signed(
  unsignedCa({
    name: 'mesh',
    generation: 1,
    signer,
    serial: randomBytes(16),
    notBefore: after(now, -hour),
    notAfter: after(now, 365 * day),
  }),
);

interface Times {
  readonly notBefore: Instant;
  readonly beginRefreshAt: Instant;
  readonly notAfter: Instant;
}
const GOOD: Times = { notBefore: now, beginRefreshAt: after(now, 16 * hour), notAfter: after(now, day) };

const chainOf = ({ notBefore, notAfter }: Times, publicKey = keys.publicKey): string =>
  encodePem(
    'CERTIFICATE',
    signed(
      unsignedLeaf({
        issuer: parseCertificate(ca),
        signer,
        publicKey,
        serial: randomBytes(16),
        subject: {},
        usages: ['server', 'client'],
        uris: ['spiffe://cluster.local/ns/default/sa/web'],
        dnsNames: ['web.default.svc'],
        ipAddresses: [],
        notBefore,
        notAfter,
      }),
    ),
  );

const conditionOf = (type: string, status = 'True'): object => ({
  conditions: [
    {
      type,
      status,
      reason: 'Test',
      message: 'said by the test',
      lastTransitionTime: new Date(now).toISOString(),
    },
  ],
});
const timesOf = (times: Times): object =>
  Object.fromEntries(Object.entries(times).map(([name, at]) => [name, new Date(at as number).toISOString()]));
const issued = (times: Times = GOOD, certificateChain = chainOf(times)): object => ({
  ...conditionOf('Issued'),
  ...timesOf(times),
  certificateChain,
});

const say = (name: string, status: object, ...more: readonly string[]): Promise<string> =>
  cluster.kubectl(
    ...['patch', 'podcertificaterequests', name, '--subresource=status', '--type=merge'],
    ...['-p', JSON.stringify({ status }), ...more],
  );

describe('a request', () => {
  test('is for a signer named after an Authority, and lives a day unless it says otherwise', async () => {
    await create('plain');
    const told = await cluster.kubectl('get', 'podcertificaterequests', 'plain', '-o', 'json');
    expect(JSON.parse(told).spec).toMatchObject({ signerName: SIGNER, maxExpirationSeconds: 86_400 });
  });

  test.each([
    ['a signer with two slashes', { signerName: 'handover.dev/default/mesh' }, /signerName/],
    ['less than an hour', { maxExpirationSeconds: 3_599 }, /must be in the range \[3600, 7862400\]/],
    [
      'more than 91 days',
      { maxExpirationSeconds: 91 * 86_400 + 1 },
      /must be in the range \[3600, 7862400\]/,
    ],
    [
      'a key that the pod does not hold',
      { stubPKCS10Request: stubRequest(others.privateKey, spkiOf(keys.publicKey)) },
      /stubPKCS10Request: Invalid value: invalid signature/,
    ],
  ])('is refused with %s', async (_, spec, why) => {
    await expect(create('refused', spec)).rejects.toThrow(why);
  });

  test('never changes', async () => {
    await create('fixed');
    const patch = JSON.stringify({ spec: { podName: 'web-1' } });
    await expect(
      cluster.kubectl('patch', 'podcertificaterequests', 'fixed', '--type=merge', '-p', patch),
    ).rejects.toThrow(/immutable/);
  });
});

describe('an answer', () => {
  beforeAll(() => create('open'));

  const early = { ...GOOD, notBefore: after(now, -6 * minute) };
  const brief: Times = {
    notBefore: now,
    beginRefreshAt: after(now, 30 * minute),
    notAfter: after(now, 59 * minute),
  };
  const long = { ...GOOD, notAfter: after(now, day + minute) };
  test.each([
    ['a lifetime below an hour', () => issued(brief), /lifetime must be >= 1 hour/],
    [
      'a lifetime beyond maxExpirationSeconds',
      () => issued(long),
      /lifetime must be <= spec.maxExpirationSeconds/,
    ],
    [
      'a certificate that began 6 minutes ago',
      () => issued(early),
      /within 5 minutes of kube-apiserver's current time/,
    ],
    [
      'a refresh in the first 10 minutes',
      () => issued({ ...GOOD, beginRefreshAt: after(now, 9 * minute) }),
      /at least 10 minutes after status.notBefore/,
    ],
    [
      'a refresh in the last 10 minutes',
      () => issued({ ...GOOD, beginRefreshAt: after(GOOD.notAfter, -9 * minute) }),
      /at least 10 minutes before status.notAfter/,
    ],
    [
      'times that are not those of the certificate',
      () => issued(GOOD, chainOf({ ...GOOD, notAfter: after(GOOD.notAfter, -minute) })),
      /must be set to the NotAfter time encoded in the leaf certificate/,
    ],
    [
      'a certificate for another key',
      () => issued(GOOD, chainOf(GOOD, others.publicKey)),
      /not issued to the requested public key/,
    ],
    ['a private key in the chain', () => issued(GOOD, chainOf(GOOD) + keyPem()), /entirely of CERT/],
    ['a condition that is not True', () => conditionOf('Denied', 'False'), /supported values: "True"/],
    ['a condition of another type', () => conditionOf('Pending'), /supported values: .*"Denied"/],
    ['times and no condition', () => timesOf(GOOD), /status is immutable unless transitioning/],
    [
      'a chain with a denial',
      () => ({ ...issued(), ...conditionOf('Denied') }),
      /must be empty when denying/,
    ],
  ])('is refused with %s', async (_, status, why) => {
    await expect(say('open', status())).rejects.toThrow(why);
  });

  test('is final: an issued certificate stays, and cannot be denied', async () => {
    await create('issued');
    const chain = chainOf(GOOD) + encodePem('CERTIFICATE', ca);
    await say('issued', issued(GOOD, chain));
    for (const next of [issued(), conditionOf('Denied')])
      await expect(say('issued', next)).rejects.toThrow(/immutable after PodCertificateRequest is issued/);
    const told = await cluster.kubectl('get', 'podcertificaterequests', 'issued', '-o', 'json');
    expect(JSON.parse(told).status).toMatchObject({ certificateChain: chain });
  });

  test.each(['Denied', 'Failed'])('is final: what was %s is not issued any more', async (type) => {
    await create(type.toLowerCase());
    await say(type.toLowerCase(), conditionOf(type));
    await expect(say(type.toLowerCase(), issued())).rejects.toThrow(
      /immutable after PodCertificateRequest is/,
    );
  });

  test('needs the verb sign on the signer, beside the right to patch the status', async () => {
    await create('guarded');
    const kubeconfig = `--kubeconfig=${cluster.kubeconfigFor('robot')}`;
    const role = (rules: readonly object[]): Promise<void> =>
      cluster.apply(
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'ClusterRole',
          metadata: { name: 'signer' },
          rules,
        },
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'ClusterRoleBinding',
          metadata: { name: 'signer' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'signer' },
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'robot' }],
        },
      );
    const apiGroups = ['certificates.k8s.io'];
    const toPatch = [
      { apiGroups, resources: ['podcertificaterequests'], verbs: ['get'] },
      { apiGroups, resources: ['podcertificaterequests/status'], verbs: ['get', 'patch'] },
    ];
    await role(toPatch);
    await expect
      .poll(() => say('guarded', issued(), kubeconfig).catch(String), WITHIN)
      .toMatch(/not permitted to "sign" for signer "handover.dev\/default.mesh"/);
    await role([...toPatch, { apiGroups, resources: ['signers'], resourceNames: [SIGNER], verbs: ['sign'] }]);
    await expect
      .poll(() => say('guarded', issued(), kubeconfig).catch(String), WITHIN)
      .toMatch(/^podcertificaterequest.certificates.k8s.io\/guarded patched/);
  });
});

/** RBAC follows its objects within a moment. */
const WITHIN = { timeout: 30_000, interval: 200 };

const keyPem = (): string => others.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
