import {
  appendFileSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { day, instant, parseCertificates } from '@handover/material';
import { beforeEach, describe, expect, test } from 'vitest';
import { handover, NOW } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

let dir: string;
const WEB = 'default/secrets/web';
const TRUST = 'default/configmaps/internal-trust/ca.crt';
const API = `---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: api}
spec: {authority: internal, dnsNames: [api.internal]}
`;

const begin = async (): Promise<void> => {
  dir = newHome();
  await handover(['init', dir]);
  const file = join(dir, 'handover.yaml');
  writeFileSync(file, `${readFileSync(file, 'utf8')}${API}`);
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0, stderr: '' });
};
const verify = async (days = 0) => {
  const asked = ['verify', '--home', `dir:${dir}`];
  const around = { now: instant(NOW + days * day) };
  const { code, stdout } = await handover(asked, around);
  const json = await handover([...asked, '--json'], around);
  expect(json.code).toBe(code);
  return { code, stdout, document: JSON.parse(json.stdout) };
};
const file = (...path: string[]): string => join(dir, 'out/default', ...path);

beforeEach(begin);

test('verify says ok, and exits 0, over files that are whole', async () => {
  const { code, stdout, document } = await verify();
  expect(code).toBe(0);
  expect(document).toMatchObject({ ok: true, authorities: [{ problems: [] }] });
  expect(stdout).not.toContain('next:');
});

describe('verify', () => {
  const fails = async (says: readonly RegExp[], days = 0): Promise<void> => {
    const { code, stdout, document } = await verify(days);
    expect(stdout).toMatch(/./);
    for (const one of says) expect(stdout).toMatch(one);
    expect(code).toBe(1);
    expect(document.ok).toBe(false);
    expect(document.authorities[0].problems.length).toBeGreaterThan(0);
  };

  test('verify names a folder that is gone, and says that it would be written', async () => {
    rmSync(file('secrets/web'), { recursive: true });
    await fails([
      new RegExp(`^${WEB}: tls\\.crt, tls\\.key and ca\\.crt are missing$`, 'm'),
      new RegExp(`^next: write .*${WEB}`, 'm'),
    ]);
  });

  test.each([
    ['tls.crt', 'missing', undefined, /tls\.crt is missing/],
    ['tls.crt', 'empty', '', /tls\.crt is empty/],
    ['tls.crt', 'junk', 'junk\n', /tls\.crt holds no certificate/],
    ['tls.crt', 'a damaged certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n', /tls\.crt cannot be read: /],
    ['tls.key', 'missing', undefined, /tls\.key is missing/],
    ['tls.key', 'empty', '', /tls\.key is empty/],
    ['tls.key', 'junk', 'junk\n', /tls\.key cannot be read: /],
    ['ca.crt', 'missing', undefined, /ca\.crt is missing/],
    ['ca.crt', 'empty', '', /ca\.crt is empty/],
    ['ca.crt', 'junk', 'junk\n', /ca\.crt holds no certificate/],
    [
      'ca.crt',
      'far too large',
      'x'.repeat(5 * 1024 ** 2),
      /ca\.crt is over 4 MiB; a small file is wanted there/,
    ],
    [
      'tls.key',
      'far too large',
      'x'.repeat(5 * 1024 ** 2),
      /tls\.key is over 4 MiB; a small file is wanted there/,
    ],
  ])('verify names %s that is %s', async (name, _how, content, says) => {
    const path = file('secrets/web/..data', name);
    if (content === undefined) rmSync(path);
    else writeFileSync(path, content);
    await fails([new RegExp(`^${WEB}: ${says.source}`, 'm')]);
  });

  test('verify names a key of another leaf', async () => {
    writeFileSync(file('secrets/web/..data/tls.key'), readFileSync(file('secrets/api/tls.key')));
    await fails([new RegExp(`^${WEB}: tls\\.key is not the key of the certificate in tls\\.crt`, 'm')]);
    expect((await verify()).stdout).not.toContain('PRIVATE');
  });

  test('verify names a bundle that is gone', async () => {
    rmSync(file('configmaps/internal-trust'), { recursive: true });
    await fails([new RegExp(`^${TRUST}: ca\\.crt is missing`, 'm')]);
  });

  test('verify names a bundle that is junk', async () => {
    writeFileSync(file('configmaps/internal-trust/..data/ca.crt'), 'junk');
    await fails([new RegExp(`^${TRUST}: ca\\.crt holds no certificate`, 'm')]);
  });

  test('verify names a bundle of another CA', async () => {
    const own = dir;
    await begin();
    const other = readFileSync(file('configmaps/internal-trust/ca.crt'));
    dir = own;
    writeFileSync(file('configmaps/internal-trust/..data/ca.crt'), other);
    const { code, stdout } = await verify();
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^${TRUST} refuses [^:]*${WEB}: `, 'm'));
  });

  test('verify names a bundle that refuses three leaves, in one line with the consumer that reads it', async () => {
    const own = dir;
    await begin();
    const other = readFileSync(file('configmaps/internal-trust/ca.crt'));
    dir = own;
    const yaml = join(dir, 'handover.yaml');
    const consumer = '{name: gateway, verifies: true, reload: hot}';
    writeFileSync(
      yaml,
      `${readFileSync(yaml, 'utf8').replace('\nspec:\n', `\nspec:\n  consumers: [${consumer}]\n`)}${API.replaceAll(/\bapi\b/g, 'db')}`,
    );
    expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0 });
    writeFileSync(file('configmaps/internal-trust/..data/ca.crt'), other);
    const lines = (await verify()).stdout.split('\n').filter((line) => line.startsWith(`${TRUST} `));
    expect(lines).toEqual([
      expect.stringMatching(
        new RegExp(
          `^${TRUST} \\(read by gateway\\) refuses default/secrets/api, default/secrets/db, ${WEB}: [A-Z_]+: `,
        ),
      ),
    ]);
  });

  test.each(['configmaps/internal-trust', 'secrets/web'])(
    'verify names a CA that another program appended to %s',
    async (at) => {
      const own = dir;
      await begin();
      const other = readFileSync(file('configmaps/internal-trust/ca.crt'));
      dir = own;
      const path = file(at, 'ca.crt');
      const before = readFileSync(path, 'utf8');
      appendFileSync(path, other);
      const { fingerprint } = parseCertificates(other).certificates[0] ?? {};
      const object = at.startsWith('secrets') ? WEB : TRUST;
      const says = `${object}: ca\\.crt holds a CA that does not belong there: CN=internal 1 [0-9a-f]{8} \\(SHA-256 ${fingerprint}\\); Handover removes it in its next pass`;
      await fails([new RegExp(`^${says}$`, 'm')]);
      const home = ['--home', `dir:${dir}`];
      expect((await handover(['status', ...home])).stdout).toMatch(new RegExp(says));
      expect(await handover(['check', ...home])).toMatchObject({
        code: 2,
        stdout: expect.stringContaining('holds a CA that does not belong there'),
      });
      const ran = await handover(['run', dir, '--once']);
      expect(ran.stdout).toContain(
        'because its files were changed, and its bundle holds a CA that does not belong there',
      );
      expect(readFileSync(path, 'utf8')).toBe(before);
      expect((await verify()).code).toBe(0);
    },
  );

  test('verify names an old folder, put back, that trusts only a CA that was distrusted since', async () => {
    const home = ['--home', `dir:${dir}`];
    const before = newHome();
    cpSync(file('configmaps'), before, { recursive: true, verbatimSymlinks: true });
    const [ca] = parseCertificates(readFileSync(file('configmaps/internal-trust/ca.crt'))).certificates;
    await handover(['distrust', 'default/internal', '--generation', '1', '--yes', ...home]);
    for (let days = 0; days < 3; days++)
      await handover(['run', dir, '--once'], { now: instant(NOW + days * day) });
    const around = { now: instant(NOW + 2 * day) };
    expect(await handover(['check', ...home], around)).toMatchObject({ code: 0 });
    rmSync(file('configmaps'), { recursive: true });
    cpSync(before, file('configmaps'), { recursive: true, verbatimSymlinks: true });
    const says = `${TRUST}: ca.crt holds a CA that does not belong there: ${ca?.subject} (SHA-256 ${ca?.fingerprint})`;
    expect(await verify(2)).toMatchObject({ code: 1, stdout: expect.stringContaining(says) });
    expect((await handover(['status', ...home], around)).stdout).toContain(says);
    expect(await handover(['check', ...home], around)).toMatchObject({
      code: 2,
      stdout: expect.stringContaining(says),
    });
  });

  test('verify names an old folder of the step before, put back after the pass of the last step', async () => {
    const at = (seconds: number) => ({ now: instant(NOW + seconds * 1000) });
    const home = ['--home', `dir:${dir}`];
    await handover(['rotate', 'default/internal', '--id', 'a', ...home]);
    await handover(['run', dir, '--once'], at(200));
    const before = newHome();
    cpSync(file('configmaps'), before, { recursive: true, verbatimSymlinks: true });
    await handover(['run', dir, '--once'], at(400));
    expect(await handover(['check', ...home], at(400))).toMatchObject({ code: 0 });
    rmSync(file('configmaps'), { recursive: true });
    cpSync(before, file('configmaps'), { recursive: true, verbatimSymlinks: true });
    // It could be one that the pass is about to write.
    expect(await handover(['check', ...home], at(400))).toMatchObject({ code: 0 });
    const says = `${TRUST}: ca.crt holds a CA that does not belong there: CN=internal 1 `;
    for (const command of ['check', 'status', 'verify'])
      expect((await handover([command, ...home], at(1_000))).stdout).toContain(says);
  });

  test('verify names a leaf that has ended', async () => {
    const refused = /CERT_HAS_EXPIRED: the certificate of \S+ has expired$/m;
    await fails([new RegExp(`^${WEB}: the leaf in tls\\.crt expired at 2030-`, 'm'), refused], 100);
  });

  test('verify names a leaf that is not valid yet', async () => {
    await fails([new RegExp(`^${WEB}: the leaf in tls\\.crt is not valid before 2030-`, 'm')], -2);
  });

  test('verify names a CA that is not valid any more', async () => {
    await fails([new RegExp(`^${TRUST}: ca\\.crt holds no CA that is valid now`, 'm')], 366 * 11);
  });

  test('verify names the files of a directory in which nothing was written yet', async () => {
    dir = newHome();
    await handover(['init', dir]);
    await fails([new RegExp(`^${WEB}: tls\\.crt, tls\\.key and ca\\.crt are missing`, 'm')]);
  });

  test('verify names a folder with files of another program', async () => {
    dir = newHome();
    await handover(['init', dir]);
    mkdirSync(file('secrets/web'), { recursive: true });
    writeFileSync(file('secrets/web/dhparam.pem'), 'theirs');
    await fails([/holds files that handover did not write \(dhparam\.pem\)/]);
  });
});

test('verify repairs nothing', async () => {
  rmSync(file('secrets/web/..data/tls.crt'));
  await verify();
  expect(readdirSync(file('secrets/web/..data'))).not.toContain('tls.crt');
  expect(lstatSync(file('secrets/web/tls.crt')).isSymbolicLink()).toBe(true);
});

test('a CA of another program in a TrustBundle without an Authority is named by verify and status, until a pass removes it', async () => {
  const yaml = join(dir, 'handover.yaml');
  const pem = (name: string): string => readFileSync(join(dir, 'out/default', name), 'utf8');
  const inline = pem('configmaps/internal-trust/ca.crt').trimEnd().replaceAll('\n', '\n          ');
  appendFileSync(
    yaml,
    `---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: partners}
spec:
  sources:
    - inline: |
          ${inline}
  targets: [{configMap: {name: partners}}]
`,
  );
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0, stderr: '' });
  expect((await verify()).code).toBe(0);
  const other = newHome();
  await handover(['init', other]);
  await handover(['run', other, '--once']);
  const foreign = readFileSync(join(other, 'out/default/configmaps/internal-trust/ca.crt'), 'utf8');
  const [ca] = parseCertificates(foreign).certificates;
  appendFileSync(join(dir, 'out/default/configmaps/partners/ca.crt'), foreign);
  const line = `default/configmaps/partners/ca.crt: ca.crt holds a CA that does not belong there: ${ca?.subject} (SHA-256 ${ca?.fingerprint}); Handover removes it in its next pass`;
  const { code, stdout, document } = await verify();
  expect(stdout).toContain(`${line}\n`);
  expect(document).toMatchObject({
    ok: false,
    trustBundles: [
      { object: 'default/configmaps/partners/ca.crt', problem: expect.stringContaining('does not belong') },
    ],
  });
  expect(code).toBe(1);
  expect((await handover(['status', '--home', `dir:${dir}`])).stdout).toContain(line);
  await handover(['run', dir, '--once']);
  expect((await verify()).code).toBe(0);
  expect((await handover(['status', '--home', `dir:${dir}`])).stdout).not.toContain('does not belong');
});
