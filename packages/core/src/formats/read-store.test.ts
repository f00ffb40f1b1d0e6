import { randomBytes } from 'node:crypto';
import { bytesOf, hour, instant, PrivateKey, parseCertificate } from '@handover/material';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { generateKey, issueCa, localSigner } from '../issue/index.ts';
import { type OutputContent, outputBytes } from './output.ts';
import { Password } from './password.ts';
import { readStore, type StoreFormat, storeFormatOf } from './read-store.ts';

const key = generateKey('ECDSA-P256');
const ca = parseCertificate(
  await issueCa({
    name: 'mesh',
    generation: 1,
    signer: localSigner(key.privateKey),
    serial: randomBytes(16),
    notBefore: instant(Date.now() - hour),
    notAfter: instant(Date.now() + hour),
  }),
);
const word = (text: string): Password => Password.parse(bytesOf(text), 'password');
const GOOD = word('correct horse');
const made = (format: StoreFormat, content: OutputContent): Uint8Array =>
  outputBytes(
    { format, content, keyFormat: 'pkcs8', alias: 'web' },
    { identity: { chain: [ca, ca], key: PrivateKey.of(key.privateKey) }, anchors: [ca] },
    GOOD,
  );
const der = Buffer.from(ca.der).toString('hex');

describe.each(['pkcs12', 'jks'] as const)('a %s', (format) => {
  test.each([undefined, GOOD])(
    `a ${format} keystore gives its certificates and the names of its keys; password: %s`,
    (password) => {
      const identity = made(format, 'identity');
      expect(storeFormatOf(identity)).toBe(format);
      const { keys, certificates } = readStore(format, identity, password);
      expect(keys).toEqual(['web']);
      expect(certificates.map((one) => [Buffer.from(one.der).toString('hex'), one.trusted])).toEqual([
        [der, false],
        [der, false],
      ]);
      const trust = readStore(format, made(format, 'trust'), password);
      expect(trust.keys).toEqual([]);
      expect(trust.certificates).toMatchObject([{ alias: expect.stringMatching(/^web-/), trusted: true }]);
    },
  );

  test(`a ${format} keystore is refused with another password`, () => {
    expect(() => readStore(format, made(format, 'identity'), word('wrong horse'))).toThrowError(
      expect.objectContaining({ code: 'KEYSTORE_PASSWORD' }),
    );
  });

  test(`a ${format} keystore that is cut short or changed gives what is in it or a coded error, never a crash`, () => {
    const whole = Buffer.from(made(format, 'identity'));
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.boolean(), (at, value, isCut) => {
        const bytes = Buffer.from(isCut ? whole.subarray(0, at) : whole);
        if (!isCut) bytes[at] = value;
        try {
          const found = storeFormatOf(bytes);
          if (found !== undefined) readStore(found, bytes, undefined);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^KEYSTORE_/) });
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test(`a ${format} keystore with one changed byte does not pass with its password`, () => {
    const bytes = Buffer.from(made(format, 'trust'));
    const at = bytes.indexOf(Buffer.from(ca.der)) + 20;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    expect(() => readStore(format, bytes, GOOD)).toThrowError(
      expect.objectContaining({ code: 'KEYSTORE_PASSWORD' }),
    );
  });
});

test('a certificate, a PEM file and an empty file are no keystores; JCEKS is named', () => {
  for (const bytes of [ca.der, bytesOf(ca.pem), new Uint8Array()])
    expect(storeFormatOf(bytes)).toBeUndefined();
  expect(() => storeFormatOf(Buffer.from('cececece00000002', 'hex'))).toThrowError(
    expect.objectContaining({ code: 'KEYSTORE_UNSUPPORTED' }),
  );
});
