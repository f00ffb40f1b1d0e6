import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { encodePem } from '@handover/material';

/** Enough DER for a CA and leaves that OpenSSL accepts. */
const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const size = content.length;
  const head = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
};
const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
const id = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const named = (text: string) => sequence(der(0x31, sequence(id('550403'), der(0x0c, Buffer.from(text)))));
const at = (ms: number) =>
  der(0x18, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]|\..*/g, '')}Z`));
const extension = (hex: string, value: Uint8Array) => sequence(id(hex), der(0x04, value));
const ECDSA_SHA256 = sequence(id('2a8648ce3d040302'));
const HOUR = 3_600_000;

const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });
const keyId = (key: KeyObject): Buffer => createHash('sha1').update(spkiOf(key)).digest();

export interface Issued {
  readonly cert: string;
  readonly key: string;
}

/** A CA whose leaves serve 127.0.0.1 and a given name, and are client certificates as well. */
export class MockCa {
  readonly pem: string;
  readonly #name: Buffer;
  readonly #pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  constructor(name: string) {
    this.#name = named(`${name} ${randomBytes(4).toString('hex')}`);
    this.pem = this.#issue(this.#name, this.#pair.publicKey, [
      extension('551d13', sequence(Buffer.from([1, 1, 255]))),
    ]);
  }

  leaf(dnsName = 'localhost', commonName = 'leaf'): Issued {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const names = sequence(der(0x82, Buffer.from(dnsName)), der(0x87, Buffer.from([127, 0, 0, 1])));
    return {
      cert: this.#issue(named(commonName), publicKey, [extension('551d11', names)]),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
  }

  #issue(subject: Buffer, key: KeyObject, extensions: readonly Buffer[]): string {
    const now = Date.now();
    const body = sequence(
      der(0xa0, der(0x02, Buffer.from([2]))),
      der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      ECDSA_SHA256,
      this.#name,
      sequence(at(now - HOUR), at(now + 24 * HOUR)),
      subject,
      spkiOf(key),
      der(
        0xa3,
        sequence(
          ...extensions,
          extension('551d0e', der(0x04, keyId(key))),
          extension('551d23', sequence(der(0x80, keyId(this.#pair.publicKey)))),
        ),
      ),
    );
    const signature = der(0x03, Buffer.from([0]), sign('sha256', body, this.#pair.privateKey));
    return encodePem('CERTIFICATE', sequence(body, ECDSA_SHA256, signature));
  }
}
