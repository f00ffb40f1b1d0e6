import type { AddressInfo } from 'node:net';
import { connect, createSecureContext, createServer, getCiphers, type SecureVersion } from 'node:tls';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { authority, leafOf } from '../test/mock-ca.ts';
import {
  goCipherNames,
  HandoverError,
  nodeTlsOptions,
  parseTlsProfileJson,
  type ResolvedTlsProfile,
  resolveTlsProfile,
} from './index.ts';

const support = { ciphers: getCiphers(), groups: ['X25519', 'prime256v1', 'secp384r1'] };
type Custom = { ciphers?: readonly string[]; minTLSVersion?: string; groups?: readonly string[] };
const resolve = (type?: string, custom?: Custom): ResolvedTlsProfile =>
  resolveTlsProfile({ type, custom }, support);
const codeOf = (action: () => unknown): string => {
  try {
    action();
    return 'no error';
  } catch (error) {
    if (error instanceof HandoverError) return error.code;
    throw error;
  }
};

const ca = authority('ca', { notAfter: Date.UTC(2100, 0, 1) });
const leaf = leafOf(ca, 'localhost', { dns: ['localhost'], notAfter: Date.UTC(2100, 0, 1) });

/** The protocol that a client limited to one version ends up with, or the refusal. */
const negotiate = ({ profile }: ResolvedTlsProfile, version: SecureVersion): Promise<string> =>
  new Promise((done) => {
    const key = leaf.key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const server = createServer({ cert: leaf.certificate.pem, key, ...nodeTlsOptions(profile) }, (socket) => {
      socket.on('error', () => {});
      socket.end('x');
    });
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      const socket = connect({
        port,
        host: '127.0.0.1',
        servername: 'localhost',
        ca: ca.certificate.pem,
        minVersion: version,
        maxVersion: version,
        ciphers: 'ALL:@SECLEVEL=0',
      });
      const end = (result: string): void => {
        socket.destroy();
        server.close(() => done(result));
      };
      socket.on('data', () => end(socket.getProtocol() ?? 'none'));
      socket.on('error', () => end('refused'));
    });
  });

it('S1.6 profiles are Intermediate when nothing is said: 9 ciphers, TLS 1.2', () => {
  for (const input of [undefined, {}, { type: '' }, { type: 'Intermediate' }]) {
    const { profile, warnings } = resolveTlsProfile(input, support);
    expect(profile).toMatchObject({ type: 'Intermediate', minTLSVersion: 'VersionTLS12' });
    expect(profile.ciphers).toHaveLength(9);
    expect(profile.groups).toEqual(['X25519', 'secp256r1', 'secp384r1']);
    expect(warnings.map(({ code }) => code)).toEqual(['TLS_PROFILE_GROUPS_UNSUPPORTED']);
    expect(warnings[0]?.message).toContain('X25519MLKEM768');
  }
});

it('the profiles have the ciphers of Mozilla 5.8, in order', () => {
  const file = (type: string): { ciphers: string[]; minTLSVersion: string; groups: string[] } =>
    JSON.parse(resolve(type).json);
  expect(file('Modern')).toEqual({
    ciphers: ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
    minTLSVersion: 'VersionTLS13',
    groups: ['X25519MLKEM768', 'X25519', 'secp256r1', 'secp384r1'],
  });
  expect(file('Old').minTLSVersion).toBe('VersionTLS10');
  expect(file('Old').ciphers.join(' ')).toBe(
    'TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256 ECDHE-ECDSA-AES128-GCM-SHA256 ' +
      'ECDHE-RSA-AES128-GCM-SHA256 ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-RSA-AES256-GCM-SHA384 ' +
      'ECDHE-ECDSA-CHACHA20-POLY1305 ECDHE-RSA-CHACHA20-POLY1305 ECDHE-ECDSA-AES128-SHA256 ' +
      'ECDHE-RSA-AES128-SHA256 ECDHE-ECDSA-AES128-SHA ECDHE-RSA-AES128-SHA ECDHE-ECDSA-AES256-SHA384 ' +
      'ECDHE-RSA-AES256-SHA384 ECDHE-ECDSA-AES256-SHA ECDHE-RSA-AES256-SHA AES128-GCM-SHA256 AES256-GCM-SHA384 ' +
      'AES128-SHA256 AES256-SHA256 AES128-SHA AES256-SHA DES-CBC3-SHA',
  );
});

it('S1.7 profiles refuse Bogus, Custom without a body, and an unknown version', () => {
  expect(codeOf(() => resolve('Bogus'))).toBe('TLS_PROFILE_UNKNOWN_TYPE');
  expect(codeOf(() => resolve('intermediate'))).toBe('TLS_PROFILE_UNKNOWN_TYPE');
  expect(codeOf(() => resolve('Custom'))).toBe('TLS_PROFILE_CUSTOM_EMPTY');
  expect(codeOf(() => resolve('Custom', { ciphers: ['AES128-SHA'], minTLSVersion: 'TLSv1.2' }))).toBe(
    'TLS_PROFILE_UNKNOWN_VERSION',
  );
  expect(codeOf(() => resolve('Custom', {}))).toBe('TLS_PROFILE_NO_CIPHER');
});

it('S1.8 profiles serve a Custom list in part and name what is unknown; refuse it when nothing is left', () => {
  const good = 'ECDHE-ECDSA-AES128-GCM-SHA256';
  const part = resolve('Custom', { ciphers: [good, 'NO-SUCH-CIPHER'], groups: ['X25519'] });
  expect(part.profile).toMatchObject({ ciphers: [good], minTLSVersion: 'VersionTLS12' });
  expect(part.warnings).toEqual([
    { code: 'TLS_PROFILE_CIPHERS_UNSUPPORTED', message: 'ciphers not supported here: NO-SUCH-CIPHER' },
  ]);
  expect(codeOf(() => resolve('Custom', { ciphers: ['NO-SUCH', 'NOR-THIS'] }))).toBe('TLS_PROFILE_NO_CIPHER');
  expect(codeOf(() => resolve('Custom', { ciphers: ['NO-SUCH', 'TLS_AES_128_GCM_SHA256'] }))).toBe(
    'TLS_PROFILE_NO_CIPHER',
  );
  expect(codeOf(() => resolve('Custom', { ciphers: [good], minTLSVersion: 'VersionTLS13' }))).toBe(
    'TLS_PROFILE_NO_CIPHER',
  );
  expect(codeOf(() => resolve('Custom', { ciphers: [good], groups: ['X25519MLKEM768'] }))).toBe(
    'TLS_PROFILE_NO_GROUP',
  );
});

it('the profiles take no OpenSSL keyword or expression for a cipher', () => {
  for (const trick of ['ALL', 'HIGH', '@SECLEVEL=0', 'AES128-SHA:NULL', '!aNULL', '', 'x'.repeat(100)]) {
    expect(codeOf(() => resolve('Custom', { ciphers: [trick] }))).toMatch(/TLS_PROFILE_(INVALID|NO_CIPHER)/);
  }
  expect(codeOf(() => resolve('Custom', { ciphers: Array.from({ length: 500 }, (_, i) => `C${i}`) }))).toBe(
    'TLS_PROFILE_INVALID',
  );
});

it('the profiles raise the minimum when only TLS 1.3 ciphers are listed, and say so', () => {
  const raised = resolve('Custom', { ciphers: ['TLS_AES_128_GCM_SHA256'], groups: ['secp256r1'] });
  expect(raised.profile.minTLSVersion).toBe('VersionTLS13');
  expect(JSON.parse(raised.json).minTLSVersion).toBe('VersionTLS13');
  expect(raised.warnings.map(({ code }) => code)).toEqual(['TLS_PROFILE_MINIMUM_RAISED']);
  expect(resolve('Custom', { minTLSVersion: 'VersionTLS13' }).profile.ciphers).toHaveLength(3);
});

it('the profile file has one hash for one content, whatever the local OpenSSL has', () => {
  const small = { ciphers: ['tls_aes_128_gcm_sha256', 'ecdhe-rsa-aes128-gcm-sha256'], groups: ['P-256'] };
  for (const type of ['Old', 'Intermediate']) {
    const here = resolveTlsProfile({ type }, support);
    expect(resolveTlsProfile({ type }, small).hash).toBe(here.hash);
    expect(here.hash).toMatch(/^[0-9a-f]{64}$/);
  }
  expect(resolve('Old').hash).not.toBe(resolve('Modern').hash);
});

it('the profile file is read back as what was written, type included', () => {
  for (const type of ['Old', 'Intermediate', 'Modern']) {
    expect(parseTlsProfileJson(resolve(type).json, support)).toEqual(resolve(type));
  }
  const custom = resolve('Custom', {
    ciphers: ['AES128-SHA', 'NO-SUCH'],
    minTLSVersion: 'VersionTLS11',
    groups: ['P-256'],
  });
  expect(parseTlsProfileJson(custom.json, support)).toEqual(custom);
});

it('the profile file may come without groups and with an empty minimum, as upstream writes it', () => {
  const { profile } = parseTlsProfileJson(
    '{"ciphers":["ECDHE-RSA-AES128-GCM-SHA256"],"minTLSVersion":""}',
    support,
  );
  expect(profile).toMatchObject({
    type: 'Custom',
    minTLSVersion: 'VersionTLS12',
    groups: ['X25519', 'secp256r1', 'secp384r1'],
  });
});

it('the profile file gets a coded error for anything else', () => {
  for (const text of [
    '',
    'null',
    '[]',
    '{',
    '{}',
    '{"ciphers":"x"}',
    '{"ciphers":[1]}',
    '{"ciphers":["AES128-SHA"],"minTLSVersion":12}',
    '{"ciphers":["AES128-SHA"],"groups":"X25519"}',
    '{"ciphers":["AES128-SHA"],"cipher":[]}',
    `{"ciphers":["${'A'.repeat(70_000)}"]}`,
  ]) {
    expect([text, codeOf(() => parseTlsProfileJson(text, support))]).toEqual([text, 'TLS_PROFILE_INVALID']);
  }
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(codeOf(() => parseTlsProfileJson(text, support))).toMatch(/^(no error|TLS_PROFILE_[A-Z_]+)$/);
    }),
  );
});

describe('in Node', () => {
  it('in Node, every profile makes a context', () => {
    for (const type of ['Old', 'Intermediate', 'Modern']) {
      expect(() => createSecureContext(nodeTlsOptions(resolve(type).profile))).not.toThrow();
    }
  });

  it('in Node, Intermediate speaks TLS 1.2 and 1.3 and nothing older', async () => {
    expect(await negotiate(resolve('Intermediate'), 'TLSv1.1')).toBe('refused');
    expect(await negotiate(resolve('Intermediate'), 'TLSv1.2')).toBe('TLSv1.2');
    expect(await negotiate(resolve('Intermediate'), 'TLSv1.3')).toBe('TLSv1.3');
  });

  it('in Node, Modern refuses TLS 1.2, Old still speaks TLS 1.0', async () => {
    expect(await negotiate(resolve('Modern'), 'TLSv1.2')).toBe('refused');
    expect(await negotiate(resolve('Modern'), 'TLSv1.3')).toBe('TLSv1.3');
    expect(await negotiate(resolve('Old'), 'TLSv1')).toBe('TLSv1');
    expect(await negotiate(resolve('Old'), 'TLSv1.3')).toBe('TLSv1.3');
  });

  it('S1.9 a list of TLS 1.3 ciphers at minimum 1.2 refuses TLS 1.2, a list without any refuses TLS 1.3', async () => {
    const only13 = resolve('Custom', { ciphers: ['TLS_AES_128_GCM_SHA256'], minTLSVersion: 'VersionTLS12' });
    expect(await negotiate(only13, 'TLSv1.2')).toBe('refused');
    expect(await negotiate(only13, 'TLSv1.3')).toBe('TLSv1.3');
    const only12 = resolve('Custom', { ciphers: ['ECDHE-ECDSA-AES128-GCM-SHA256'] });
    expect(nodeTlsOptions(only12.profile).maxVersion).toBe('TLSv1.2');
    expect(await negotiate(only12, 'TLSv1.2')).toBe('TLSv1.2');
    expect(await negotiate(only12, 'TLSv1.3')).toBe('refused');
  });

  it('in Node, groups are taken by any of their names', async () => {
    for (const name of ['secp256r1', 'P-256', 'prime256v1', 'X25519', 'secp384r1']) {
      const one = resolve('Custom', { ciphers: ['TLS_AES_128_GCM_SHA256'], groups: [name] });
      expect(await negotiate(one, 'TLSv1.3')).toBe('TLSv1.3');
    }
  });
});

it('in Go, ciphers have the names of crypto/tls, and those it lacks are left out', () => {
  expect(goCipherNames(resolve('Intermediate').profile)).toEqual([
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
    'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
    'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
    'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
    'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
    'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
  ]);
  const old = goCipherNames(
    resolveTlsProfile({ type: 'Old' }, { ...support, ciphers: [...support.ciphers, 'DES-CBC3-SHA'] }).profile,
  );
  expect(old).toHaveLength(21);
  expect(old.at(-1)).toBe('TLS_RSA_WITH_3DES_EDE_CBC_SHA');
});
