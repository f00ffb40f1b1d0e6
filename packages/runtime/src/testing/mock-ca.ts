import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { encodePem } from '@handover/material';
import { systemClock } from '../clock.ts';

const DAY = 86_400_000;
const HOST = 'localhost';

const tlv = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  const n = body.length;
  const length = n < 0x80 ? [n] : n < 0x100 ? [0x81, n] : [0x82, n >> 8, n & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const seq = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts);
const oid = (hex: string): Buffer => tlv(0x06, Buffer.from(hex, 'hex'));
const TRUE = Buffer.from([0x01, 0x01, 0xff]);
const utcTime = (ms: number): Buffer =>
  tlv(
    0x17,
    Buffer.from(
      new Date(ms)
        .toISOString()
        .replace(/[-:T]|\.\d+/g, '')
        .slice(2),
    ),
  );
const nameOf = (commonName: string): Buffer =>
  seq(tlv(0x31, seq(oid('550403'), tlv(0x0c, Buffer.from(commonName)))));
const extension = (id: string, value: Uint8Array, critical = false): Buffer =>
  seq(oid(id), ...(critical ? [TRUE] : []), tlv(0x04, value));

/** ecdsa-with-SHA256 */
const ALGORITHM = seq(oid('2a8648ce3d040302'));

interface Pair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const spki = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });
const idOf = (key: KeyObject): Buffer => createHash('sha1').update(spki(key)).digest();

export interface LeafSpec {
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly name?: string;
  /** Bits of an RSA key; else the key is P-256. */
  readonly rsa?: number;
}

export interface Leaf {
  /** The certificate alone. */
  readonly cert: string;
  readonly key: string;
}

/** A CA for tests: P-256, SKI and AKI, leaves for localhost and 127.0.0.1 that serve and connect. */
export class MockCa {
  readonly pem: string;
  readonly #name: Buffer;
  readonly #pair: Pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  constructor(name: string) {
    this.#name = nameOf(`${name} ${idOf(this.#pair.publicKey).toString('hex').slice(0, 8)}`);
    this.pem = encodePem('CERTIFICATE', this.#sign(this.#name, this.#pair.publicKey, true, {}));
  }

  leaf(spec: LeafSpec = {}): Leaf {
    const pair =
      spec.rsa === undefined
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('rsa', { modulusLength: spec.rsa });
    const der = this.#sign(nameOf(spec.name ?? 'leaf'), pair.publicKey, false, spec);
    return {
      cert: encodePem('CERTIFICATE', der),
      key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
  }

  /** A server certificate that this key signed for itself: no CA, and still what a client can pin. */
  selfSigned(): Leaf {
    const { publicKey, privateKey } = this.#pair;
    return {
      cert: encodePem('CERTIFICATE', this.#sign(this.#name, publicKey, false, {})),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
  }

  /** The other CA's certificate signed by this one. */
  crossSign(other: MockCa): string {
    return encodePem('CERTIFICATE', this.#sign(other.#name, other.#pair.publicKey, true, {}));
  }

  #sign(subject: Buffer, key: KeyObject, ca: boolean, spec: LeafSpec): Buffer {
    const now = systemClock.now();
    const sans = seq(tlv(0x82, Buffer.from(HOST)), tlv(0x87, Buffer.from([127, 0, 0, 1])));
    const extensions = seq(
      extension('551d13', ca ? seq(TRUE) : seq(), true),
      extension('551d0f', tlv(0x03, Buffer.from(ca ? [1, 0x06] : [7, 0x80])), true),
      extension('551d0e', tlv(0x04, idOf(key))),
      extension('551d23', seq(tlv(0x80, idOf(this.#pair.publicKey)))),
      ...(ca
        ? []
        : [
            extension('551d25', seq(oid('2b06010505070301'), oid('2b06010505070302'))),
            extension('551d11', sans),
          ]),
    );
    const serial = randomBytes(12);
    serial[0] = 0x40;
    const tbs = seq(
      tlv(0xa0, tlv(0x02, Buffer.from([2]))),
      tlv(0x02, serial),
      ALGORITHM,
      this.#name,
      seq(utcTime(spec.notBefore ?? now - DAY), utcTime(spec.notAfter ?? now + 90 * DAY)),
      subject,
      spki(key),
      tlv(0xa3, extensions),
    );
    return seq(tbs, ALGORITHM, tlv(0x03, Buffer.from([0]), sign('sha256', tbs, this.#pair.privateKey)));
  }
}
