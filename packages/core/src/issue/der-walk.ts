export interface Span {
  /** Where the contents begin, behind tag and length. */
  readonly start: number;
  readonly end: number;
}

/** The DER value at `offset`. For bytes that node:crypto made or `parseCertificate` accepted: it checks nothing. */
export const spanAt = (der: Uint8Array, offset: number): Span => {
  let length = der[offset + 1] ?? 0;
  let start = offset + 2;
  if (length & 0x80) {
    const octets = length & 0x7f;
    length = 0;
    for (let i = 0; i < octets; i++) length = length * 256 + (der[start + i] ?? 0);
    start += octets;
  }
  return { start, end: start + length };
};

/** The values inside the one at `offset`, each whole, tag included. */
export const membersAt = (der: Uint8Array, offset: number): readonly Uint8Array[] => {
  const outer = spanAt(der, offset);
  const members: Uint8Array[] = [];
  for (let at = outer.start; at < outer.end; ) {
    const { end } = spanAt(der, at);
    members.push(der.subarray(at, end));
    at = end;
  }
  return members;
};
