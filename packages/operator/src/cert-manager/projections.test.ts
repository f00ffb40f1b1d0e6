import { CERT_MANAGER, ISSUER } from '@handover/core';
import { type KubeObject, secrets } from '@handover/kube';
import { beforeEach, expect, test } from 'vitest';
import { CertManagerWorld } from '../../test/cert-manager/world.ts';
import { CertManagerCluster } from './cluster.ts';
import { certificateRequests } from './kinds.ts';
import { projectCertificate, projectRequest, projectSecret } from './projections.ts';

let world: CertManagerWorld;
beforeEach(async () => {
  world = await CertManagerWorld.open();
});

const JUNK = 'x'.repeat(700_000);
const LARGE = Buffer.from(JUNK).toString('base64');

const opened = async (): Promise<CertManagerCluster> => {
  const cluster = new CertManagerCluster({
    kube: world.kube,
    namespaces: undefined,
    onRequest: () => {},
    onExternallyHeld: () => {},
    onTrouble: () => {},
  });
  await cluster.start(world.signal);
  return cluster;
};
const labelled = (name: string, data: Readonly<Record<string, string>>): Promise<KubeObject> =>
  world.kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'team', name, labels: { [CERT_MANAGER.secretLabel]: 'true' } },
    data,
  } as KubeObject);
const request = (name: string, group: string): Promise<KubeObject> =>
  world.kube.create(certificateRequests, {
    apiVersion: CERT_MANAGER.apiVersion,
    kind: 'CertificateRequest',
    metadata: { namespace: 'team', name, annotations: { large: JUNK.slice(0, 200_000) } },
    spec: { issuerRef: { ...ISSUER, group, name: 'prod/mesh' }, request: LARGE },
  });

test('the cache holds no large data of Secrets and CertificateRequests, and no CertificateRequests for other issuers', async () => {
  for (let index = 0; index < 5; index++) await labelled(`s${index}`, { 'tls.crt': LARGE, 'ca.crt': LARGE });
  await request('ours', ISSUER.group);
  await request('theirs', 'example.org');
  const cluster = await opened();
  for (const view of [cluster.cached(), await cluster.fresh(world.signal)]) {
    expect(view?.trouble).toBeUndefined();
    expect(view?.secrets).toHaveLength(5);
    for (const { crt, ca } of view?.secrets ?? []) expect([crt, ca]).toEqual([undefined, undefined]);
    expect(view?.requests.map(({ metadata }) => metadata.name)).toEqual(['ours']);
    expect(JSON.stringify(view?.requests).length).toBeLessThan(2_000);
  }
});

test('an object that has not changed since the watch showed it is not read again, and is parsed once', async () => {
  await labelled('same', { 'tls.crt': Buffer.from('a chain').toString('base64') });
  await request('theirs', 'example.org');
  const cluster = await opened();
  const [watched] = cluster.cached()?.secrets ?? [];
  const before = world.server.requests.length;
  const [read] = (await cluster.fresh(world.signal))?.secrets ?? [];
  expect(Buffer.from(watched?.crt ?? []).toString()).toBe('a chain');
  expect(read).toBe(watched);
  expect(world.server.requests.slice(before)).toHaveLength(3);
});

test('a certificate chain of up to 64 KiB is kept in the cache, and never its key', () => {
  const sized = (bytes: number) =>
    projectSecret({
      metadata: { namespace: 'team', name: 'web', resourceVersion: '1' },
      data: { 'tls.crt': Buffer.alloc(bytes).toString('base64'), 'tls.key': 'c2VjcmV0', more: LARGE },
    });
  expect(sized(64 << 10).crt).toHaveLength(64 << 10);
  expect(sized((64 << 10) + 3).crt).toBeUndefined();
  expect(Object.keys(sized(1))).toEqual(['namespace', 'name', 'version', 'createdAt', 'crt', 'ca']);
});

test('conditions, names and messages that tenants write are cut before they are cached', () => {
  const metadata = { namespace: 'team', name: 'web', uid: 'u1', resourceVersion: '1' };
  const conditions = [
    { type: 'Issuing', status: 'True', message: JUNK },
    { type: 'Made up', status: JUNK },
    { type: 'Ready', status: 'True', reason: JUNK },
  ];
  const certificate = projectCertificate({
    metadata: { ...metadata, annotations: { 'handover.dev/reload': 'hot', 'handover.dev/x': JUNK, y: JUNK } },
    spec: { secretName: 'web', issuerRef: { ...ISSUER, name: JUNK } },
    status: { conditions, lastFailureTime: JUNK },
  });
  expect(certificate.metadata.annotations).toEqual({ 'handover.dev/reload': 'hot' });
  expect(certificate.spec).toEqual({ secretName: 'web', issuerRef: ISSUER });
  expect(certificate.status?.conditions?.map(({ type }) => type)).toEqual(['Ready', 'Issuing']);
  const owner = { apiVersion: CERT_MANAGER.apiVersion, kind: 'Certificate', name: 'web', uid: 'u1' };
  const asked = projectRequest({
    metadata: { ...metadata, ownerReferences: Array.from({ length: 10_000 }, () => owner) },
    spec: { issuerRef: { ...ISSUER, name: 'mesh' }, request: LARGE },
    status: { conditions, certificate: LARGE },
  });
  expect(asked?.status?.certificate).toBeUndefined();
  for (const one of [certificate, asked]) expect(JSON.stringify(one).length).toBeLessThan(3_000);
});
