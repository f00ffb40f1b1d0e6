import { createPublicKey, randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createSecureContext, createServer } from 'node:tls';
import { inspect } from 'node:util';
import { bytesOf, hour, instant, PrivateKey, parseCertificate, parseCertificates } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { keyOf } from '../../test/keys.ts';
import { issueCa, issueLeaf, type KeyAlgorithm, localSigner } from '../issue/index.ts';
import { type OutputMaterial, type OutputSpec, outputBytes } from './output.ts';
import { Password } from './password.ts';

const dates = { notBefore: instant(Date.now() - hour), notAfter: instant(Date.now() + 24 * hour) };

const material = async (algorithm: KeyAlgorithm): Promise<Required<OutputMaterial>> => {
  const signer = localSigner(keyOf(algorithm, 1).privateKey);
  const ca = parseCertificate(
    await issueCa({ name: 'mesh', generation: 1, signer, serial: randomBytes(16), ...dates }),
  );
  const key = keyOf(algorithm, 2);
  const leaf = parseCertificate(
    await issueLeaf({
      issuer: ca,
      signer,
      publicKey: key.publicKey,
      serial: randomBytes(16),
      subject: { commonName: 'web', organizations: [] },
      dnsNames: ['localhost'],
      ipAddresses: [],
      uris: [],
      usages: ['server', 'client'],
      ...dates,
    }),
  );
  return { identity: { chain: [leaf, ca], key: PrivateKey.of(key.privateKey) }, anchors: [ca] };
};

const EC = await material('ECDSA-P256');
const RSA = await material('RSA-2048');
const password = (text: string): Password => Password.parse(bytesOf(text), 'password');
const WORD = password('correct horse\n');
const spec = (given: Partial<OutputSpec>): OutputSpec => ({
  format: 'pkcs12',
  content: 'identity',
  keyFormat: 'pkcs8',
  alias: 'web',
  ...given,
});
const hex = (given: Partial<OutputSpec>, from: OutputMaterial = EC, word = WORD): string =>
  Buffer.from(outputBytes(spec(given), from, word)).toString('hex');

describe('keystores', () => {
  test.each(['pkcs12', 'jks'] as const)(
    'a keystore of the same material is the same %s, and of any other another',
    async (format) => {
      for (const content of ['identity', 'trust'] as const) {
        const one = hex({ format, content });
        expect(hex({ format, content })).toBe(one);
        expect(hex({ format, content, alias: 'other' })).not.toBe(one);
        expect(hex({ format, content }, EC, password('another word'))).not.toBe(one);
        expect(hex({ format, content }, RSA)).not.toBe(one);
      }
    },
  );

  test('keystores never hide two keys under the same salt: a JKS would show the difference of both', () => {
    const salt = (from: OutputMaterial): string => {
      const jks = hex({ format: 'jks' }, from);
      const head = '060a2b060104012a021101010500';
      // The protected key is an OCTET STRING of more than 127 bytes, and begins with its salt.
      const [, salt] = new RegExp(`${head}04(?:81..|82....)(.{40})`).exec(jks) ?? [];
      if (salt === undefined) throw new Error('no protected key');
      return salt;
    };
    const renewed = { ...EC, identity: { ...EC.identity, chain: [...EC.identity.chain, ...RSA.anchors] } };
    expect(new Set([salt(EC), salt(RSA), salt(renewed as unknown as OutputMaterial)]).size).toBe(3);
  });

  test('a PKCS#12 opens with its password, and with no other', () => {
    const pfx = Buffer.from(hex({}), 'hex');
    expect(() => createSecureContext({ pfx, passphrase: 'correct horse' })).not.toThrow();
    expect(() => createSecureContext({ pfx, passphrase: 'wrong horse' })).toThrow(/mac verify failure/);
  });

  test.each([
    ['ECDSA', EC],
    ['RSA', RSA],
  ])('a server has the %s leaf and chain of its PKCS#12', async (_name, from) => {
    const server = createServer({ pfx: Buffer.from(hex({}, from), 'hex'), passphrase: 'correct horse' });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const ca = from.anchors.map(({ pem }) => pem);
    const client = connect({ port, host: '127.0.0.1', servername: 'localhost', ca });
    await once(client, 'secureConnect');
    expect(new X509Certificate(client.getPeerCertificate().raw).raw).toEqual(
      Buffer.from(from.identity.chain[0].der),
    );
    client.destroy();
    server.close();
  });
});

describe('PEM and DER', () => {
  const text = (given: Partial<OutputSpec>, from = EC): string =>
    Buffer.from(hex(given, from), 'hex').toString();

  test('a combined file is certificate, chain, key', () => {
    const labels = [...text({ format: 'combined' }).matchAll(/BEGIN ([A-Z ]+)-/g)].map(([, label]) => label);
    expect(labels).toEqual(['CERTIFICATE', 'CERTIFICATE', 'PRIVATE KEY']);
    expect(text({ format: 'combined', keyFormat: 'pkcs1' }, RSA)).toContain('BEGIN RSA PRIVATE KEY');
  });

  test('each encoding holds the key of the certificate', () => {
    for (const [from, label] of [
      [EC, 'EC PRIVATE KEY'],
      [RSA, 'RSA PRIVATE KEY'],
    ] as const) {
      const pem = text({ format: 'pem', content: 'key', keyFormat: 'pkcs1' }, from);
      expect(pem).toContain(`BEGIN ${label}`);
      expect(PrivateKey.parse(pem).matches(from.identity.chain[0])).toBe(true);
    }
    const der = Buffer.from(hex({ format: 'der', content: 'key' }), 'hex');
    const key = createPublicKey({ key: der, format: 'der', type: 'pkcs8' } as never);
    expect(key.equals(createPublicKey(EC.identity.key.key))).toBe(true);
  });

  test('PEM and DER trust and chain are the certificates themselves', () => {
    const prints = (pem: string) => parseCertificates(pem).certificates.map(({ fingerprint }) => fingerprint);
    expect(prints(text({ format: 'pem', content: 'trust' }))).toEqual(
      EC.anchors.map((one) => one.fingerprint),
    );
    expect(prints(text({ format: 'pem', content: 'certificate' }))).toEqual(
      EC.identity.chain.map((one) => one.fingerprint),
    );
  });
});

test('a password does not print', () => {
  const shown = [
    String(WORD),
    JSON.stringify({ WORD }),
    inspect(WORD),
    inspect({ WORD }, { showHidden: true }),
  ];
  for (const one of shown) expect(one).not.toContain('horse');
});

test.each(['', 'short', 'two\nlines', 'tab\there', 'Zürich!', 'x'.repeat(129)])(
  'a password %j is refused without being repeated',
  (text) => {
    let message = '';
    try {
      password(text);
    } catch (error) {
      message = String(error);
    }
    expect(message).toMatch(/password holds no usable password; write one line of 6 to 128/);
    if (text !== '') expect(message).not.toContain(text);
  },
);

test('a password ends before its line end', () => {
  expect(hex({}, EC, password('correct horse\r\n'))).toBe(hex({}));
  expect(hex({}, EC, password('correct horse '))).not.toBe(hex({}));
});
