import { day, duration, hour } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { type CsrAsked, csrOf, newKeys } from '../../test/cert-manager/csr.ts';
import { askedBy } from './asked.ts';
import type { CertificateRequest } from './kinds.ts';

const WEB: CsrAsked = { subject: { CN: 'web' }, dnsNames: ['web.shop.svc'] };
const ask = (csr: CsrAsked | string, spec: CertificateRequest['spec'] = {}, most = duration(90 * day)) =>
  askedBy(
    {
      apiVersion: 'cert-manager.io/v1',
      kind: 'CertificateRequest',
      metadata: { namespace: 'shop', name: 'web-1' },
      spec: { request: Buffer.from(typeof csr === 'string' ? csr : csrOf(csr)).toString('base64'), ...spec },
    },
    'shop/mesh',
    most,
  );

test('a CertificateRequest asks for what the same Leaf would ask for', () => {
  const keys = newKeys();
  const { leaf, publicKey } = ask(
    { ...WEB, keys, usages: ['server'], subject: { CN: 'web', O: 'Shop' } },
    { duration: '240h0m0s', usages: ['digital signature', 'key encipherment', 'server auth'] },
  );
  expect(publicKey.equals(keys.publicKey)).toBe(true);
  expect(leaf.spec).toMatchObject({
    authority: 'shop/mesh',
    key: 'ECDSA-P256',
    subject: { commonName: 'web', organizations: ['Shop'] },
    dnsNames: ['web.shop.svc'],
    usages: ['server'],
    lifetime: 10 * day,
  });
});

test.each(['constructor', 'toString', '__proto__'])('%s is no usage', (usage) => {
  expect(() => ask(WEB, { usages: [usage] })).toThrow(`usage "${usage}" is not offered`);
});

test('a CertificateRequest without usages is for server and client, and without a host name for client only', () => {
  expect(ask(WEB).leaf.spec.usages).toEqual(['server', 'client']);
  expect(ask({ subject: { CN: 'job' } }).leaf.spec.usages).toEqual(['client']);
});

test('a URI alone is enough for a server certificate, and beside a common name it is not', () => {
  const uris = ['spiffe://cluster.local/ns/shop/sa/web'];
  expect(ask({ uris }).leaf.spec).toMatchObject({ uris, usages: ['server', 'client'] });
  expect(ask({ uris }, { usages: ['server auth'] }).leaf.spec.usages).toEqual(['server']);
  expect(ask({ uris }, { usages: ['client auth'] }).leaf.spec.usages).toEqual(['client']);
  const named = { uris, subject: { CN: 'bank.example' } };
  expect(ask(named).leaf.spec.usages).toEqual(['client']);
  expect(() => ask(named, { usages: ['server auth'] })).toThrow(/dnsNames/);
});

test('a lifetime is cut to what is allowed, and is 90 days unless the CertificateRequest says otherwise', () => {
  expect(ask(WEB, { duration: '8760h0m0s' }).leaf.spec.lifetime).toBe(90 * day);
  expect(ask(WEB, {}, duration(hour)).leaf.spec.lifetime).toBe(hour);
  expect(ask(WEB).leaf.spec.lifetime).toBe(90 * day);
});

describe('a CertificateRequest is refused', () => {
  const refused: readonly (readonly [string, CsrAsked | string, CertificateRequest['spec'], RegExp])[] = [
    ['a CA by its spec', WEB, { isCA: true }, /asks for a CA; remove isCA/],
    ['a CA by its signing request', { ...WEB, isCa: true }, {}, /asks for a CA/],
    ['another usage', WEB, { usages: ['code signing'] }, /"code signing" is not offered/],
    [
      'another usage in the signing request',
      { ...WEB, usages: ['code'] },
      {},
      /"codeSigning" is not offered/,
    ],
    ['usages that only a CA has', WEB, { usages: ['cert sign'] }, /"cert sign" is not offered/],
    ['e-mail addresses', { ...WEB, emails: ['a@b.c'] }, {}, /remove emailAddresses/],
    ['an organizational unit', { ...WEB, subject: { OU: 'x' } }, {}, /subject OU is not offered/],
    ['a server without a host name', { subject: { CN: 'web' } }, { usages: ['server auth'] }, /dnsNames/],
    ['no name at all', {}, {}, /has no name/],
    ['a name that is none', { dnsNames: ['a b'] }, {}, /"a b"/],
    ['a strange duration', WEB, { duration: 'long' }, /is not a length of time/],
    ['a request that another key signed', { ...WEB, signedBy: newKeys().privateKey }, {}, /its own key/],
    ['text that is no request', 'hello', {}, /CERTIFICATE REQUEST/],
  ];
  test.each(refused)(
    'a CertificateRequest is refused with a code and a remedy: %s',
    (_name, csr, spec, says) => {
      let thrown: unknown;
      try {
        ask(csr, spec);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toMatchObject({
        code: expect.stringMatching(/^(SIGNING_REQUEST_REFUSED|RESOURCE_INVALID)$/),
      });
      expect((thrown as Error).message).toMatch(says);
      expect((thrown as Error).message).not.toContain('\n');
    },
  );
});
