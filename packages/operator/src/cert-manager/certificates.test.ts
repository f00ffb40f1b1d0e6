import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import {
  CERT_MANAGER,
  ISSUER,
  issueCa,
  issueCross,
  issueLeaf,
  localSigner,
  type ObjectSeen,
  parseResources,
} from '@handover/core';
import { type AuthorityRecord, catalogueOf, policyFor, type Responsibilities } from '@handover/engine';
import type { Kube } from '@handover/kube';
import {
  type Certificate,
  day,
  hour,
  type Instant,
  instant,
  minute,
  parseCertificate,
} from '@handover/material';
import { expect, test } from 'vitest';
import { LentCertificates } from './certificates.ts';
import type { CertManagerCluster, CertManagerView } from './cluster.ts';
import type { CertificateRequest, CertManagerCertificate } from './kinds.ts';

const NOW = instant(Date.UTC(2030, 0, 1));
const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
const KEYS = { ours: newKey(), theirs: newKey() };

const caOf = async (key: KeyObject): Promise<Certificate> =>
  parseCertificate(
    await issueCa({
      name: 'mesh',
      generation: 1,
      signer: localSigner(key),
      serial: new Uint8Array(randomBytes(12)),
      notBefore: instant(NOW - hour),
      notAfter: instant(NOW + 3000 * day),
    }),
  );
const CA = await caOf(KEYS.ours);
const FORGED_CA = await caOf(KEYS.theirs);

const leafOf = async (ca: Certificate, key: KeyObject, life = 30 * day): Promise<Certificate> =>
  parseCertificate(
    await issueLeaf({
      issuer: ca,
      signer: localSigner(key),
      publicKey: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey,
      serial: new Uint8Array(randomBytes(12)),
      subject: { commonName: 'web' },
      dnsNames: ['web.prod.svc'],
      ipAddresses: [],
      uris: [],
      usages: ['server'],
      notBefore: instant(NOW - hour),
      notAfter: instant(NOW + life),
    }),
  );

const [authority] = parseResources([
  {
    value: {
      apiVersion: 'handover.dev/v1alpha1',
      kind: 'Authority',
      metadata: { namespace: 'prod', name: 'mesh' },
      spec: { issueTo: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'team' } } } },
    },
    where: 'test',
  },
]);
const responsibilities: Responsibilities = policyFor(
  catalogueOf(authority === undefined ? [] : [authority]),
  'prod/mesh',
  { consumersFound: true, cacheLag: 0, trustNamespace: 'prod' } as never,
  new Map(),
);
const anchors = [{ fingerprint: CA.fingerprint, notBefore: CA.notBefore, notAfter: CA.notAfter }];
const record = (lentUntil?: Instant, role = 'previous'): AuthorityRecord =>
  ({
    state: {
      revision: 1,
      generations: [
        { number: 1, role, anchors, hasKey: true, since: NOW, ...(lentUntil ? { lentUntil } : {}) },
      ],
    },
    certificates: new Map([[CA.fingerprint, CA]]),
  }) as unknown as AuthorityRecord;

const certificate = (
  namespace: string,
  more: Partial<CertManagerCertificate> = {},
  issuer: string = namespace === 'prod' ? 'mesh' : 'prod/mesh',
): CertManagerCertificate => ({
  apiVersion: CERT_MANAGER.apiVersion,
  kind: 'Certificate',
  metadata: { namespace, name: 'web', uid: 'u1', resourceVersion: '7' },
  spec: { secretName: 'web', issuerRef: { ...ISSUER, name: issuer } },
  ...more,
});
const secret = (namespace: string, leaf: Certificate | undefined) => ({
  namespace,
  name: 'web',
  version: '3',
  createdAt: NOW,
  crt: leaf === undefined ? undefined : Buffer.from(leaf.pem),
  ca: Buffer.from(CA.pem),
});

const lentIn = (
  world: {
    readonly view: CertManagerView | undefined;
    readonly read?: (id: string) => unknown;
  },
  now = NOW,
): LentCertificates => {
  const { view, read } = world;
  const cluster = {
    cached: () => view,
    fresh: async () => view,
    secret: async (namespace: string, name: string) => {
      read?.(`${namespace}/${name}`);
    },
  };
  return new LentCertificates({
    kube: {} as Kube,
    cluster: cluster as unknown as CertManagerCluster,
    signal: new AbortController().signal,
    now: () => now,
    nudge: () => {},
  });
};
const look = async (
  view: Partial<CertManagerView> | undefined,
  state = record(),
  now = NOW,
): Promise<readonly ObjectSeen[]> => {
  const whole = view && { certificates: [], requests: [], secrets: [], ...view };
  return lentIn({ view: whole }, now).reader(false).of(responsibilities, state, now);
};
const one = async (view: Partial<CertManagerView>, now = NOW): Promise<ObjectSeen> => {
  const [object, second] = await look(view, record(), now);
  expect(second).toBeUndefined();
  return object ?? expect.fail('nothing was seen');
};

test('a Secret of a Certificate is seen with its leaf, its CA and its version', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const seen = await one({ certificates: [certificate('prod')], secrets: [secret('prod', leaf)] });
  expect(seen).toMatchObject({
    id: 'prod/secrets/web',
    version: '7',
    revision: undefined,
    anchors: [{ fingerprint: CA.fingerprint, since: NOW }],
    leaf: { fingerprint: leaf.fingerprint, issuer: CA.fingerprint, writtenAt: NOW, notAfter: leaf.notAfter },
    writtenBy: { program: 'cert-manager', asked: 'can' },
  });
  expect(seen.elsewhere).toBeUndefined();
});

test('a leaf that only names our CA as its issuer is none of ours, here and elsewhere', async () => {
  const forged = await leafOf(FORGED_CA, KEYS.theirs);
  for (const namespace of ['prod', 'team'])
    expect(
      await look({ certificates: [certificate(namespace)], secrets: [secret(namespace, forged)] }),
    ).toEqual([]);
});

test('a leaf elsewhere counts for 90 days from its beginning, however long it lives', async () => {
  const leaf = await leafOf(CA, KEYS.ours, 2000 * day);
  const seen = await one({ certificates: [certificate('team')], secrets: [secret('team', leaf)] });
  expect(seen).toMatchObject({ elsewhere: true, leaf: { notAfter: NOW + 90 * day } });
  expect(seen.writtenBy?.namespace).toBe('team');
});

test('the Secret of the CA itself is presented by no program; a CA under it is, by its leaves', async () => {
  expect(await look({ certificates: [certificate('prod')], secrets: [secret('prod', CA)] })).toEqual([]);
  const under = parseCertificate(
    await issueCross({
      subject: FORGED_CA,
      issuer: CA,
      signer: localSigner(KEYS.ours),
      serial: new Uint8Array(randomBytes(12)),
      notBefore: instant(NOW - hour),
      notAfter: instant(NOW + 30 * day),
    }),
  );
  const seen = await one({ certificates: [certificate('prod')], secrets: [secret('prod', under)] });
  expect(seen.leaf).toMatchObject({ fingerprint: under.fingerprint, issuer: CA.fingerprint });
});

test('of others, only Certificates of our own namespace count that hold a leaf of ours', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const of = (namespace: string): Partial<CertManagerView> => ({
    certificates: [
      certificate(namespace, { spec: { secretName: 'web', issuerRef: { name: 'x', kind: 'Issuer' } } }),
    ],
    secrets: [secret(namespace, leaf)],
  });
  expect((await one(of('prod'))).writtenBy).toMatchObject({
    asked: 'never',
    remark: 'Certificate web names Issuer x: change its issuerRef to Authority prod/mesh',
  });
  expect(await look(of('team'))).toEqual([]);
  const orphan = await one({ secrets: [secret('prod', leaf)] });
  expect(orphan.writtenBy?.remark).toMatch(/^no Certificate asks for it any more/);
});

const requestOf = (leaf: Certificate | undefined, conditions: readonly object[]): CertificateRequest =>
  ({
    apiVersion: CERT_MANAGER.apiVersion,
    kind: 'CertificateRequest',
    metadata: {
      namespace: 'prod',
      name: 'web-1',
      ownerReferences: [{ kind: 'Certificate', name: 'web', uid: 'u1' }],
    },
    status: { conditions, ...(leaf ? { certificate: Buffer.from(leaf.pem).toString('base64') } : {}) },
  }) as unknown as CertificateRequest;

test('a leaf that was signed and is not in its Secret yet counts', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const seen = await one({ certificates: [certificate('prod')], requests: [requestOf(leaf, [])] });
  expect(seen.leaf?.fingerprint).toBe(leaf.fingerprint);
});

test('a Certificate at work is pending, then slow with the reason; after a failure it is asked again later', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const at = new Date(NOW).toISOString();
  const standing = async (status: object, now: number, requests: readonly CertificateRequest[] = []) =>
    (
      await one(
        { certificates: [certificate('prod', { status })], secrets: [secret('prod', leaf)], requests },
        instant(now),
      )
    ).writtenBy;
  const issuing = { conditions: [{ type: 'Issuing', status: 'True', lastTransitionTime: at }] };
  expect(await standing(issuing, NOW + 5_000)).toMatchObject({ asked: 'pending' });
  expect((await standing(issuing, NOW + 5_000))?.remark).toBeUndefined();
  expect((await standing(issuing, NOW + hour))?.remark).toMatch(/has not answered since .*its controller/);
  const waiting = [requestOf(undefined, [])];
  expect((await standing(issuing, NOW + hour, waiting))?.remark).toMatch(
    /^CertificateRequest web-1 is not approved/,
  );
  const failed = {
    conditions: [{ type: 'Issuing', status: 'False', message: 'no' }],
    lastFailureTime: at,
  };
  expect(await standing(failed, NOW + minute)).toMatchObject({
    asked: 'pending',
    failing: 'Certificate web failed: no',
  });
  expect(await standing(failed, NOW + hour)).toMatchObject({ asked: 'can' });
});

test('what cannot be read counts as in use until the last leaf that was lent has ended', async () => {
  const until = instant(NOW + 20 * day);
  expect(await look(undefined)).toEqual([]);
  expect(await look(undefined, record(until))).toMatchObject([
    { leaf: { issuer: CA.fingerprint, notAfter: until }, writtenBy: { asked: 'never' } },
  ]);
});

test('a Certificate of a namespace that is not served is not looked at, unless a request shows that it got a leaf', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const view = { certificates: [certificate('evil')], secrets: [secret('evil', leaf)] };
  expect(await look(view)).toEqual([]);
  const shown = (issuer: string): CertificateRequest => {
    const { metadata, ...request } = requestOf(leaf, []);
    return {
      ...request,
      metadata: { ...metadata, namespace: 'evil' },
      spec: { issuerRef: { ...ISSUER, name: issuer } },
    };
  };
  expect(await look({ ...view, requests: [shown('evil/own')] })).toEqual([]);
  expect(await look({ ...view, requests: [shown('prod/mesh')] })).toMatchObject([
    { id: 'evil/secrets/web', elsewhere: true, leaf: { fingerprint: leaf.fingerprint } },
  ]);
});

const many = (namespace: string, count: number): readonly CertManagerCertificate[] =>
  Array.from({ length: count }, (_, index) => ({
    ...certificate(namespace),
    metadata: { namespace, name: `c${index}`, uid: `u${index}`, resourceVersion: '7' },
    spec: { secretName: `c${index}`, issuerRef: { ...ISSUER, name: 'prod/mesh' } },
  }));

test('Secrets that the watch does not show are read a few in each look and once; until then leaves that were lent count as in use', async () => {
  const until = instant(NOW + 20 * day);
  const read: string[] = [];
  const view = { certificates: [...many('team', 100), certificate('prod')], requests: [], secrets: [] };
  const lent = lentIn({ view, read: (id) => read.push(id) });
  const looks = async (state: AuthorityRecord): Promise<readonly ObjectSeen[]> =>
    lent.reader(false).of(responsibilities, state, NOW);
  const [unknown, more] = await looks(record(until));
  expect(read).toHaveLength(50);
  expect(read).toContain('prod/web');
  expect(more).toBeUndefined();
  expect(unknown).toMatchObject({ leaf: { issuer: CA.fingerprint, notAfter: until } });
  expect(unknown?.writtenBy?.failing).toMatch(/^51 Secrets of Certificates could not be read yet/);
  expect(await looks(record())).toEqual([]);
  expect(await looks(record(until))).toEqual([]);
  expect(await looks(record(until))).toEqual([]);
  expect(new Set(read).size).toBe(101);
  expect(read).toHaveLength(101);
});

test('a Secret that cannot be read counts as unknown, and the reason is told', async () => {
  const view = { certificates: [certificate('prod')], requests: [], secrets: [] };
  const lent = lentIn({
    view,
    read: () => {
      throw new Error('forbidden');
    },
  });
  const [unknown] = await lent.reader(false).of(responsibilities, record(instant(NOW + day)), NOW);
  expect(unknown?.writtenBy?.failing).toMatch(
    /^1 Secret of Certificates could not be read yet: forbidden; is cert-manager installed/,
  );
});

test('what was last seen counts while the API of cert-manager answers with errors, and nothing is asked of it', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const until = instant(NOW + 20 * day);
  const last = {
    certificates: [certificate('prod')],
    secrets: [secret('prod', leaf)],
    trouble: 'it is down',
  };
  const seen = await look(last, record(until));
  expect(seen.map(({ id }) => id)).toEqual(['prod/secrets/of other programs', 'prod/secrets/web']);
  for (const { writtenBy } of seen) {
    expect(writtenBy?.asked).toBe('never');
    expect(writtenBy?.failing).toMatch(/^it is down/);
  }
});
