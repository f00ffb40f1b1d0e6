/** A DER writer for tests: small, and able to write what no honest CA would. */
export const tlv = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const header =
    length < 0x80
      ? [tag, length]
      : length < 0x100
        ? [tag, 0x81, length]
        : length < 0x10000
          ? [tag, 0x82, length >> 8, length & 0xff]
          : [tag, 0x83, length >> 16, (length >> 8) & 0xff, length & 0xff];
  return Buffer.concat([Buffer.from(header), content]);
};

export const seq = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => tlv(0x31, ...parts);
export const octets = (content: Uint8Array): Buffer => tlv(0x04, content);
export const bool = (value: boolean): Buffer => Buffer.from([0x01, 0x01, value ? 0xff : 0]);
export const bits = (content: Uint8Array, unused = 0): Buffer => tlv(0x03, Buffer.from([unused]), content);
export const int = (value: number | bigint): Buffer => {
  let big = BigInt(value);
  const out: number[] = [];
  do {
    out.unshift(Number(big & 0xffn));
    big >>= 8n;
  } while (!((big === 0n && (out[0] ?? 0) < 0x80) || (big === -1n && (out[0] ?? 0) >= 0x80)));
  return tlv(0x02, Buffer.from(out));
};
export const oid = (dotted: string): Buffer => {
  const [first = 0n, second = 0n, ...rest] = dotted.split('.').map(BigInt);
  const out: number[] = [];
  for (const arc of [first * 40n + second, ...rest]) {
    const octets = [Number(arc & 0x7fn)];
    for (let left = arc >> 7n; left > 0n; left >>= 7n) octets.unshift(Number(left & 0x7fn) | 0x80);
    out.push(...octets);
  }
  return tlv(0x06, Buffer.from(out));
};
export const utf8 = (text: string): Buffer => tlv(0x0c, Buffer.from(text));
export const printable = (text: string): Buffer => tlv(0x13, Buffer.from(text, 'latin1'));
export const ia5 = (text: string, tag = 0x16): Buffer => tlv(tag, Buffer.from(text, 'latin1'));

/** UTCTime up to 2049, GeneralizedTime from then on. */
export const time = (ms: number): Buffer => {
  const digits = `${new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '')}`;
  return digits >= '1950' && digits < '2050'
    ? tlv(0x17, Buffer.from(digits.slice(2)))
    : tlv(0x18, Buffer.from(digits));
};
