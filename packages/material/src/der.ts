import { MaterialError } from './error.ts';

/** Universal tags and the context tags of X.509, as whole identifier octets. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  numericString: 0x12,
  printableString: 0x13,
  t61String: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  universalString: 0x1c,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

/** No real OID is longer. The limit keeps the big-number arithmetic below cheap. */
const MAX_OID_OCTETS = 128;

/**
 * A strict reader of DER: definite lengths in shortest form, one-octet tags, nothing past the end. Never copies, recurses
 * only where its caller does, throws only `CERTIFICATE_MALFORMED`.
 */
export class DerReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  at: number;

  constructor(bytes: Uint8Array, from = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = from;
    this.end = end;
  }

  get done(): boolean {
    return this.at >= this.end;
  }

  fail(what: string): never {
    throw new MaterialError('CERTIFICATE_MALFORMED', `not a DER certificate: ${what} at byte ${this.at}`);
  }

  /** The identifier octet that comes next, or -1 at the end. */
  peek(): number {
    return this.at < this.end ? (this.bytes[this.at] ?? -1) : -1;
  }

  /** Reads one element with this tag and returns a reader of its content. */
  enter(tag: number, what: string): DerReader {
    if (this.peek() !== tag) this.fail(`${what} expected`);
    return this.element();
  }

  /** Reads one element of any tag and returns a reader of its content. */
  element(): DerReader {
    const { bytes, end } = this;
    let at = this.at;
    if (end - at < 2) this.fail('element is cut short');
    if (((bytes[at] ?? 0) & 0x1f) === 0x1f) this.fail('tag of several octets');
    let length = bytes[at + 1] ?? 0;
    at += 2;
    if (length >= 0x80) {
      const octets = length & 0x7f;
      // Four octets mean at least 16 MiB, more than any input limit.
      if (octets === 0 || octets > 3) this.fail('indefinite or oversized length');
      if (end - at < octets) this.fail('length is cut short');
      length = 0;
      for (let i = 0; i < octets; i++) length = length * 256 + (bytes[at + i] ?? 0);
      at += octets;
      if (length < 0x80 || length < 2 ** (8 * (octets - 1))) this.fail('length is not in its shortest form');
    }
    if (length > end - at) this.fail('content runs past the end');
    this.at = at + length;
    return new DerReader(bytes, at, at + length);
  }

  /** Nothing may be left over. */
  finish(what: string): void {
    if (this.at !== this.end) this.fail(`${what} is followed by stray bytes`);
  }

  /** What is left, as a view on the same memory. */
  rest(): Uint8Array {
    return this.bytes.subarray(this.at, this.end);
  }

  hex(): string {
    return this.#text('hex');
  }

  latin1(): string {
    return this.#text('latin1');
  }

  #text(encoding: 'hex' | 'latin1'): string {
    const { buffer, byteOffset } = this.bytes;
    return Buffer.from(buffer, byteOffset + this.at, this.end - this.at).toString(encoding);
  }
}

/** Reads an OBJECT IDENTIFIER as dotted text. */
export function readOid(from: DerReader): string {
  const content = from.enter(TAG.oid, 'object identifier');
  const { bytes, end } = content;
  const first = content.at;
  if (end === first || end - first > MAX_OID_OCTETS) content.fail('object identifier of a bad length');
  if (((bytes[end - 1] ?? 0) & 0x80) !== 0) content.fail('object identifier is cut short');
  let text = '';
  let arc = 0;
  let big: bigint | undefined;
  let fresh = true;
  for (let i = first; i < end; i++) {
    const octet = bytes[i] ?? 0;
    if (fresh && octet === 0x80) content.fail('object identifier is not in its shortest form');
    fresh = octet < 0x80;
    if (big !== undefined) big = (big << 7n) | BigInt(octet & 0x7f);
    else if (arc >= 2 ** 45) big = (BigInt(arc) << 7n) | BigInt(octet & 0x7f);
    else arc = arc * 128 + (octet & 0x7f);
    if (!fresh) continue;
    if (text === '') {
      const root = big !== undefined || arc >= 80 ? 2 : arc >= 40 ? 1 : 0;
      text = `${root}.${big === undefined ? arc - root * 40 : big - 80n}`;
    } else {
      text += `.${big ?? arc}`;
    }
    arc = 0;
    big = undefined;
  }
  return text;
}

/** Reads an INTEGER as lower-case hex without leading zeros, with `-` for a negative number. */
export function readIntegerHex(from: DerReader, tag: number = TAG.integer): string {
  const content = from.enter(tag, 'integer');
  const { bytes, at, end } = content;
  if (end === at) content.fail('integer without content');
  const first = bytes[at] ?? 0;
  const second = bytes[at + 1] ?? 0;
  if (end - at > 1 && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))) {
    content.fail('integer is not in its shortest form');
  }
  if (first < 0x80) return content.hex().replace(/^0+(?=.)/, '');
  const magnitude = Buffer.from(bytes.subarray(at, end));
  let carry = 1;
  for (let i = magnitude.length - 1; i >= 0; i--) {
    const value = (~(magnitude[i] ?? 0) & 0xff) + carry;
    magnitude[i] = value & 0xff;
    carry = value >> 8;
  }
  return `-${magnitude.toString('hex').replace(/^0+(?=.)/, '')}`;
}

/** Reads a non-negative INTEGER, at most 2^31 - 1; larger ones are cut to that. */
export function readSmallInteger(from: DerReader): number {
  const hex = readIntegerHex(from);
  if (hex.startsWith('-')) from.fail('negative number');
  return hex.length > 8 ? 0x7fffffff : Math.min(Number.parseInt(hex, 16), 0x7fffffff);
}

/** Reads a BOOLEAN. DER allows only 00 and FF: X.690 §11.1. */
export function readBoolean(from: DerReader): boolean {
  const content = from.enter(TAG.boolean, 'boolean');
  const octet = content.peek();
  if (content.end - content.at !== 1 || (octet !== 0 && octet !== 0xff))
    content.fail('boolean of a bad form');
  return octet === 0xff;
}

/** Reads a BIT STRING: the octets, and how many bits of the last one are unused. */
export function readBitString(
  from: DerReader,
  tag: number = TAG.bitString,
): { bits: Uint8Array; unused: number } {
  const content = from.enter(tag, 'bit string');
  const unused = content.peek();
  if (unused < 0 || unused > 7) content.fail('bit string of a bad form');
  content.at++;
  if (content.done && unused !== 0) content.fail('bit string of a bad form');
  return { bits: content.rest(), unused };
}
