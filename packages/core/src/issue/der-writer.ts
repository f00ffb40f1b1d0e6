import { DER_TAG as TAG } from '@handover/material';

// DER, as much of it as our certificate profile needs (ITU-T X.690). Values in, bytes out; nothing here knows X.509.

/** Tag, length in the shortest form (X.690 §10.1), contents. */
export const tlv = (tag: number, ...parts: readonly Uint8Array[]): Uint8Array => {
  let length = 0;
  for (const part of parts) length += part.length;
  const size: number[] = [];
  if (length < 0x80) size.push(length);
  else {
    for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) size.unshift(rest % 256);
    size.unshift(0x80 | size.length);
  }
  const out = new Uint8Array(1 + size.length + length);
  out[0] = tag;
  out.set(size, 1);
  let at = 1 + size.length;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
};

export const sequence = (...parts: readonly Uint8Array[]): Uint8Array => tlv(TAG.sequence, ...parts);
export const set = (...parts: readonly Uint8Array[]): Uint8Array => tlv(TAG.set, ...parts);
export const octetString = (bytes: Uint8Array): Uint8Array => tlv(TAG.octetString, bytes);
export const utf8String = (text: string): Uint8Array => tlv(TAG.utf8String, Buffer.from(text, 'utf8'));
export const boolean = (value: boolean): Uint8Array => tlv(TAG.boolean, Uint8Array.of(value ? 0xff : 0));
export const nothing = (): Uint8Array => tlv(TAG.null);

/** `[n]` around a whole value. */
export const explicit = (n: number, value: Uint8Array): Uint8Array => tlv(0xa0 | n, value);
/** `[n]` in place of a primitive value's own tag. */
export const implicit = (n: number, contents: Uint8Array): Uint8Array => tlv(0x80 | n, contents);

export const bitString = (bytes: Uint8Array): Uint8Array => tlv(TAG.bitString, Uint8Array.of(0), bytes);

/** A BIT STRING of named bits: trailing zero bits are left out (X.690 §11.2.2). Up to eight bits. */
export const namedBits = (...bits: readonly number[]): Uint8Array => {
  const last = Math.max(...bits);
  const byte = bits.reduce((sum, bit) => sum | (0x80 >> bit), 0);
  return tlv(TAG.bitString, Uint8Array.of(7 - last, byte));
};

/** A non-negative INTEGER from its big-endian bytes: no padding beyond the sign bit (X.690 §8.3.2). */
export const unsignedInteger = (bytes: Uint8Array): Uint8Array => {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const rest = bytes.subarray(start);
  const head = rest[0] ?? 0;
  return head & 0x80 || rest.length === 0 ? tlv(TAG.integer, Uint8Array.of(0), rest) : tlv(TAG.integer, rest);
};

export const oid = (dotted: string): Uint8Array => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes: number[] = [];
  for (const arc of [first * 40 + second, ...rest]) {
    const digits = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) {
      digits.unshift(0x80 | (left % 128));
    }
    bytes.push(...digits);
  }
  return tlv(TAG.oid, Uint8Array.from(bytes));
};

/** UTCTime through 2049, GeneralizedTime from 2050, whole seconds, Zulu: RFC 5280 §4.1.2.5. Years 1950 to 9999. */
export const time = (at: Date): Uint8Array => {
  const digits = at.toISOString().replace(/\.\d+Z$|[-:T]/g, '');
  return at.getUTCFullYear() < 2050
    ? tlv(TAG.utcTime, Buffer.from(`${digits.slice(2)}Z`, 'latin1'))
    : tlv(TAG.generalizedTime, Buffer.from(`${digits}Z`, 'latin1'));
};
