import { digestOf, filesFrom } from '@handover/engine';
import { instant, textOf } from '@handover/material';
import { expect, test } from 'vitest';
import { serviceSeen } from '../compat/service-ca.ts';
import { projectObject } from '../objects/projection.ts';
import { formatRecord } from '../objects/record.ts';
import { declaredOf } from '../resources/declared.ts';
import { podOf } from '../workloads/pods.ts';
import { mayRead } from '../workloads/references.ts';
import { workloadOf } from '../workloads/workload.ts';

const LONG = 'a'.repeat(262_000);
const sizeOf = (value: unknown): number => JSON.stringify(value).length;
const object = (kind: string, metadata: object, more: object) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'x', namespace: 'evil', uid: 'u', resourceVersion: '1', ...metadata },
  ...more,
});
const annotations = { 'handover.dev/x': LONG, 'handover.dev/reload': LONG, 'handover.dev/adopt': LONG };
const many = (what: string) =>
  Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`${what}${i}`, 'x']));

test('the cache keeps little of a Deployment, however large its annotations, labels and status are, and however much it reads', () => {
  const metadata = { labels: many('l'), annotations };
  const conditions = [
    { type: 'ReplicaFailure', status: 'True', reason: 'x', message: 'A'.repeat(1_200_000) },
  ];
  const envFrom = Array.from({ length: 20_000 }, (_, i) => ({
    configMapRef: { name: `c${i}`.padEnd(253, 'c') },
  }));
  const kept = workloadOf(
    'Deployment',
    object(
      'Deployment',
      { annotations },
      { spec: { template: { metadata, spec: { containers: [{ envFrom }] } } }, status: { conditions } },
    ),
  );
  expect(sizeOf(kept)).toBeLessThan(30_000);
  expect(kept.failing?.length).toBeLessThanOrEqual(300);
});

test('the stamps of many Authorities are cached whole', () => {
  const stamps = Array.from({ length: 100 }, (_, i) => `team-${i}/mesh=12.0.12-0123abcd`).join(' ');
  const metadata = { annotations: { 'handover.dev/trust-hash': stamps } };
  const kept = workloadOf('Deployment', object('Deployment', {}, { spec: { template: { metadata } } }));
  expect(kept.annotations['handover.dev/trust-hash']).toBe(stamps);
});

test('the cache keeps little of a pod, however large its annotations are and however much it mounts', () => {
  const volume = (i: number) => ({ name: `v${i}`, secret: { secretName: i === 0 ? 'web' : `${LONG}${i}` } });
  const volumes = Array.from({ length: 5 }, (_, i) => volume(i));
  const items = Array.from({ length: 20_000 }, (_, i) => ({ key: `k${i}`, path: 'x' }));
  volumes.push({ name: 'all', secret: { secretName: 'keys', items } } as never);
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  const env = Array.from({ length: 20_000 }, (_, i) => ({
    name: `E${i}`,
    valueFrom: { secretKeyRef: { name: `s${i}`.padEnd(253, 's'), key: `k${i}`.padEnd(253, 'k') } },
  }));
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Job', name: LONG, uid: 'u', controller: true }];
  const kept = podOf(
    object(
      'Pod',
      { annotations, ownerReferences },
      { spec: { volumes, containers: [{ volumeMounts, env }] } },
    ),
  );
  expect(sizeOf(kept)).toBeLessThan(40_000);
  // Rather everything than too little.
  const leaf = { plural: 'secrets', name: 'any' };
  expect(kept?.references.some((reference) => mayRead(reference, leaf))).toBe(true);
});

const marked = { labels: { 'handover.dev/managed': 'true' }, annotations };

test('the cache keeps only a digest of foreign data in a ConfigMap with Handover’s label', () => {
  const held = projectObject(
    'configmaps',
    object('ConfigMap', marked, { data: { x: LONG, y: '', z: 'short' } }),
  );
  expect(sizeOf(held)).toBeLessThan(10_000);
  const { x = new Uint8Array(), ...short } = held.data;
  expect(textOf(x)).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(short).toEqual(filesFrom({ y: '', z: 'short' }));
  const changed = projectObject('configmaps', object('ConfigMap', marked, { data: { x: `${LONG}b` } }));
  expect(changed.data.x).not.toEqual(held.data.x);
});

test('files of a Leaf, certificates, and keys that the record names are cached whole', () => {
  const at = instant(1_000);
  const record = { digest: 'd', revisions: {}, anchors: [], changedAt: at };
  const texts = { 'tls.crt': LONG, 'roots.pem': `${LONG}\n-----BEGIN CERTIFICATE-----\n`, ours: LONG };
  const recorded = { 'handover.dev/record': formatRecord({ ours: { record, at } }, 'own') };
  const held = projectObject('configmaps', object('ConfigMap', { annotations: recorded }, { data: texts }));
  expect(digestOf(held.data)).toBe(digestOf(filesFrom(texts)));
});

test('the cache keeps little of a Leaf, however large its annotations and labels are', () => {
  const spec = { authority: 'mesh', secretName: 'web', dnsNames: ['web.evil.svc'] };
  const leaf = object('Leaf', { annotations, labels: many('l') }, { spec });
  const kept = declaredOf('Leaf', { ...leaf, apiVersion: 'handover.dev/v1alpha1' });
  expect(kept.problem).toBeUndefined();
  expect(sizeOf(kept)).toBeLessThan(20_000);
});

test('rotation ids are cached whole or not at all: half an id would be another one', () => {
  const asked = (rotate: string) => {
    const metadata = { annotations: { 'handover.dev/rotate': rotate } };
    const authority = { ...object('Authority', metadata, { spec: {} }), apiVersion: 'handover.dev/v1alpha1' };
    return declaredOf('Authority', authority).resource?.metadata.annotations['handover.dev/rotate'];
  };
  const ids = Array.from({ length: 300 }, (_, i) => `rotation-${i}`).join(',');
  expect(asked(ids)).toBe(ids);
  expect(asked(LONG)).toBeUndefined();
});

test('the cache keeps little of a Service, however large its annotations are', () => {
  const prefix = 'service.beta.openshift.io/';
  const said = {
    [`${prefix}serving-cert-secret-name`]: LONG,
    [`${prefix}serving-cert-generation-error`]: LONG,
  };
  expect(sizeOf(serviceSeen(object('Service', { annotations: said }, { spec: {} })))).toBeLessThan(1_000);
});
