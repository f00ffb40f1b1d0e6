import { createSecureContext, getCiphers } from 'node:tls';
import { expect, it } from 'vitest';
import { OFTEN_MISSING, resolveTlsProfile, tlsProfileFiles } from './index.ts';

const support = {
  ciphers: getCiphers(),
  groups: ['X25519', 'prime256v1', 'secp384r1', 'secp521r1'],
  elsewhere: OFTEN_MISSING,
};
const filesOf = (type: string, custom?: Parameters<typeof resolveTlsProfile>[0]) =>
  tlsProfileFiles(resolveTlsProfile({ type, ...custom }, support));

it('Files for other programs say Intermediate as each of them wants it', () => {
  const files = filesOf('Intermediate');
  const below =
    'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:' +
    'ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305';
  expect(files['nginx.conf']).toBe(
    `ssl_protocols TLSv1.2 TLSv1.3;\nssl_ciphers ${below};\n` +
      'ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256;\n' +
      'ssl_ecdh_curve X25519:P-256:P-384;\nssl_prefer_server_ciphers on;\n',
  );
  expect(files['openssl.cnf']).toContain(
    `MinProtocol = TLSv1.2\nMaxProtocol = TLSv1.3\nCipherString = ${below}\n`,
  );
  expect(files['envoy.yaml']).toContain('tls_minimum_protocol_version: TLSv1_2');
  expect(files['envoy.yaml']).toContain('  - ECDHE-RSA-CHACHA20-POLY1305');
  expect(JSON.parse(files['go.json'])).toMatchObject({
    MinVersion: 'VersionTLS12',
    CurvePreferences: ['X25519MLKEM768', 'X25519', 'CurveP256', 'CurveP384'],
  });
  expect(JSON.parse(files['node.json'])).toMatchObject({ minVersion: 'TLSv1.2', honorCipherOrder: true });
});

it('Files for other programs leave no version below 1.3 in Modern', () => {
  const files = filesOf('Modern');
  expect(files['nginx.conf']).toContain('ssl_protocols TLSv1.3;');
  expect(files['nginx.conf']).not.toContain('ssl_ciphers');
  expect(files['openssl.cnf']).toContain('MinProtocol = TLSv1.3');
  expect(files['envoy.yaml']).toContain('tls_minimum_protocol_version: TLSv1_3');
  expect(files['envoy.yaml']).not.toContain('cipher_suites');
});

it('Files for other programs end at TLS 1.2 when no suite of 1.3 is listed', () => {
  const files = filesOf('Custom', { custom: { ciphers: ['ECDHE-RSA-AES128-GCM-SHA256'] } });
  expect(files['nginx.conf']).toContain('ssl_protocols TLSv1.2;');
  expect(files['openssl.cnf']).toContain('MaxProtocol = TLSv1.2');
  expect(files['envoy.yaml']).toContain('tls_maximum_protocol_version: TLSv1_2');
  expect(JSON.parse(files['node.json'])).toMatchObject({ maxVersion: 'TLSv1.2' });
});

it('Files for other programs leave out what an older OpenSSL would refuse the whole list for', () => {
  const newest = { ...support, groups: [...support.groups, 'X25519MLKEM768'] };
  const files = tlsProfileFiles(resolveTlsProfile({ type: 'Modern' }, newest));
  for (const name of ['nginx.conf', 'openssl.cnf', 'node.json', 'envoy.yaml'] as const)
    expect(files[name]).not.toContain('MLKEM');
});

it.each(['ALL', 'HIGH', '-AES128-SHA'])(
  'Files for other programs never hand OpenSSL the keyword %s',
  (word) => {
    const files = filesOf('Custom', { custom: { ciphers: ['ECDHE-RSA-AES128-GCM-SHA256', word] } });
    for (const name of ['nginx.conf', 'openssl.cnf', 'node.json', 'envoy.yaml'] as const)
      expect(files[name]).not.toContain(word);
  },
);

it('Files for other programs never make Envoy fall back to its own list', () => {
  const files = filesOf('Custom', { custom: { ciphers: ['DHE-RSA-AES128-GCM-SHA256'] } });
  expect(files['envoy.yaml']).toContain('tls_minimum_protocol_version: TLSv1_3');
});

it.each(['Old', 'Intermediate', 'Modern'])(
  'Files for other programs are options that this Node takes: %s',
  (type) => {
    expect(() => createSecureContext(JSON.parse(filesOf(type)['node.json']))).not.toThrow();
  },
);
