import type { ObjectRecord } from '@handover/engine';
import type { KubeObject } from '@handover/kube';
import { HandoverError, instant } from '@handover/material';
import { expect, test } from 'vitest';
import {
  leafIdOf,
  leafOf,
  type ServiceSeen,
  secretAnnotations,
  serviceSeen,
  wantsBundle,
} from './service-ca.ts';

const PREFIX = 'service.beta.openshift.io/';
const service = (annotations: Readonly<Record<string, string>>, spec: object = {}): KubeObject => ({
  metadata: { namespace: 'team', name: 'web', uid: 'u1', annotations },
  spec,
});
const seen = (annotations: Readonly<Record<string, string>>, spec: object = {}): ServiceSeen => {
  const found = serviceSeen(
    service({ [`${PREFIX}serving-cert-secret-name`]: 'web-tls', ...annotations }, spec),
  );
  if (found === undefined) throw new Error('it asks for something');
  return found;
};

test('a Service that asks for no certificate is not kept', () => {
  expect(serviceSeen(service({}))).toBeUndefined();
  expect(serviceSeen(service({ [`${PREFIX}serving-cert-secret-name`]: '' }))).toBeUndefined();
});

test('the Leaf of a Service has the names of the Service, and a wildcard below them if the Service is headless', () => {
  const own = ['web.team.svc', 'web.team.svc.cluster.local'];
  expect(leafOf(seen({}, { clusterIP: '10.0.0.1' }), 'a/b').spec.dnsNames).toEqual(own);
  expect(leafOf(seen({}, { clusterIP: 'None' }), 'a/b').spec.dnsNames).toEqual([
    ...own,
    ...own.map((name) => `*.${name}`),
  ]);
});

test('the Leaf of a Service has a name that no other resource can have, and a Service name too long for a subject is a DNS name only', () => {
  const leaf = leafOf({ ...seen({}), name: 'w'.repeat(63), namespace: 'n'.repeat(63) }, 'a/b');
  expect(leaf.metadata.name).toBe(`service ${'w'.repeat(63)}`);
  expect(leaf.spec.subject.commonName).toBeUndefined();
  expect(leaf.spec.dnsNames).toContain(`${'w'.repeat(63)}.${'n'.repeat(63)}.svc`);
  expect(leafIdOf(seen({}))).toBe('team/service web');
});

test('an invalid name of a Secret in a Service’s annotation is refused with an error', () => {
  expect(() => leafOf({ ...seen({}), secretName: '../x' }, 'a/b')).toThrow(HandoverError);
});

test('a damaged error count in a Service’s annotations counts as 0', () => {
  for (const damaged of ['x', '-3', '1e9999', '1.5', ''])
    expect(seen({ [`${PREFIX}serving-cert-generation-error-num`]: damaged }).errors).toBe(0);
  expect(seen({ [`${PREFIX}serving-cert-generation-error-num`]: '10' }).errors).toBe(10);
});

test('the Secret of a Service names the Service, and the end of the certificate to the second', () => {
  const record = {
    leaf: { notAfter: instant(Date.UTC(2030, 0, 2, 3, 4, 5, 678)) },
  } as unknown as ObjectRecord;
  expect(secretAnnotations(seen({}), record)).toEqual({
    [`${PREFIX}originating-service-name`]: 'web',
    [`${PREFIX}originating-service-uid`]: 'u1',
    [`${PREFIX}expiry`]: '2030-01-02T03:04:05Z',
  });
});

test('inject-cabundle means true in upper and lower case, and no other value does', () => {
  for (const yes of ['true', 'TRUE', 'True'])
    expect(wantsBundle({ [`${PREFIX}inject-cabundle`]: yes })).toBe(true);
  for (const no of ['yes', '1', ' true', ''])
    expect(wantsBundle({ [`${PREFIX}inject-cabundle`]: no })).toBe(false);
  expect(wantsBundle(undefined)).toBe(false);
});
