import { createHash, X509Certificate } from 'node:crypto';
import { type Instant, instant } from '@handover/material';

/** Stand-in until @handover/material has its own. */
export interface Certificate {
  readonly der: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

export const certificateFrom = (der: Uint8Array): Certificate => {
  const read = new X509Certificate(der);
  return { der, notBefore: instant(Date.parse(read.validFrom)), notAfter: instant(Date.parse(read.validTo)) };
};

const span = (der: Uint8Array, offset: number): { start: number; end: number } => {
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

export const partsOf = (certificate: Certificate) => {
  const { der } = certificate;
  const tbs = span(der, span(der, 0).start);
  const fields: Uint8Array[] = [];
  for (let at = tbs.start; at < tbs.end; ) {
    const { end } = span(der, at);
    fields.push(der.subarray(at, end));
    at = end;
  }
  const [, , , , , subject, spki] = fields;
  if (subject === undefined || spki === undefined) throw new Error('not a certificate');
  const bits = span(spki, span(spki, span(spki, 0).start).end);
  const keyId = new Uint8Array(
    createHash('sha256')
      .update(spki.subarray(bits.start + 1, bits.end))
      .digest()
      .subarray(0, 20),
  );
  return { subject, spki, keyId, isCa: new X509Certificate(der).ca };
};
