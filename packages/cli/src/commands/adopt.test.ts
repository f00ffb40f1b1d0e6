import { createCipheriv, createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { day, instant } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeEach, describe, expect, test } from 'vitest';
import { ERROR_LINE, handover, NOW } from '../../test/capture.ts';
import { type Ca, caOf, crossOf, keyPem, leafOf, pems } from '../../test/material.ts';

const root = temporaryFolder({ inMemory: true });
let count = 0;
let dir: string;
let ca: Ca;
const file = (name: string, text: string): string => {
  const path = join(root, `${count}-${name}`);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
};
beforeEach(async () => {
  dir = join(root, `home-${++count}`);
  await handover(['init', dir]);
  ca = await caOf(1);
});
const adopt = (certificate: string, key?: string, ...more: readonly string[]) =>
  handover([
    'adopt',
    'default/internal',
    '--certificate',
    file('ca.crt', certificate),
    ...(key === undefined ? [] : ['--key', file('ca.key', key)]),
    '--home',
    `dir:${dir}`,
    ...more,
  ]);
const at = (seconds: number, ...args: readonly string[]) =>
  handover([...args, '--home', `dir:${dir}`], { now: instant(NOW + seconds * 1000) });
const status = async (seconds = 0) =>
  JSON.parse((await at(seconds, 'status', '--json')).stdout).authorities[0];
const bundle = (): string => readFileSync(join(dir, 'out/default/configmaps/internal-trust/ca.crt'), 'utf8');

test('adopt without --yes says what would change, and changes nothing', async () => {
  const ran = await adopt(pems(ca.certificate), keyPem(ca));
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toContain(`default/internal would sign with ${ca.certificate.subject} (SHA-256 `);
  expect(ran.stdout).toContain('nothing was changed; add --yes');
  expect(readdirSync(dir)).toEqual(['handover.yaml']);
});

test('an adopted CA with its key signs leaves, and the cross-certificate of its successor', async () => {
  const ran = await adopt(pems(ca.certificate), keyPem(ca), '--yes');
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toMatch(/its key is in .*\/state now; remove .*ca\.key/);
  expect(ran.stdout).not.toContain('PRIVATE');
  const state = join(dir, 'state/authorities/default/internal.json');
  expect(statSync(state).mode & 0o777).toBe(0o600);
  expect(existsSync(join(root, `${count}-ca.key`))).toBe(true);
  expect((await handover(['run', dir, '--once'])).code).toBe(0);
  expect(bundle()).toBe(ca.certificate.pem);
  expect(await status()).toMatchObject({
    phase: 'Stable',
    ready: true,
    generations: [{ generation: 1, role: 'current', fingerprint: ca.certificate.fingerprint }],
    leaves: [{ generation: 1 }],
  });
  for (const seconds of [0, 200, 400, 600])
    expect((await at(seconds, 'rotate', 'default/internal', '--id', 'away')).code).toBe(0);
  // It may have signed certificates that nothing here shows.
  expect(await status(600)).toMatchObject({
    phase: 'Stable',
    generations: [{ generation: 2 }, { generation: 1, role: 'retained' }],
  });
  expect(bundle()).toContain(ca.certificate.pem);
  expect(readFileSync(state, 'utf8').match(/PRIVATE KEY-----/g)).toHaveLength(2);
});

test('rotate --wait, status and distrust name an adopted CA that stays trusted for certificates that it signed before', async () => {
  await adopt(pems(ca.certificate), keyPem(ca), '--yes');
  await handover(['run', dir, '--once']);
  const until = new Date(Math.ceil(ca.certificate.notAfter / 1000) * 1000).toISOString();
  const day = until.slice(0, 10);
  const kept = `stays trusted, its key destroyed, for leaves whose users cannot be seen, until ${day} at most`;
  for (const seconds of [0, 200, 400]) await at(seconds, 'rotate', 'default/internal', '--id', 'away');
  expect(await at(600, 'rotate', 'default/internal', '--id', 'away', '--wait')).toMatchObject({
    code: 0,
    stdout: `rotation away of default/internal is complete\nCA generation 1 ${kept}\n`,
  });
  expect((await at(600, 'status')).stdout).toContain(`\n  CA generation 1: ${kept}\n`);
  const [, retained] = (await status(600)).generations;
  expect(retained).toMatchObject({ role: 'retained', trustedFor: ['leaves whose users cannot be seen'] });
  expect(retained.trustedUntil.slice(0, 10)).toBe(day);
  const dry = await at(600, 'distrust', 'default/internal', '--generation', '1');
  expect(dry.stdout).toBe(
    'fails until it shows a newer certificate: any program with a leaf of CA generation 1 that cannot be seen\nnothing was changed; add --yes to distrust CA generation 1\n',
  );
  expect(
    JSON.parse((await at(600, 'distrust', 'default/internal', '--generation', '1', '--json')).stdout),
  ).toMatchObject({
    wouldFailElsewhere: ['any program with a leaf of CA generation 1 that cannot be seen'],
  });
});

test('an adopted CA leaves the bundles with its key once the last certificate that it signed before has ended', async () => {
  const ran = await adopt(pems(ca.certificate), keyPem(ca), '--yes', '--last-leaf-ends', '2020-02-29');
  expect(ran.stdout).toContain('for certificates that it signed before, until 2020-02-29');
  await handover(['run', dir, '--once']);
  for (const seconds of [0, 200, 400, 600])
    expect((await at(seconds, 'rotate', 'default/internal', '--id', 'away')).code).toBe(0);
  expect((await status(600)).generations).toHaveLength(1);
  expect(bundle()).not.toContain(ca.certificate.pem);
});

test('adopt refuses a day that is not in the calendar', async () => {
  expect(await adopt(pems(ca.certificate), keyPem(ca), '--last-leaf-ends', '2030-02-30')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^USAGE: --last-leaf-ends: "2030-02-30" is not a day; write it like 2030-12-31/,
    ),
  });
});

test('every leaf verifies against every bundle at each step of the rotation away from an adopted CA', async () => {
  await adopt(pems(ca.certificate), keyPem(ca), '--yes');
  await handover(['run', dir, '--once']);
  for (const seconds of [0, 100, 200, 300, 400, 500, 600]) {
    await at(seconds, 'rotate', 'default/internal', '--id', 'away');
    expect(await at(seconds, 'verify')).toMatchObject({ code: 0 });
  }
});

test('an adopted CA without its key stays trusted, and a new CA is introduced, trust first', async () => {
  const ran = await adopt(pems(ca.certificate), undefined, '--yes');
  expect(ran.stdout).toMatch(/trusts .* without its key: a new CA replaces it, trust first/);
  expect((await handover(['run', dir, '--once'])).code).toBe(0);
  expect(await status()).toMatchObject({
    phase: 'Introducing',
    generations: [
      { generation: 1, role: 'next' },
      { generation: 0, role: 'current', fingerprint: ca.certificate.fingerprint },
    ],
  });
  expect(bundle()).toContain(ca.certificate.pem);
});

test('adopting the same CA again changes nothing, and another CA is refused', async () => {
  await adopt(pems(ca.certificate), keyPem(ca), '--yes');
  const state = readFileSync(join(dir, 'state/authorities/default/internal.json'), 'utf8');
  expect(await adopt(pems(ca.certificate), keyPem(ca), '--yes')).toMatchObject({ code: 0 });
  const other = await caOf(2);
  const refused = await adopt(pems(other.certificate), keyPem(other), '--yes');
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^ADOPT_NOT_FIRST: .*has CA generation 1/),
  });
  expect(readFileSync(join(dir, 'state/authorities/default/internal.json'), 'utf8')).toBe(state);
});

test('adopt is refused while objects hold another CA, until a person decides', async () => {
  await handover(['run', dir, '--once']);
  rmSync(join(dir, 'state/authorities'), { recursive: true });
  const ran = await adopt(pems(ca.certificate), keyPem(ca), '--yes');
  expect(ran).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^ADOPT_UNDECIDED: .*to be decided on/),
  });
  expect(existsSync(join(dir, 'state/authorities/default/internal.json'))).toBe(false);
});

/** As `openssl rsa -aes256 -traditional` writes it. */
const traditional = (pem: string): string => {
  const der = Buffer.from(pem.replace(/-----.*-----/g, ''), 'base64');
  const cipher = createCipheriv('aes-256-cbc', createHash('sha256').update('x').digest(), Buffer.alloc(16));
  const body = Buffer.concat([cipher.update(der), cipher.final()]).toString('base64');
  const head = `Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,${'0'.repeat(32)}\n\n`;
  return `-----BEGIN EC PRIVATE KEY-----\n${head}${body}\n-----END EC PRIVATE KEY-----\n`;
};

describe('adopt is refused', () => {
  const encrypted = (cipher: boolean): string =>
    cipher
      ? ca.key.privateKey
          .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
          .toString()
      : traditional(keyPem(ca));
  test.each<[string, () => Promise<readonly [string, string?]>, RegExp]>([
    [
      'a key of another CA',
      async () => [pems(ca.certificate), keyPem(await caOf(2))],
      /^ADOPT_KEY_MISMATCH: /,
    ],
    ['an encrypted key', async () => [pems(ca.certificate), encrypted(true)], /^KEY_ENCRYPTED: /],
    [
      'a key in OpenSSL’s older encryption',
      async () => [pems(ca.certificate), encrypted(false)],
      /^KEY_ENCRYPTED: /,
    ],
    ['a leaf', async () => [pems(await leafOf(ca))], /^ADOPT_NOT_CA: /],
    [
      'an expired CA',
      async () => [pems((await caOf(1, NOW - 9 * day, NOW - day)).certificate)],
      /^ADOPT_EXPIRED: /,
    ],
    [
      'a CA that another CA signed',
      async () => [pems(await crossOf(await caOf(2), ca))],
      /^ADOPT_NOT_ROOT: /,
    ],
    [
      'two certificates',
      async () => [pems(ca.certificate, (await caOf(2)).certificate)],
      /^ADOPT_AMBIGUOUS: /,
    ],
    ['junk', async () => ['junk'], /^PEM_NO_CERTIFICATE: /],
    ['a key in place of the certificate', async () => [keyPem(ca)], /^PEM_PRIVATE_KEY_IN_BUNDLE: /],
  ])('adopt refuses %s, and writes nothing', async (_what, given, says) => {
    const [certificate, key] = await given();
    const ran = await adopt(certificate, key, '--yes');
    expect(ran.code).toBe(1);
    expect(ran.stderr).toMatch(says);
    expect(ran.stderr).toMatch(ERROR_LINE);
    expect(ran.stderr).toMatch(new RegExp(`^\\S+: ${root}/\\S+: `)); // the file that is to be mended
    expect(readdirSync(dir)).toEqual(['handover.yaml']);
  });

  test('adopt is refused for a cluster, where spec.adopt does it', async () => {
    const ran = await handover(['adopt', 'default/internal', '--certificate', 'x', '--home', 'kube']);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('spec.adopt.secret') });
  });
});
