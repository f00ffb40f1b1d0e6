import { HandoverError } from '@handover/material';
import { expect, test } from 'vitest';
import { askedBy, whyUnreadable } from './openshift.ts';

const apiServer = (spec: unknown) => askedBy({ metadata: { name: 'cluster' }, spec });

test('an APIServer without a TLS profile asks for nothing', () => {
  for (const spec of [undefined, {}, { tlsSecurityProfile: null }, { audit: {} }])
    expect(apiServer(spec)).toEqual({});
});

test('type and body of an APIServer’s TLS profile are taken unchanged, and an empty body is no body', () => {
  expect(apiServer({ tlsSecurityProfile: { type: 'Modern', modern: {} } })).toEqual({ type: 'Modern' });
  expect(apiServer({ tlsSecurityProfile: { type: 'Custom', custom: null } })).toEqual({ type: 'Custom' });
  expect(
    apiServer({
      tlsSecurityProfile: { type: 'Custom', custom: { ciphers: ['A', 7], minTLSVersion: 'VersionTLS12' } },
    }),
  ).toEqual({ type: 'Custom', custom: { ciphers: ['A', '7'], minTLSVersion: 'VersionTLS12' } });
});

test.each([
  ['KUBE_NOT_FOUND', 'TLS_PROFILE_SOURCE_MISSING'],
  ['KUBE_FORBIDDEN', 'TLS_PROFILE_SOURCE_FORBIDDEN'],
  ['KUBE_UNAVAILABLE', 'TLS_PROFILE_SOURCE_UNAVAILABLE'],
])('%s is reported as %s, to be tried again', (code, expected) => {
  expect(whyUnreadable(new HandoverError(code, 'no'))).toMatchObject({ code: expected, retry: 'later' });
});
