import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OutputContent, outputBytes, Password } from '@handover/core';
import { bytesOf, PrivateKey } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { describe, expect, test } from 'vitest';
import { ERROR_LINE, handover } from '../../test/capture.ts';
import { caOf, keyPem, leafOf } from '../../test/material.ts';

const dir = temporaryFolder({ inMemory: true });
const file = (name: string, content: string | Uint8Array): string => {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
};
const PASSWORD = 'correct horse';
const right = file('password', `${PASSWORD}\n`);
const wrong = file('wrong', 'another horse\n');

const ca = await caOf(1);
const leaf = await leafOf(ca);
const store = (format: 'pkcs12' | 'jks', content: OutputContent, anchors = [ca.certificate]): string =>
  file(
    `${content}.${format}`,
    outputBytes(
      { format, content, keyFormat: 'pkcs8', alias: 'web' },
      { identity: { chain: [leaf, ca.certificate], key: PrivateKey.parse(keyPem(ca)) }, anchors },
      Password.parse(bytesOf(PASSWORD), right),
    ),
  );

describe.each(['pkcs12', 'jks'] as const)('inspect of a keystore of format %s', (format) => {
  const name = format === 'jks' ? 'JKS' : 'PKCS#12';

  test(`inspect of a ${name} keystore shows its certificates with alias, dates and issuer, and prints neither key nor password`, async () => {
    const path = store(format, 'identity');
    const outputs: string[] = [];
    for (const more of [[], ['--json']])
      for (const terminal of [true, false]) {
        const { code, stdout, stderr } = await handover(
          ['inspect', path, '--password-file', right, ...more],
          {
            terminal,
          },
        );
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        outputs.push(stdout);
      }
    const text = outputs.join();
    expect(text).toContain(`${path}: ${name} keystore, 2 certificates, 1 private key; the password fits\n`);
    for (const line of [
      'certificate 1, alias web',
      '  subject: CN=envoy',
      '  issued by: certificate 2',
      '  entry: chain of a key',
      '  not after: 2030-08-30T00:00:00Z (90 days left)',
      'PRIVATE KEY, alias web',
    ])
      expect(text).toContain(`${line}\n`);
    const secrets = [PASSWORD, keyPem(ca).split('\n')[1] ?? ''];
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect(JSON.parse(outputs[2] ?? '').files[0]).toMatchObject({
      format,
      passwordFits: true,
      certificates: [{ alias: 'web', trusted: false, line: null }, { trusted: false }],
      otherBlocks: [{ label: 'PRIVATE KEY', alias: 'web', line: null }],
      warnings: [],
    });
  });

  test(`inspect of a ${name} truststore says so, and warns of a leaf in it`, async () => {
    const { stdout } = await handover(['inspect', store(format, 'trust', [ca.certificate, leaf])]);
    expect(stdout).toContain('2 certificates, 0 private keys; not checked: no password given\n');
    expect(stdout).toContain('  entry: trusted\n');
    expect(stdout.match(/^warning: .*$/gm)).toEqual([
      expect.stringMatching(/^warning: LEAF_AS_ANCHOR: certificate 2: /),
    ]);
  });

  test(`inspect refuses a ${name} keystore with the wrong password, in one line without the password`, async () => {
    const path = store(format, 'identity');
    const { code, stderr } = await handover(['inspect', path, '--password-file', wrong]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(ERROR_LINE) });
    expect(stderr).toMatch(/^KEYSTORE_PASSWORD: .*the password does not open the keystore/);
    expect(stderr).toContain(path);
    expect(stderr).not.toContain('horse');
  });
});

test('inspect names a password file without a usable password', async () => {
  const empty = file('empty', '\n');
  const { code, stderr } = await handover(['inspect', store('jks', 'trust'), '--password-file', empty]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `PASSWORD_UNUSABLE: ${empty} holds no usable password; write one line of 6 to 128 printable ASCII characters\n`,
  });
});
