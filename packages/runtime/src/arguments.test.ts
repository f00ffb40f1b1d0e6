import { createServer } from 'node:http';
import { inspect } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { files, next, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { get, httpsServer, wordsOf } from '../test/world.ts';
import {
  type ErrorCode,
  HandoverError,
  openIdentity,
  openTlsProfile,
  openToken,
  openTrust,
  serveStatus,
} from './index.ts';

const ca = new MockCa('one');
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

const refusal = async (act: () => unknown): Promise<string> => {
  try {
    await act();
  } catch (error) {
    if (error instanceof HandoverError) return `${error.code satisfies ErrorCode}: ${error.message}`;
    return `not ours: ${error}`;
  }
  return 'accepted';
};
const given = (value: unknown): never => value as never;

test.each<[string, () => unknown, RegExp]>([
  ['openTrust()', () => openTrust(given(undefined)), /openTrust.* path .* got undefined/],
  ['openTrust(5)', () => openTrust(given(5)), /openTrust.* path .* got a number/],
  ["openTrust('')", () => openTrust(''), /openTrust.* path .* got an empty text/],
  ['openTrust([])', () => openTrust([]), /openTrust.* at least one/],
  ['openIdentity()', () => openIdentity(given(undefined)), /openIdentity.* files .* got undefined/],
  [
    'openIdentity without a key',
    () => openIdentity(given({ cert: '/x' })),
    /openIdentity.* files\.key .* got undefined/,
  ],
  [
    'openIdentity with a misspelt file',
    () => openIdentity(given({ cert: '/x', key: '/y', caa: '/z' })),
    /"caa".* ca\b/,
  ],
  ['openToken()', () => openToken(given(undefined)), /openToken.* path/],
  ['openTlsProfile()', () => openTlsProfile(given(undefined)), /openTlsProfile.* path/],
  [
    'a misspelt option',
    () => openTrust('/x', given({ pollms: 5 })),
    /openTrust has no option "pollms".*pollMs/,
  ],
  ['verify: 0', () => openTrust('/x', given({ verify: 0 })), /openTrust: verify .* got a number/],
  ['a wrong number', () => openTrust('/x', { drainMs: -1 }), /drainMs/],
  ['a signal that is not an AbortSignal', () => openTrust('/x', given({ signal: {} })), /signal/],
  ['serveStatus()', () => serveStatus(given(undefined)), /serveStatus.* options/],
  ['serveStatus without sources', () => serveStatus(given({ port: 0 })), /sources/],
  ['serveStatus with a text for a port', () => serveStatus(given({ port: '80', sources: [] })), /port/],
  [
    'a misspelt option of serveStatus',
    () => serveStatus(given({ port: 0, sources: [], podUID: 'x' })),
    /"podUID".*podUid/,
  ],
])('a wrong argument is a coded error that names it: %s', async (_, act, message) => {
  const refused = await refusal(act);
  expect(refused).toMatch(/^OPTION_INVALID: /);
  expect(refused).toMatch(message);
});

test('a wrong argument to a trust or an identity is a coded error that names it', async () => {
  const volume = scope.volume(files(ca.leaf(), ca));
  const [trust, identity] = [await scope.trust(volume), await scope.identity(volume)];
  expect(await refusal(() => trust.on(given('reload'), () => undefined))).toMatch(
    /no event "reload".*reloaded/,
  );
  expect(await refusal(() => trust.on('kept', given(undefined)))).toMatch(/listener/);
  expect(await refusal(() => identity.serve(given(createServer())))).toMatch(/tls, https or http2/);
  expect(await refusal(() => identity.serve(given(undefined)))).toMatch(/tls, https or http2/);
  expect(
    await refusal(() => identity.serve(given({ setSecureContext() {}, on() {} }), given({ cert: 'x' }))),
  ).toMatch(/"cert"/);
  expect(await refusal(() => trust.httpsAgent({ rejectUnauthorized: false } as object))).toMatch(
    /rejectUnauthorized.*verify: false/,
  );
  expect(await refusal(() => trust.httpsAgent({ ca: 'x' } as object))).toMatch(/"ca"/);
  expect(await refusal(() => trust.dispatcher({ connect: { rejectUnauthorized: false } as object }))).toMatch(
    /rejectUnauthorized.*verify: false/,
  );
});

test('a request cannot turn verification off, and an agent without verification may say so', async () => {
  const volume = scope.volume({ 'ca.crt': ca.pem });
  const target = scope.add(await httpsServer(ca));
  const trust = await scope.trust(volume);
  const options = { agent: trust.httpsAgent(), rejectUnauthorized: false };
  expect(await wordsOf(get(target.url, options))).toMatch(/OPTION_INVALID.*rejectUnauthorized/);
  const careless = await openTrust('/nowhere', { verify: false, signal: scope.signal });
  await get(target.url, { agent: careless.httpsAgent({ rejectUnauthorized: false } as object) });
});

describe('tlsOptions() handed to a driver that assigns to them', () => {
  const assign = (options: object, value: unknown) => () => {
    (options as { rejectUnauthorized: unknown }).rejectUnauthorized = value;
  };

  test('tlsOptions() accept an assignment of the value that they have, as mysql2 makes it', async () => {
    const options = (await scope.trust(scope.volume({ 'ca.crt': ca.pem }))).tlsOptions();
    expect(await refusal(assign(options, true))).toBe('accepted');
    expect(options.rejectUnauthorized).toBe(true);
  });

  test('tlsOptions() hold the same key until the files change, so that mysql2 keeps its context', async () => {
    const volume = scope.volume(files(ca.leaf(), ca));
    const identity = await scope.identity(volume);
    const options = identity.tlsOptions();
    const before = options.key;
    expect(options.key).toBe(before);
    const leaf = ca.leaf();
    volume.write(files(leaf, ca));
    await next(identity, 'reloaded');
    expect(String(options.key)).toBe(leaf.key);
    expect(options.key).toBe(options.key);
  });

  test('tlsOptions() refuse an assignment that turns verification off, or on', async () => {
    const volume = scope.volume({ 'ca.crt': ca.pem });
    const options = (await scope.trust(volume)).tlsOptions();
    expect(await refusal(assign(options, false))).toMatch(/^OPTION_INVALID: tlsOptions\(\).*verify: false/);
    const careless = await openTrust(volume.path('ca.crt'), { verify: false, signal: scope.signal });
    const without = careless.tlsOptions();
    expect(await refusal(assign(without, true))).toMatch(/^OPTION_INVALID: tlsOptions\(\).*stays false/);
    expect([options.rejectUnauthorized, without.rejectUnauthorized]).toEqual([true, false]);
  });
});

test('a copy of tlsOptions() holds certificate and key, and prints neither the key nor its bytes', async () => {
  const volume = scope.volume(files(ca.leaf(), ca));
  const identity = await scope.identity(volume);
  const target = scope.add(
    await httpsServer(ca, { requestCert: true, rejectUnauthorized: true, ca: ca.pem }),
  );
  const { secureContext: _, ...copy } = { ...identity.tlsOptions() };
  // As a driver that takes these three by name and makes its own context.
  await get(target.url, { agent: false, ...copy });
  const keyBytes = String(copy.key).split('\n')[1] ?? 'no key';
  for (const text of [
    inspect(copy, { depth: 9 }),
    JSON.stringify(copy),
    inspect(identity.tlsOptions(), { getters: true }),
  ]) {
    expect(text).not.toContain('PRIVATE');
    expect(text).not.toContain(keyBytes);
    expect(text).toContain('[private key]');
  }
});

test('a copy of tlsOptions() still follows the files through its context', async () => {
  const two = new MockCa('two');
  const volume = scope.volume(files(ca.leaf(), ca));
  const identity = await scope.identity(volume);
  const copy = { ...identity.tlsOptions() };
  const target = scope.add(
    await httpsServer(two, { requestCert: true, rejectUnauthorized: true, ca: two.pem }),
  );
  const reloaded = next(identity, 'reloaded');
  volume.write(files(two.leaf(), two));
  await reloaded;
  await get(target.url, { agent: false, ...copy });
});

test('the event of a token carries no hash of it', async () => {
  const volume = scope.volume({ token: 'first' });
  const token = await openToken(volume.path('token'), { signal: scope.signal });
  const event = new Promise((resolve) => token.on('reloaded', resolve));
  volume.write({ token: 'second' });
  expect(await event).toEqual({ loads: 2, at: expect.any(Number) });
});

test.each([null, 5, []])(
  'options of httpsAgent and dispatcher must be an object, not %j',
  async (options) => {
    const trust = await scope.trust(scope.volume({ 'ca.crt': ca.pem }));
    expect(await refusal(() => trust.httpsAgent(given(options)))).toMatch(
      /^OPTION_INVALID: httpsAgent: options must/,
    );
    expect(await refusal(() => trust.dispatcher(given(options)))).toMatch(
      /^OPTION_INVALID: dispatcher: options must/,
    );
  },
);
