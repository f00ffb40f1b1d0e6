import { isIP } from 'node:net';
import { VERSIONS, type Version } from './names.ts';

/** What one ClientHello offers: one version, and nothing but these suites and groups. */
export interface Offer {
  readonly version: Version;
  readonly suites: readonly number[];
  readonly groups: readonly number[];
  readonly servername: string | undefined;
}

const u16 = (...values: readonly number[]): Buffer =>
  Buffer.from(values.flatMap((value) => [value >> 8, value & 0xff]));
const sized = (bytes: 1 | 2 | 3, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(bytes);
  length.writeUIntBE(body.length, 0, bytes);
  return Buffer.concat([length, body]);
};
const extension = (type: number, body: Uint8Array): Buffer => Buffer.concat([u16(type), sized(2, body)]);

/** All signature algorithms: none of them shall be a reason to refuse. */
const SIGNATURES = [
  0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0804, 0x0805, 0x0806, 0x0809, 0x080a, 0x080b, 0x0401, 0x0501,
  0x0601, 0x081a, 0x081b, 0x081c, 0x0203, 0x0201, 0x0402, 0x0202,
];

/**
 * A ClientHello (RFC 8446 §4.1.2, RFC 5246 §7.4.1.2). For TLS 1.3 it has no key share, so that the server names its group
 * (HelloRetryRequest, §4.2.8): no key is generated, and any group can be offered.
 */
export function clientHello({ version, suites, groups, servername }: Offer, random: Buffer): Buffer {
  const is13 = version === 'TLS 1.3';
  const extensions = [
    ...(servername === undefined || isIP(servername) !== 0
      ? []
      : [extension(0, sized(2, Buffer.from([0]), sized(2, Buffer.from(servername, 'ascii'))))]),
    extension(10, sized(2, u16(...groups))),
    ...(is13
      ? [extension(43, sized(1, u16(VERSIONS[version]))), extension(51, sized(2))]
      : [
          extension(11, sized(1, Buffer.from([0]))),
          extension(23, Buffer.alloc(0)),
          extension(0xff01, sized(1)),
        ]),
    ...(version === 'TLS 1.2' || is13 ? [extension(13, sized(2, u16(...SIGNATURES)))] : []),
  ];
  const body = Buffer.concat([
    u16(is13 ? VERSIONS['TLS 1.2'] : VERSIONS[version]),
    random.subarray(0, 32),
    // a session id on TLS 1.3, too: middleboxes want to see one (RFC 8446 §D.4)
    sized(1, is13 ? random.subarray(32, 64) : Buffer.alloc(0)),
    sized(2, u16(...suites)),
    sized(1, Buffer.from([0])),
    sized(2, ...extensions),
  ]);
  const message = Buffer.concat([Buffer.from([1]), sized(3, body)]);
  return Buffer.concat([Buffer.from([22]), u16(0x0301), sized(2, message)]);
}
