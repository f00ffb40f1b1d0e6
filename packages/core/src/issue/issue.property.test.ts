import { X509Certificate } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { instant, parseCertificate } from '@handover/material';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyOf } from '../../test/keys.ts';
import { unsignedInteger } from './der-writer.ts';
import { issueCa, issueLeaf, localSigner } from './index.ts';
import { ipOctets } from './ip-address.ts';
import { serialNumber } from './signed.ts';

const keys = (['ECDSA-P256', 'ECDSA-P384', 'RSA-2048'] as const).map((algorithm) => keyOf(algorithm));
const publicKey = keyOf('ECDSA-P256', 2).publicKey;

const serial = fc
  .uint8Array({ minLength: 8, maxLength: 20 })
  .filter((bytes) => bytes.some((byte) => byte !== 0));
const second = 1000;
const dates = fc
  .uniqueArray(fc.integer({ min: Date.UTC(1950, 0) / second, max: Date.UTC(9999, 11, 31) / second }), {
    minLength: 4,
    maxLength: 4,
  })
  .map((times) => times.sort((a, b) => a - b).map((time) => instant(time * second)));
const text = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 64 })
  .filter((value) => !/[\p{Cc}\p{Cs}]/u.test(value) && [...value].length <= 64);
const host = fc.domain({ size: 'medium' }).filter((name) => name.length < 250);
const dnsNames = fc.uniqueArray(
  fc.oneof(
    host,
    host.map((name) => `*.${name}`),
  ),
  { maxLength: 20 },
);
const ipAddresses = fc.uniqueArray(fc.oneof(fc.ipV4(), fc.ipV6()), { maxLength: 20 });
const uris = fc.uniqueArray(
  fc.tuple(host, fc.webPath()).map(([name, path]) => `spiffe://${name}${path}`),
  { maxLength: 5 },
);

const hexNumber = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);

test('an issued certificate reads back as it was asked for, in Node and in our own parser', async () => {
  const input = fc.record({
    keyIndex: fc.nat(keys.length - 1),
    name: text,
    generation: fc.integer({ min: 1, max: 99_999 }),
    serial,
    dates,
    commonName: text,
    organizations: fc.array(text, { maxLength: 3 }),
    dnsNames,
    ipAddresses,
    uris,
  });
  await fc.assert(
    fc.asyncProperty(input, async ({ keyIndex, name, generation, serial, dates, ...asked }) => {
      const key = keys[keyIndex];
      const [caFrom, from, to, caTo] = dates;
      if (!key || !caFrom || !from || !to || !caTo) return fc.pre(false);
      const signer = localSigner(key.privateKey);
      const ca = parseCertificate(
        await issueCa({ name, generation, signer, serial, notBefore: caFrom, notAfter: caTo }),
      );
      const der = await issueLeaf({
        ...asked,
        issuer: ca,
        signer,
        publicKey,
        serial,
        subject: { commonName: asked.commonName, organizations: asked.organizations },
        usages: ['client'],
        notBefore: from,
        notAfter: to,
      });
      const leaf = parseCertificate(der);
      const node = new X509Certificate(der);
      expect(node.verify(key.publicKey)).toBe(true);
      expect(node.checkIssued(new X509Certificate(ca.der))).toBe(true);
      expect([ca.notBefore, leaf.notBefore, leaf.notAfter, ca.notAfter]).toEqual(dates);
      expect([node.validFrom, node.validTo].map((date) => Date.parse(date))).toEqual([from, to]);
      expect(leaf.dnsNames).toEqual(asked.dnsNames);
      expect(leaf.uris).toEqual(asked.uris);
      expect(leaf.issuer).toBe(ca.subject);
      const names = asked.ipAddresses.map((ip) => new URL(`http://${isIPv4(ip) ? ip : `[${ip}]`}`).hostname);
      expect(leaf.ipAddresses).toEqual([...names.map((ip) => ip.replace(/[[\]]/g, ''))]);
      for (const ip of asked.ipAddresses) expect(node.checkIP(ip)).toBe(ip);
      const { CN, O } = node.toLegacyObject().subject as unknown as Record<string, string | string[]>;
      expect(CN).toBe(asked.commonName);
      expect([O ?? []].flat()).toEqual(asked.organizations);
    }),
    { numRuns: 150 },
  );
});

test('serial numbers are positive, at most 20 octets, and as random as the bytes they are made of', () => {
  fc.assert(
    fc.property(serial, (random) => {
      const der = serialNumber(random);
      const contents = der.subarray(2);
      expect(der[1]).toBe(contents.length);
      expect(contents.length).toBeLessThanOrEqual(20);
      expect((contents[0] ?? 0xff) & 0x80).toBe(0);
      // Minimal: a leading zero octet only where the next one would read as a sign.
      if (contents[0] === 0) expect((contents[1] ?? 0) & 0x80).toBe(0x80);
      const lost = random.length === 20 ? 1n << 159n : 0n;
      expect(hexNumber(contents)).toBe(hexNumber(random) & ~lost);
    }),
  );
});

test('an unsigned integer of any bytes keeps its value', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), (bytes) => {
      const der = unsignedInteger(bytes);
      const header = (der[1] ?? 0) < 0x80 ? 2 : 2 + ((der[1] ?? 0) & 0x7f);
      expect(hexNumber(der.subarray(header))).toBe(hexNumber(bytes));
    }),
  );
});

test('every IPv6 spelling of an address has the octets of its canonical one', () => {
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      const canonical = new URL(`http://[${text}]`).hostname.replace(/[[\]]/g, '');
      expect(ipOctets(text)).toEqual(ipOctets(canonical));
      expect(ipOctets(text)).toHaveLength(16);
    }),
  );
});
