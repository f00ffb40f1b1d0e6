import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { resolveTlsProfile } from '@handover/material';
import { systemClock } from '@handover/runtime/clock';
import { freePort, temporaryFolder } from '@handover/test-api-server';
import { afterEach, expect, test } from 'vitest';
import { checkTls } from '../../src/tls-check/check.ts';
import { OFFERABLE } from '../../src/tls-check/names.ts';
import { leafFor } from '../tls-servers.ts';

const directory = temporaryFolder();
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

/** `openssl s_server` has many more suites than the OpenSSL in Node. */
const sServer = async (algorithm: 'ECDSA-P256' | 'RSA-2048', ...flags: readonly string[]) => {
  const { cert, key } = await leafFor(algorithm);
  const file = join(directory, `${algorithm}.pem`);
  writeFileSync(file, cert + key, { mode: 0o600 });
  const port = await freePort();
  const args = ['s_server', '-accept', `127.0.0.1:${port}`, '-cert', file, '-key', file, '-quiet', ...flags];
  const child = spawn('openssl', args, { stdio: ['pipe', 'ignore', 'ignore'] });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  ends.push(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  await expect.poll(() => isOpen(port), { timeout: 30_000 }).toBe(true);
  return { host: '127.0.0.1', port };
};

const check = (target: { host: string; port: number }, type: string) =>
  checkTls(
    target,
    { profile: resolveTlsProfile({ type }, OFFERABLE).profile, otherGroups: 'remark' },
    { clock: systemClock, timeoutMs: 60_000 },
  );

const ALL = 'ALL:COMPLEMENTOFALL:@SECLEVEL=0';

/** The suites that openssl has for this key, by `openssl ciphers -v`. */
const had = (version: string, key: 'RSA' | 'ECDSA'): readonly string[] =>
  execFileSync('openssl', ['ciphers', '-v', '-s', `-${version}`, ALL], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.split(/\s+/))
    .filter(([name = '', , , au = '']) => name.startsWith('TLS_') || au === `Au=${key}` || au === 'Au=None')
    .flatMap(([name = '']) => name)
    .sort();

test.each([
  ['RSA-2048', 'RSA'],
  ['ECDSA-P256', 'ECDSA'],
] as const)('every suite that openssl has for an %s key is found, and no other', async (algorithm, key) => {
  const target = await sServer(algorithm, '-cipher', ALL, '-ciphersuites', had('tls1_3', key).join(':'));
  const seen = await check(target, 'Old');
  const found = seen.versions.map(({ suites }) => suites.map(({ name }) => name).sort());
  expect(found).toEqual(['tls1', 'tls1_1', 'tls1_2', 'tls1_3'].map((version) => had(version, key)));
  expect(seen.mismatches.map(({ code }) => code)).toEqual(
    Array.from({ length: seen.mismatches.length }, () => 'SUITE_ACCEPTED'),
  );
});

test.each([
  ['-no_tls1_3', ['refused', 'refused', 'accepted', 'refused'], ['VERSION_REFUSED']],
  ['-tls1_3', ['refused', 'refused', 'refused', 'accepted'], ['VERSION_REFUSED']],
])('openssl with %s', async (flag, outcomes, mismatches) => {
  const suites = resolveTlsProfile({ type: 'Intermediate' }, OFFERABLE).profile.ciphers.slice(3).join(':');
  const seen = await check(await sServer('RSA-2048', flag, '-cipher', suites), 'Intermediate');
  expect(seen.versions.map(({ outcome }) => outcome)).toEqual(outcomes);
  expect(seen.mismatches.map(({ code }) => code)).toEqual(mismatches);
});

test('an openssl server that requires a client certificate is checked all the same', async () => {
  const seen = await check(
    await sServer('RSA-2048', '-Verify', '1', '-verify_return_error', '-tls1_3'),
    'Modern',
  );
  expect(seen.verdict).toBe('match');
});
