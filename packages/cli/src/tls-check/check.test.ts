import { connect, type Socket } from 'node:net';
import { createSecureContext, TLSSocket, type TlsOptions } from 'node:tls';
import { localTlsSupport } from '@handover/engine';
import { nodeTlsOptions, resolveTlsProfile } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { afterEach, describe, expect, test } from 'vitest';
import { turning } from '../../test/capture.ts';
import { leafFor, Servers } from '../../test/tls-servers.ts';
import { checkTls, type TlsCheck } from './check.ts';
import type { TlsYardstick } from './judge.ts';
import { OFFERABLE } from './names.ts';
import type { TlsTarget } from './offer.ts';

const ecdsa = await leafFor('ECDSA-P256');
const rsa = await leafFor('RSA-2048');
const servers = new Servers();
afterEach(() => servers.end());

interface Custom {
  readonly ciphers?: readonly string[];
  readonly minTLSVersion?: string;
  readonly groups?: readonly string[];
}
const measure = (
  type: string,
  custom?: Custom,
  otherGroups: TlsYardstick['otherGroups'] = 'remark',
): TlsYardstick => ({
  profile: resolveTlsProfile({ type, custom }, OFFERABLE).profile,
  otherGroups,
});
/** A Node server with this profile: what the runtime makes of it. */
const serving = (type: string, custom?: Custom): TlsOptions =>
  nodeTlsOptions(resolveTlsProfile({ type, custom }, localTlsSupport()).profile);
const check = (target: TlsTarget, against: TlsYardstick, timeoutMs = 20_000): Promise<TlsCheck> => {
  const clock = new TestClock();
  return turning(clock, checkTls(target, against, { clock, timeoutMs }));
};
const outcomes = ({ versions }: TlsCheck): readonly string[] => versions.map(({ outcome }) => outcome);
const codes = (findings: readonly { readonly code: string }[]): readonly string[] =>
  findings.map(({ code }) => code);

test.each([
  ['Old', rsa],
  ['Old', ecdsa],
  ['Intermediate', rsa],
  ['Intermediate', ecdsa],
  ['Modern', rsa],
  ['Modern', ecdsa],
] as const)('a server with the profile %s matches it (case %#)', async (type, leaf) => {
  const target = await servers.tls({ ...leaf, ...serving(type) });
  const seen = await check(target, measure(type));
  expect([seen.verdict, seen.mismatches, seen.unknowns]).toEqual(['match', [], []]);
  expect(seen.negotiated).toEqual({
    kind: 'done',
    version: 'TLS 1.3',
    suite: 'TLS_AES_128_GCM_SHA256',
    group: 'X25519',
  });
  const last = seen.versions.at(-1);
  expect(last?.suites.map(({ name }) => name).sort()).toEqual([
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
  ]);
  expect(last?.groups.map(({ name }) => name)).toEqual(['X25519', 'secp256r1', 'secp384r1']);
});

test('a server with Intermediate does not match Modern: it accepts TLS 1.2', async () => {
  const target = await servers.tls({ ...ecdsa, ...serving('Intermediate') });
  const seen = await check(target, measure('Modern'));
  expect(seen.verdict).toBe('mismatch');
  expect(seen.mismatches).toEqual([
    { code: 'VERSION_ACCEPTED', message: 'accepts TLS 1.2; the profile starts at TLS 1.3' },
  ]);
  expect(outcomes(seen)).toEqual(['refused', 'refused', 'accepted', 'accepted']);
});

test('a server with Modern does not match Intermediate: it refuses TLS 1.2', async () => {
  const target = await servers.tls({ ...ecdsa, ...serving('Modern') });
  const seen = await check(target, measure('Intermediate'));
  expect(seen.mismatches).toEqual([
    {
      code: 'VERSION_REFUSED',
      message: 'refuses TLS 1.2 (protocol_version), which the profile asks for',
    },
  ]);
});

test('a server with Old does not match Intermediate: it accepts old versions and old suites', async () => {
  const target = await servers.tls({ ...rsa, ...serving('Old') });
  const seen = await check(target, measure('Intermediate'));
  expect(codes(seen.mismatches)).toEqual(['VERSION_ACCEPTED', 'VERSION_ACCEPTED', 'SUITE_ACCEPTED']);
  expect(seen.mismatches[2]?.message).toBe(
    'accepts suites over TLS 1.2 that the profile does not list: ECDHE-RSA-AES128-SHA256, ECDHE-RSA-AES128-SHA, ' +
      'ECDHE-RSA-AES256-SHA384, ECDHE-RSA-AES256-SHA, AES128-GCM-SHA256, AES256-GCM-SHA384, AES128-SHA256, ' +
      'AES256-SHA256, AES128-SHA, AES256-SHA',
  );
  expect(seen.versions[0]?.suites.map(({ name }) => name).sort()).toEqual([
    'AES128-SHA',
    'AES256-SHA',
    'ECDHE-RSA-AES128-SHA',
    'ECDHE-RSA-AES256-SHA',
  ]);
});

test('a server matches without the suites of a key that it does not have, and without suites it leaves out', async () => {
  const target = await servers.tls({
    ...ecdsa,
    ...serving('Intermediate'),
    ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  });
  const seen = await check(target, measure('Intermediate'));
  expect(seen.verdict).toBe('match');
  expect(seen.remarks).toEqual([
    {
      code: 'SUITES_OF_ANOTHER_KEY',
      message:
        'its key cannot serve ECDHE-RSA-AES128-GCM-SHA256, ECDHE-RSA-AES256-GCM-SHA384, ECDHE-RSA-CHACHA20-POLY1305',
    },
    {
      code: 'SUITES_NOT_TAKEN',
      message: 'does not accept ECDHE-ECDSA-AES256-GCM-SHA384, ECDHE-ECDSA-CHACHA20-POLY1305',
    },
    { code: 'GROUPS_NOT_TAKEN', message: 'does not accept the groups X25519MLKEM768' },
  ]);
});

test('a server without one suite of the profile is a mismatch, even if its version is right', async () => {
  const target = await servers.tls({ ...rsa, maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA256' });
  const seen = await check(
    target,
    measure('Custom', { ciphers: ['ECDHE-RSA-AES128-GCM-SHA256'] }, 'unjudged'),
  );
  expect(codes(seen.mismatches)).toEqual(['SUITE_ACCEPTED', 'NO_COMMON_SUITE']);
  expect(seen.negotiated).toMatchObject({ kind: 'failed' });
});

test('a server with TLS 1.3 is a mismatch if the profile has no suite for it', async () => {
  const only12 = { ciphers: ['ECDHE-RSA-AES128-GCM-SHA256'] };
  const target = await servers.tls({ ...rsa, ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' });
  const seen = await check(target, measure('Custom', only12, 'unjudged'));
  expect(codes(seen.mismatches)).toEqual(['SUITE_ACCEPTED']);
  expect(seen.mismatches[0]?.message).toContain('over TLS 1.3');
  const right = await servers.tls({ ...rsa, ...serving('Custom', only12) });
  expect((await check(right, measure('Custom', only12, 'unjudged'))).verdict).toBe('match');
});

test('a server that answers with a lower version than was offered has refused the version', async () => {
  const old = serving('Old');
  const target = await servers.tls({ ...rsa, ...old, maxVersion: 'TLSv1' });
  const { versions } = await check(target, measure('Old'));
  expect(versions.map(({ outcome, why }) => why ?? outcome)).toEqual([
    'accepted',
    'chose TLS 1.0',
    'chose TLS 1.0',
    'protocol_version',
  ]);
});

test('a server that answers with a suite that was not offered has refused the version', async () => {
  const hello = Buffer.concat([
    Buffer.from([0x03, 0x03]),
    Buffer.alloc(32, 1),
    Buffer.from([0, 0x13, 0x99, 0, 0, 6, 0, 43, 0, 2, 3, 4]),
  ]);
  const record = Buffer.from([22, 3, 3, 0, hello.length + 4, 2, 0, 0, hello.length]);
  const target = await servers.tcp((socket) => {
    socket.once('data', () => socket.end(Buffer.concat([record, hello])));
  });
  const { versions } = await check(target, measure('Modern'));
  expect(versions[3]).toMatchObject({ outcome: 'refused', why: 'chose a suite that was not offered' });
});

describe('Groups', () => {
  const modern = { ...ecdsa, minVersion: 'TLSv1.3' } as const;

  test('a group outside a named profile is a remark, outside a list of one’s own a mismatch, and without a list nothing', async () => {
    const target = await servers.tls({ ...modern, ecdhCurve: 'X25519:P-521' });
    const named = await check(target, measure('Modern'));
    expect([named.verdict, codes(named.remarks)]).toEqual(['match', ['GROUP_ACCEPTED', 'GROUPS_NOT_TAKEN']]);
    const listed = { minTLSVersion: 'VersionTLS13', groups: ['X25519'] };
    const own = await check(target, measure('Custom', listed, 'mismatch'));
    expect(own.mismatches).toEqual([
      {
        code: 'GROUP_ACCEPTED',
        message: 'accepts groups over TLS 1.3 that the profile does not list: secp521r1',
      },
    ]);
    const none = await check(target, measure('Custom', listed, 'unjudged'));
    expect([none.verdict, none.remarks]).toEqual(['match', []]);
  });

  test('a server without a group of the profile is a mismatch', async () => {
    const target = await servers.tls({ ...modern, ecdhCurve: 'P-521' });
    expect(codes((await check(target, measure('Modern'))).mismatches)).toEqual(['NO_COMMON_GROUP']);
  });

  test.each([
    ['the client’s order', false, 'P-256:X25519:P-521', ['X25519', 'secp256r1', 'secp521r1']],
    ['its own', true, 'P-521:X25519:P-256', ['secp521r1', 'X25519', 'secp256r1']],
    ['its own, by which the rest can never be had', true, 'P-256:X25519:P-521', ['secp256r1']],
  ])(
    'the groups of TLS 1.2 are found although an ECDSA key wants its own curve in every list: a server that goes by %s',
    async (_, honorCipherOrder, ecdhCurve, found) => {
      const ciphers = 'ECDHE-ECDSA-AES128-GCM-SHA256';
      const options = { maxVersion: 'TLSv1.2', honorCipherOrder, ecdhCurve, ciphers } as const;
      const target = await servers.tls({ ...ecdsa, ...options });
      const seen = await check(target, measure('Intermediate'));
      expect(seen.versions[2]?.groups.map(({ name }) => name)).toEqual(found);
    },
  );
});

describe('A server that insists on client certificates', () => {
  const mtls = { requestCert: true, rejectUnauthorized: true, ca: ecdsa.cert };

  test('a server that requires client certificates is judged like any other: TLS 1.3 refuses only after the handshake', async () => {
    const target = await servers.tls({ ...ecdsa, ...mtls, ...serving('Modern') });
    const seen = await check(target, measure('Modern'));
    expect([seen.verdict, seen.negotiated?.kind]).toEqual(['match', 'done']);
  });

  test('a server that requires client certificates over TLS 1.2 is judged too, although its handshake does not finish', async () => {
    const only12 = { ciphers: ['ECDHE-ECDSA-AES128-GCM-SHA256'] };
    const target = await servers.tls({ ...ecdsa, ...mtls, ...serving('Custom', only12) });
    const seen = await check(target, measure('Custom', only12, 'unjudged'));
    expect([seen.verdict, codes(seen.remarks)]).toEqual([
      'match',
      ['CLIENT_CERTIFICATE', 'HANDSHAKE_NOT_FINISHED'],
    ]);
  });
});

describe('a server that cannot be checked', () => {
  const nothing = async (target: TlsTarget, timeoutMs?: number): Promise<readonly unknown[]> => {
    const { verdict, unknowns, mismatches, negotiated } = await check(target, measure('Modern'), timeoutMs);
    return [verdict, unknowns[0]?.code, unknowns[0]?.message, mismatches.length, negotiated];
  };

  test('a port without a listener is unchecked, with the reason', async () => {
    expect(await nothing({ host: '127.0.0.1', port: 1 })).toEqual([
      'unchecked',
      'UNREACHABLE',
      'could not connect (ECONNREFUSED)',
      0,
      undefined,
    ]);
  });

  test('a server that never answers is unchecked, with the reason', async () => {
    const target = await servers.tcp(() => {});
    expect(await nothing(target, 200)).toEqual([
      'unchecked',
      'SILENT',
      'connected, then no answer within 0.2 s',
      0,
      undefined,
    ]);
  });

  test('a server that speaks another protocol, closes, or sends nonsense is unchecked, with the reason', async () => {
    const http = await servers.tcp((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    expect((await nothing(http)).slice(0, 3)).toEqual(['unchecked', 'NOT_TLS', 'the answer is not TLS']);
    const closes = await servers.tcp((socket) => void socket.end());
    expect((await nothing(closes)).slice(0, 2)).toEqual(['unchecked', 'CLOSED']);
    // the reset may be here before the connection is
    const resets = await servers.tcp((socket) => void socket.resetAndDestroy());
    expect((await nothing(resets))[0]).toBe('unchecked');
    const floods = await servers.tcp((socket) => {
      const record = Buffer.concat([
        Buffer.from([22, 3, 3, 64, 0, 2, 0xff, 0xff, 0xff]),
        Buffer.alloc(16_380),
      ]);
      for (let n = 0; n < 40; n++) socket.write(record);
    });
    expect((await nothing(floods)).slice(0, 2)).toEqual(['unchecked', 'NOT_TLS']);
  });

  /** In front of a server: `swallow` decides by the first bytes of a connection. */
  const before = (to: TlsTarget, swallow: (hello: Buffer) => boolean): Promise<TlsTarget> =>
    servers.tcp((client: Socket) => {
      client.once('data', (hello) => {
        if (swallow(hello)) return;
        const onward = connect(to.port, to.host);
        onward.on('error', () => client.destroy());
        client.on('close', () => onward.destroy());
        onward.write(hello);
        onward.pipe(client).pipe(onward);
      });
    });

  test('a server that does not answer for one version is neither a match nor a mismatch', async () => {
    const server = await servers.tls({ ...ecdsa, ...serving('Modern') });
    const target = await before(server, (hello) => hello.readUInt16BE(9) === 0x0302);
    const seen = await check(target, measure('Modern'), 3_000);
    expect([seen.verdict, seen.mismatches]).toEqual(['inconclusive', []]);
    expect(seen.unknowns).toEqual([{ code: 'VERSION_UNKNOWN', message: 'TLS 1.1: no answer within 3 s' }]);
    expect(outcomes(seen)).toEqual(['refused', 'timeout', 'refused', 'accepted']);
  });

  test('a server that stops answering in the middle of the suites is neither a match nor a mismatch', async () => {
    const server = await servers.tls({ ...ecdsa, ...serving('Modern') });
    let seen13 = 0;
    const is13 = (hello: Buffer): boolean => hello.includes(Buffer.from([0, 43, 0, 3, 2, 3, 4]));
    const target = await before(server, (hello) => is13(hello) && ++seen13 === 3);
    const seen = await check(target, measure('Modern'), 3_000);
    expect([seen.verdict, codes(seen.unknowns)]).toEqual(['inconclusive', ['LIST_UNFINISHED']]);
  });
});

test('the server name in a check is the host, or the name that is given, and none for an address', async () => {
  const asked = new Set<string>();
  const context = createSecureContext(ecdsa);
  const { port } = await servers.tls({
    ...ecdsa,
    ...serving('Modern'),
    SNICallback: (name, done) => {
      asked.add(name);
      done(null, context);
    },
  });
  await check({ host: '127.0.0.1', port }, measure('Modern'));
  expect([...asked]).toEqual([]);
  await check({ host: 'localhost', port }, measure('Modern'));
  expect([...asked]).toEqual(['localhost']);
  await check({ host: '127.0.0.1', port, servername: 'web.mesh.svc' }, measure('Modern'));
  expect([...asked]).toEqual(['localhost', 'web.mesh.svc']);
});

test('a server name that the server does not know is a refusal with advice, and a warning about it is ignored', async () => {
  const fatal = await servers.tcp((socket) => void socket.end(Buffer.from([21, 3, 3, 0, 2, 2, 112])));
  const refused = await check(fatal, measure('Modern'));
  expect([codes(refused.mismatches), codes(refused.remarks)]).toEqual([
    ['VERSION_REFUSED'],
    ['NAME_UNKNOWN'],
  ]);
  const server = await servers.tls({ ...ecdsa, ...serving('Modern') });
  const warns = await servers.tcp((client) => {
    const onward = connect(server.port, server.host);
    onward.on('error', () => client.destroy());
    client.write(Buffer.from([21, 3, 3, 0, 2, 1, 112]));
    onward.pipe(client).pipe(onward);
  });
  const seen = await check(warns, measure('Modern'));
  expect(outcomes(seen)).toEqual(['refused', 'refused', 'refused', 'accepted']);
});

describe('PostgreSQL', () => {
  const postgres = (answer: string): Promise<TlsTarget> =>
    servers.tcp((socket) => {
      socket.once('data', (request) => {
        if (request.toString('hex') !== '0000000804d2162f') return socket.destroy();
        socket.write(answer);
        if (answer !== 'S') return;
        const secure = new TLSSocket(socket, {
          isServer: true,
          secureContext: createSecureContext({ ...ecdsa, ...serving('Modern') }),
        });
        secure.on('error', () => {});
      });
    });

  test('a PostgreSQL server is asked for TLS in its own protocol first', async () => {
    const target = { ...(await postgres('S')), starttls: 'postgres' } as const;
    const seen = await check(target, measure('Modern'));
    expect([seen.verdict, seen.negotiated?.kind]).toEqual(['match', 'done']);
  });

  test('a PostgreSQL server without TLS is unchecked, with the reason', async () => {
    const target = { ...(await postgres('N')), starttls: 'postgres' } as const;
    expect(await check(target, measure('Modern'))).toMatchObject({
      verdict: 'unchecked',
      unknowns: [{ code: 'NOT_TLS', message: 'the server has TLS off' }],
    });
  });
});
