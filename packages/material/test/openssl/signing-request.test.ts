import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { encodePem, parsePem } from '../../src/pem.ts';
import { parseSigningRequest } from '../../src/signing-request.ts';

const refused = expect.objectContaining({ code: 'SIGNING_REQUEST_REFUSED' });
const folder = temporaryFolder();

const requestOf = (
  key: readonly string[],
  more: readonly string[] = [],
  subject = '/O=Shop/CN=web',
): string => {
  const [keyFile, file] = [join(folder, 'key'), join(folder, 'csr')];
  execFileSync('openssl', ['genpkey', ...key, '-out', keyFile], { stdio: 'ignore' });
  execFileSync('openssl', ['req', '-new', '-key', keyFile, '-subj', subject, ...more, '-out', file], {
    stdio: 'ignore',
  });
  return readFileSync(file, 'utf8');
};
const P256 = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'];

test('a request of openssl is read with its names, usages and key', () => {
  const pem = requestOf(P256, [
    '-addext',
    'subjectAltName=DNS:web.shop.svc,IP:10.0.0.7,URI:spiffe://mesh/ns/shop',
    '-addext',
    'extendedKeyUsage=serverAuth',
    '-addext',
    'keyUsage=digitalSignature',
  ]);
  expect(parseSigningRequest(pem)).toMatchObject({
    attributes: [
      ['O', 'Shop'],
      ['CN', 'web'],
    ],
    dnsNames: ['web.shop.svc'],
    ipAddresses: ['10.0.0.7'],
    uris: ['spiffe://mesh/ns/shop'],
    extendedKeyUsage: ['serverAuth'],
    keyUsage: ['digitalSignature'],
    keyAlgorithm: 'ECDSA-P256',
    isCa: false,
    otherExtensions: [],
  });
});

test('an RSA request without extensions is read, and one that asks for a CA says so', () => {
  const rsa = requestOf(['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048']);
  expect(parseSigningRequest(rsa)).toMatchObject({ keyAlgorithm: 'RSA-2048', dnsNames: [] });
  const ca = parseSigningRequest(requestOf(P256, ['-addext', 'basicConstraints=critical,CA:TRUE']));
  expect(ca.isCa).toBe(true);
});

test('an extension that no field stands for is named', () => {
  const pem = requestOf(P256, ['-addext', 'tlsfeature=status_request']);
  expect(parseSigningRequest(pem).otherExtensions).toEqual(['1.3.6.1.5.5.7.1.24']);
});

test('a request with another signature, with one byte changed, or signed with SHA-1 is refused', () => {
  const pem = requestOf(P256);
  const [block] = parsePem(pem).blocks;
  const der = Buffer.from(block?.der ?? []);
  const at = der.indexOf(Buffer.from('web'));
  der.write('wab', at);
  expect(() => parseSigningRequest(encodePem('CERTIFICATE REQUEST', der))).toThrowError(refused);
  expect(() => parseSigningRequest(requestOf(P256, ['-sha1']))).toThrowError(refused);
});

test('whatever is not one request is refused with one line', () => {
  const pem = requestOf(P256);
  const key = readFileSync(join(folder, 'key'), 'utf8');
  for (const text of ['', 'hello', pem + pem, `${key}${pem}`, pem.slice(0, 200), 'x'.repeat(70_000)]) {
    expect(() => parseSigningRequest(text), text.slice(0, 40)).toThrowError(refused);
  }
  for (let cut = 0; cut < 60; cut++) {
    const der = Buffer.from(parsePem(pem).blocks[0]?.der ?? []);
    der[cut] = (der[cut] ?? 0) ^ 0xff;
    expect(() => parseSigningRequest(encodePem('CERTIFICATE REQUEST', der)), `byte ${cut}`).toThrowError(
      refused,
    );
  }
});
