import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { day, instant } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { describe, expect, test } from 'vitest';
import { ERROR_LINE, handover, NOW } from '../../test/capture.ts';
import { caOf, crossOf, keyPem, leafOf, pems } from '../../test/material.ts';
import { readInput } from '../inspect/read-input.ts';

const dir = temporaryFolder({ inMemory: true });
const file = (name: string, content: string | Uint8Array): string => {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
};
const fixture = (name: string): string =>
  readFileSync(new URL(`../../test/fixtures/${name}.pem`, import.meta.url), 'utf8');

const ca1 = await caOf(1);
const ca2 = await caOf(2);
const x21 = await crossOf(ca2, ca1);
const leaf = await leafOf(ca2);

/** Codes of the warnings about one file, and nothing else wrong. */
const warned = async (path: string, at = NOW): Promise<readonly string[]> => {
  const { code, stdout } = await handover(['inspect', '--json', path], { now: at });
  expect(code).toBe(0);
  return JSON.parse(stdout).files[0].warnings.map((warning: { code: string }) => warning.code);
};

test('inspect has no warning for a bundle and a chain without faults', async () => {
  expect(await warned(file('ca.crt', pems(ca2.certificate, ca1.certificate)))).toEqual([]);
  expect(await warned(file('tls.crt', pems(leaf, x21)))).toEqual([]);
  expect(await warned(file('alone.crt', pems(leaf)))).toEqual([]);
});

test('inspect prints names, dates, key ids and fingerprint of each certificate, one fact per line', async () => {
  const path = file('tls.crt', pems(leaf, x21));
  const { stdout, stderr, code } = await handover(['inspect', path]);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  expect(stdout).toContain(`${path}: 2 certificates\n`);
  for (const line of [
    'subject: CN=envoy',
    `issuer: ${ca2.certificate.subject}`,
    'issued by: certificate 2',
    'not before: 2030-05-31T00:00:00Z',
    'not after: 2030-08-30T00:00:00Z (90 days left)',
    'DNS names: envoy.mesh.svc',
    'IP addresses: 10.0.0.1',
    `SKI: ${leaf.subjectKeyId}`,
    `AKI: ${ca2.certificate.subjectKeyId}`,
    `SHA-256: ${leaf.fingerprint}`,
  ]) {
    expect(stdout).toContain(`  ${line}\n`);
  }
});

test('inspect calls a leaf without a subject by its first other name', async () => {
  const path = file('nameless.pem', pems(await leafOf(ca1, null), ca1.certificate));
  expect((await handover(['inspect', path])).stdout).toContain(
    '  subject: (empty: the certificate of envoy.mesh.svc)\n',
  );
  const { stdout } = await handover(['inspect', path], { terminal: true });
  expect(stdout).toContain('└─ the certificate of envoy.mesh.svc  #1');
});

test('inspect finds an issuer in the other files too', async () => {
  const [tls, ca] = [file('tls.crt', pems(leaf)), file('ca.crt', pems(ca2.certificate))];
  const { stdout } = await handover(['inspect', tls, ca]);
  expect(stdout).toContain(`issued by: certificate 1 of ${ca}\n`);
});

test('inspect takes the self-signed one of two issuers with one key', async () => {
  const path = file('all.pem', pems(leaf, x21, ca2.certificate));
  const { stdout } = await handover(['inspect', path]);
  expect(stdout).toContain('issued by: certificate 3, certificate 2\n');
});

test('inspect on a terminal shows each certificate below its issuer', async () => {
  const path = file('all.pem', pems(leaf, x21, ca1.certificate));
  const { stdout } = await handover(['inspect', path], { terminal: true });
  const [at1, atX, atLeaf] = [
    stdout.indexOf(`└─ ${ca1.certificate.subject}  #3`),
    stdout.indexOf(`   └─ ${ca2.certificate.subject}  #2`),
    stdout.indexOf('      └─ CN=envoy  #1'),
  ];
  expect(at1).toBeGreaterThan(0);
  expect(atX).toBeGreaterThan(at1);
  expect(atLeaf).toBeGreaterThan(atX);
});

test('inspect shows both of two CAs that cross-signed each other', async () => {
  const path = file('circle.pem', pems(x21, await crossOf(ca1, ca2)));
  const { stdout, code } = await handover(['inspect', path], { terminal: true });
  expect(code).toBe(0);
  expect(stdout).toContain('#1');
  expect(stdout).toContain('#2');
});

test('inspect reads standard input for -', async () => {
  const { stdout, code } = await handover(['inspect', '-'], { stdin: pems(ca1.certificate) });
  expect(code).toBe(0);
  expect(stdout).toContain('standard input: 1 certificate\n');
});

test('inspect reads two thousand certificates without hanging', async () => {
  const path = file(
    'many.pem',
    pems(...Array.from({ length: 1_000 }, () => [ca1.certificate, ca2.certificate]).flat()),
  );
  const { stdout, code } = await handover(['inspect', path], { terminal: true });
  expect(code).toBe(0);
  expect(stdout).toContain('2000 certificates');
});

test('inspect names a private key and never prints it', async () => {
  const key = keyPem(ca1);
  const path = file('ca.crt', pems(ca1.certificate) + key);
  expect(await warned(path)).toEqual(['PRIVATE_KEY_IN_BUNDLE']);
  for (const args of [
    ['inspect', path],
    ['inspect', '--json', path],
  ]) {
    for (const terminal of [true, false]) {
      const { stdout, stderr } = await handover(args, { terminal });
      expect(stdout).toContain('PRIVATE KEY');
      for (const line of key.split('\n').slice(1, -2)) expect(stdout + stderr).not.toContain(line);
    }
  }
});

test('inspect tells issuers of one name apart by the AKI or not at all', async () => {
  const [one, two, child] = ['same-name-1', 'same-name-2', 'leaf-without-aki'].map(fixture);
  const { stdout } = await handover(['inspect', file('chain.pem', `${child}${one}${two}`)]);
  expect(stdout).toContain('warning: SAME_NAME_WITHOUT_AKI: certificate 1: no AKI, and 2 certificates');
  expect(await warned(file('chain.pem', `${child}${two}`))).toEqual([]);
  expect(await warned(file('twice.pem', `${child}${two}${two}`))).toEqual(['DUPLICATE']);
  expect(await warned(file('crossed.pem', pems(leaf, x21, ca2.certificate, ca1.certificate)))).toEqual([]);
});

test('inspect calls a certificate expired from the very end of its validity, and not before', async () => {
  const path = file('ca.crt', pems(ca1.certificate));
  const end = ca1.certificate.notAfter;
  expect(await warned(path, instant(end - 1000))).toEqual([]);
  expect(await warned(path, end)).toEqual(['EXPIRED']);
  const { stdout } = await handover(['inspect', path], { now: instant(end + 3 * day) });
  expect(stdout).toContain('warning: EXPIRED: certificate 1: expired 3 days ago\n');
});

test('inspect warns of a certificate that is not valid yet', async () => {
  const path = file('ca.crt', pems((await caOf(3, NOW + 5 * day)).certificate));
  expect(await warned(path)).toEqual(['NOT_YET_VALID']);
});

test('inspect accepts a leaf at the head of a chain, and warns of one among anchors', async () => {
  expect(await warned(file('roots.pem', pems(ca1.certificate, leaf)))).toEqual(['LEAF_AS_ANCHOR']);
  expect(await warned(file('pair.pem', pems(leaf, ca1.certificate)))).toEqual(['LEAF_AS_ANCHOR']);
  expect(await warned(file('pair.pem', pems(leaf, ca2.certificate)))).toEqual([]);
  expect(await warned(file('ca.crt', pems(leaf)))).toEqual(['LEAF_AS_ANCHOR']);
  expect(await warned(file('candle.crt', pems(leaf)))).toEqual([]);
});

test('inspect has one warning for text between blocks, however much there is', async () => {
  const path = file('ca.crt', `one\n${pems(ca1.certificate)}two\n\nthree\n${pems(ca2.certificate)}`);
  const { stdout } = await handover(['inspect', path]);
  expect(stdout).toContain('warning: JUNK: line 1: text outside the blocks: "one", and in 2 more places');
});

test('inspect names other PEM blocks', async () => {
  const path = file(
    'ca.crt',
    `${pems(ca1.certificate)}-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n`,
  );
  expect(await warned(path)).toEqual(['OTHER_BLOCK']);
});

describe('what cannot be inspected', () => {
  const binary = Buffer.from([0x30, 0x82, 0x00, 0x01, 0xff]);
  const damaged = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const cases: readonly [what: string, path: () => string, code: string][] = [
    ['a missing file', () => join(dir, 'absent.pem'), 'FILE_MISSING'],
    ['a path below a file', () => join(file('flat', ''), 'x.pem'), 'FILE_MISSING'],
    ['a directory', () => dir, 'FILE_NOT_REGULAR'],
    ['an empty file', () => file('empty.pem', ''), 'PEM_NO_CERTIFICATE'],
    ['prose', () => file('prose.pem', 'hello\n'), 'PEM_NO_CERTIFICATE'],
    ['a lone key', () => file('tls.key', keyPem(ca1)), 'PEM_NO_CERTIFICATE'],
    ['a binary file', () => file('ca.der', binary), 'PEM_BINARY'],
    ['half a certificate', () => file('cut.pem', ca1.certificate.pem.slice(0, 200)), 'PEM_TRUNCATED'],
    ['bytes that are no certificate', () => file('bad.pem', damaged), 'CERTIFICATE_MALFORMED'],
    ['10 MB of zeros', () => file('zeros.pem', Buffer.alloc(10_000_000)), 'PEM_BINARY'],
    ['10 MB of text', () => file('text.pem', 'x y z\n'.repeat(1_700_000)), 'PEM_NO_CERTIFICATE'],
    ['20 MB', () => file('huge.pem', 'x'.repeat(20_000_000)), 'FILE_TOO_LARGE'],
    ['a device without an end', () => '/dev/zero', 'FILE_NOT_REGULAR'],
  ];
  test.each(cases)(
    'inspect of %s is one line with a code and the name, exit 1',
    async (_what, path, expected) => {
      const name = path();
      const { code, stdout, stderr } = await handover(['inspect', name]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(ERROR_LINE);
      expect(stderr.startsWith(`${expected}: `)).toBe(true);
      expect(stderr).toContain(name);
    },
  );

  test('inspect of a file that may not be read is FILE_FORBIDDEN', async () => {
    const path = file('secret.pem', pems(ca1.certificate));
    chmodSync(path, 0);
    // Root can read everything, so it becomes the user nobody for a while.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65534);
    try {
      await expect(readInput(path, process.stdin)).rejects.toMatchObject({ code: 'FILE_FORBIDDEN', path });
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  test('inspect shows the good files beside a bad one', async () => {
    const good = file('good.pem', pems(ca1.certificate));
    const absent = join(dir, 'absent.pem');
    const plain = await handover(['inspect', absent, good]);
    expect(plain.code).toBe(1);
    expect(plain.stdout).toContain('good.pem: 1 certificate\n');
    expect(plain.stderr).toMatch(/^FILE_MISSING: /);
    const { code, stdout, stderr } = await handover(['inspect', '--json', absent, good]);
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'FILE_MISSING' } });
    const document = JSON.parse(stdout);
    expect(document.files).toHaveLength(1);
    expect(document.errors).toMatchObject([{ file: absent, code: 'FILE_MISSING' }]);
  });

  test('inspect prints no control characters from names of files and certificates', async () => {
    const folder = join(dir, 'a\u001b[2Jb');
    mkdirSync(folder, { recursive: true });
    const { stderr } = await handover(['inspect', join(folder, 'absent')]);
    expect(stderr).not.toContain('\u001b');
    const path = join(folder, 'leaf.pem');
    writeFileSync(path, fixture('control-characters'));
    for (const terminal of [true, false]) {
      const { stdout } = await handover(['inspect', path], { terminal });
      expect(stdout).toContain('CN=evil ?2J');
      for (const control of ['\u001b', '\u009b']) expect(stdout).not.toContain(control);
    }
  });
});
