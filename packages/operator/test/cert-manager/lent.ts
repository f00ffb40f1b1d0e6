import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import {
  CERT_MANAGER,
  type Generation,
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
import { type Certificate, day, hour, type Instant, instant, parseCertificate } from '@handover/material';
import { expect } from 'vitest';
import { ExternallyHeldCertificates } from '../../src/cert-manager/certificates.ts';
import type { CertManagerCluster, CertManagerView } from '../../src/cert-manager/cluster.ts';
import type { CertificateRequest, CertManagerCertificate } from '../../src/cert-manager/kinds.ts';
import type { ExternallyHeldSecret } from '../../src/cert-manager/projections.ts';

export const NOW = instant(Date.UTC(2030, 0, 1));
const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
export const KEYS = { ours: newKey(), theirs: newKey() };

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
export const CA = await caOf(KEYS.ours);
export const FORGED_CA = await caOf(KEYS.theirs);

export const leafOf = async (ca: Certificate, key: KeyObject, life = 30 * day): Promise<Certificate> =>
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

/** A CA of others, signed by ours. */
export const crossOf = async (): Promise<Certificate> =>
  parseCertificate(
    await issueCross({
      subject: FORGED_CA,
      issuer: CA,
      signer: localSigner(KEYS.ours),
      serial: new Uint8Array(randomBytes(12)),
      notBefore: instant(NOW - hour),
      notAfter: instant(NOW + 30 * day),
    }),
  );

/** Of Authority prod/mesh, which issues to namespace team as well. */
export const responsibilitiesOf = (issueTo: object): Responsibilities => {
  const value = {
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'Authority',
    metadata: { namespace: 'prod', name: 'mesh' },
    spec: { issueTo },
  };
  return policyFor(
    catalogueOf(parseResources([{ value, where: 'test' }])),
    'prod/mesh',
    { consumersFound: true, cacheLag: 0, trustNamespace: 'prod' } as never,
    new Map(),
  );
};
export const TO_TEAM = {
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'team' } },
} as const;
const anchors = [{ fingerprint: CA.fingerprint, notBefore: CA.notBefore, notAfter: CA.notAfter }];
export const record = (more: Partial<Generation> = {}): AuthorityRecord =>
  ({
    state: {
      revision: 1,
      generations: [{ number: 1, role: 'previous', anchors, hasKey: true, since: NOW, ...more }],
    },
    certificates: new Map([[CA.fingerprint, CA]]),
  }) as unknown as AuthorityRecord;

export const certificate = (
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
export const secret = (namespace: string, leaf: Certificate | undefined) => ({
  namespace,
  name: 'web',
  version: '3',
  createdAt: NOW,
  crt: leaf === undefined ? undefined : Buffer.from(leaf.pem),
  ca: Buffer.from(CA.pem),
});

export const requestOf = (leaf: Certificate | undefined, conditions: readonly object[]): CertificateRequest =>
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

type View = Partial<CertManagerView> | undefined;
type Looks = (view: View, state?: AuthorityRecord, now?: Instant) => Promise<readonly ObjectSeen[]>;

/** What an operator reads through this cluster; `read`: a Secret that the watch did not show. */
export const lentIn = (
  cached: () => CertManagerView | undefined,
  read: (id: string) => unknown = () => {},
  kube: Partial<Kube> = {},
  onRead?: (namespace: string) => void,
  found?: ExternallyHeldSecret,
): ExternallyHeldCertificates => {
  const cluster = {
    cached,
    fresh: async () => cached(),
    secret: async (namespace: string, name: string) => {
      await read(`${namespace}/${name}`);
      return found;
    },
  };
  return new ExternallyHeldCertificates({
    kube: kube as Kube,
    cluster: cluster as unknown as CertManagerCluster,
    signal: new AbortController().signal,
    now: () => NOW,
    nudge: () => {},
    ...(onRead === undefined ? {} : { onRead }),
  });
};

/** One operator that looks again and again. */
export const watching = (issueTo: object = TO_TEAM): Looks => {
  let whole: CertManagerView | undefined;
  const lent = lentIn(() => whole);
  return (view, state = record(), now = NOW) => {
    whole = view && { certificates: [], requests: [], secrets: [], ...view };
    return lent.reader(false).of(responsibilitiesOf(issueTo), state, now);
  };
};
export const look: Looks = (...args) => watching()(...args);
export const one = async (view: Partial<CertManagerView>, now = NOW): Promise<ObjectSeen> => {
  const [object, second] = await look(view, record(), now);
  expect(second).toBeUndefined();
  return object ?? expect.fail('nothing was seen');
};
