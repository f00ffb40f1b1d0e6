import fc from 'fast-check';
import { expect, it } from 'vitest';
import { int, oid, tlv } from '../test/der-writer.ts';
import { readTime } from './certificate.ts';
import { DerReader, readBitString, readBoolean, readIntegerHex, readOid } from './der.ts';

const reader = (hex: string): DerReader => new DerReader(Buffer.from(hex, 'hex'));
const refused = expect.objectContaining({ code: 'CERTIFICATE_MALFORMED' });

it('the DER reader takes lengths in their shortest form only', () => {
  expect(reader('0400').element().done).toBe(true);
  expect(new DerReader(tlv(4, Buffer.alloc(200))).element().rest()).toHaveLength(200);
  expect(new DerReader(tlv(4, Buffer.alloc(70_000))).element().rest()).toHaveLength(70_000);
  for (const hex of [
    '04810100', // 1 in two octets
    `048200ff${'00'.repeat(255)}`, // 255 in three
    '0480', // indefinite
    '04840000000100', // four octets of length
    '0482', // cut short
    '040200', // runs past the end
    '1f2100', // tag of two octets
    '04',
    '',
  ]) {
    expect(() => reader(hex).element(), hex).toThrowError(refused);
  }
});

it('the DER reader reads object identifiers of any size within reason, in their shortest form', () => {
  for (const text of [
    '0.0',
    '1.39',
    '2.5.29.15',
    '2.999.1',
    '1.2.840.113549.1.1.11',
    '2.25.329800735698586629295641978511506172918',
  ]) {
    expect(readOid(new DerReader(oid(text)))).toBe(text);
  }
  for (const hex of [
    '0600',
    '0602802a',
    '06022a80',
    '060188',
    `06818200${'81'.repeat(128)}01`,
    `068181${'81'.repeat(128)}01`,
  ]) {
    expect(() => readOid(reader(hex)), hex).toThrowError(refused);
  }
});

it('the DER reader reads integers of both signs', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 170n), max: 2n ** 170n }), (value) => {
      expect(readIntegerHex(new DerReader(int(value)))).toBe(value.toString(16));
    }),
  );
  for (const hex of ['0200', '02020001', '0202ff80']) {
    expect(() => readIntegerHex(reader(hex)), hex).toThrowError(refused);
  }
});

it('the DER reader reads booleans and bit strings of the forms that DER has', () => {
  expect(readBoolean(reader('0101ff'))).toBe(true);
  expect(readBoolean(reader('010100'))).toBe(false);
  for (const hex of ['010101', '0100', '0102ffff'])
    expect(() => readBoolean(reader(hex)), hex).toThrowError(refused);
  expect(readBitString(reader('030205a0'))).toMatchObject({ unused: 5 });
  for (const hex of ['0300', '030101', '030208a0'])
    expect(() => readBitString(reader(hex)), hex).toThrowError(refused);
});

it('the DER reader reads times that exist, in the two forms of RFC 5280', () => {
  const at = (tag: number, text: string): number => readTime(new DerReader(tlv(tag, Buffer.from(text))));
  expect(at(0x17, '491231235959Z')).toBe(Date.UTC(2049, 11, 31, 23, 59, 59));
  expect(at(0x17, '500101000000Z')).toBe(Date.UTC(1950, 0, 1));
  expect(at(0x17, '680101000000Z')).toBe(Date.UTC(1968, 0, 1));
  expect(at(0x18, '99991231235959Z')).toBe(Date.UTC(9999, 11, 31, 23, 59, 59));
  expect(at(0x18, '20240229000000Z')).toBe(Date.UTC(2024, 1, 29));
  for (const [tag, text] of [
    [0x17, '250229000000Z'],
    [0x17, '251301000000Z'],
    [0x17, '250100000000Z'],
    [0x17, '250101240000Z'],
    [0x17, '250101006000Z'],
    [0x17, '250101000060Z'],
    [0x17, '2501010000Z'],
    [0x17, '250101000000+0100'],
    [0x17, '20250101000000Z'],
    [0x18, '250101000000Z'],
    [0x18, '20250101000000.5Z'],
    [0x18, '２０２５0101000Z'],
    [0x0c, '250101000000Z'],
  ] as const) {
    expect(() => at(tag, text), text).toThrowError(refused);
  }
});
