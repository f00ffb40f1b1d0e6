import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

const tlv = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
};
const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts);
const hex = (text: string): Buffer => Buffer.from(text, 'hex');

const ATTRIBUTES = { CN: '0603550403', O: '060355040a', OU: '060355040b' } as const;
const EXTENSIONS = { san: '0603551d11', eku: '0603551d25', constraints: '0603551d13' } as const;
const EKU = {
  server: '06082b06010505070301',
  client: '06082b06010505070302',
  code: '06082b06010505070303',
} as const;

export interface CsrAsked {
  readonly subject?: Partial<Record<keyof typeof ATTRIBUTES, string>>;
  readonly dnsNames?: readonly string[];
  readonly uris?: readonly string[];
  readonly emails?: readonly string[];
  readonly usages?: readonly (keyof typeof EKU)[];
  readonly isCa?: boolean;
  /** Signs in place of the request's own key. */
  readonly signedBy?: KeyObject;
  readonly keys?: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
}

export const newKeys = (): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } =>
  generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

/** A signing request (PKCS #10), PEM. */
export const csrOf = (asked: CsrAsked): string => {
  const { publicKey, privateKey } = asked.keys ?? newKeys();
  const rdns = Object.entries(asked.subject ?? {}).map(([name, value]) =>
    tlv(0x31, sequence(hex(ATTRIBUTES[name as keyof typeof ATTRIBUTES]), tlv(0x0c, Buffer.from(value)))),
  );
  const names = [
    ...(asked.dnsNames ?? []).map((name) => tlv(0x82, Buffer.from(name))),
    ...(asked.uris ?? []).map((name) => tlv(0x86, Buffer.from(name))),
    ...(asked.emails ?? []).map((name) => tlv(0x81, Buffer.from(name))),
  ];
  const extension = (oid: string, value: Buffer): Buffer => sequence(hex(oid), tlv(0x04, value));
  const extensions = [
    ...(names.length === 0 ? [] : [extension(EXTENSIONS.san, sequence(...names))]),
    ...(asked.usages === undefined
      ? []
      : [extension(EXTENSIONS.eku, sequence(...asked.usages.map((usage) => hex(EKU[usage]))))]),
    ...(asked.isCa === true ? [extension(EXTENSIONS.constraints, sequence(hex('0101ff')))] : []),
  ];
  const info = sequence(
    hex('020100'),
    sequence(...rdns),
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions.length === 0
      ? tlv(0xa0)
      : tlv(0xa0, sequence(hex('06092a864886f70d01090e'), tlv(0x31, sequence(...extensions)))),
  );
  const signature = sign('sha256', info, asked.signedBy ?? privateKey);
  const der = sequence(info, sequence(hex('06082a8648ce3d040302')), tlv(0x03, Buffer.from([0]), signature));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines.join('\n')}\n-----END CERTIFICATE REQUEST-----\n`;
};
