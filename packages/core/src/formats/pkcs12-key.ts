import { hash } from 'node:crypto';

/** Hashes of PKCS#12's own derivation: bytes of a block and of the result. */
const HASHES = {
  sha1: { block: 64, size: 20 },
  sha256: { block: 64, size: 32 },
  sha384: { block: 128, size: 48 },
  sha512: { block: 128, size: 64 },
} as const;
export type Pkcs12Hash = keyof typeof HASHES;

/** What the bytes are for: RFC 7292 appendix B.3. */
const PURPOSES = { key: 1, iv: 2, mac: 3 } as const;

const repeated = (bytes: Uint8Array, block: number): Buffer =>
  Buffer.alloc(Math.ceil(bytes.length / block) * block, bytes);

/** Adds `sum` and 1 to each block of `to`, as one big number each. */
const addTo = (to: Buffer, sum: Uint8Array, block: number): void => {
  const addend = repeated(sum, block).subarray(0, block);
  for (let at = 0; at < to.length; at += block)
    for (let i = block - 1, carry = 1; i >= 0; i--) {
      const value = (to[at + i] ?? 0) + (addend[i] ?? 0) + carry;
      to[at + i] = value & 0xff;
      carry = value >> 8;
    }
};

/** Bytes from a password: RFC 7292 appendix B.2. `text`: two bytes a character, without the end. */
export const pkcs12Key = (
  algorithm: Pkcs12Hash,
  purpose: keyof typeof PURPOSES,
  given: { readonly text: Uint8Array; readonly salt: Uint8Array; readonly iterations: number },
  length: number = HASHES[algorithm].size,
): Buffer => {
  const { block, size } = HASHES[algorithm];
  const head = Buffer.alloc(block, PURPOSES[purpose]);
  const text = Buffer.concat([given.text, Buffer.alloc(2)]);
  const mixed = Buffer.concat([repeated(given.salt, block), repeated(text, block)]);
  const parts: Buffer[] = [];
  for (let made = 0; made < length; made += size) {
    let sum: Buffer = Buffer.concat([head, mixed]);
    for (let i = 0; i < given.iterations; i++) sum = hash(algorithm, sum, 'buffer');
    parts.push(sum);
    addTo(mixed, sum, block);
  }
  return Buffer.concat(parts).subarray(0, length);
};
