// RC2 (RFC 2268) with 40 bits: trust-manager's default for PKCS#12 with a password, and gone from OpenSSL 3. What it hides here are
// certificates, which are public.

const PI_TABLE = Buffer.from(
  [
    'd978f9c419ddb5ed28e9fd794aa0d89dc67e37832b76538e624c6488448bfba2',
    '179a59f587b34f1361456d8d09817d32bd8f40eb86b77b0bf09521225c6b4e82',
    '54d66593ce60b21c7356c014a78cf1dc1275ca1f3bbee4d1423dd430a33cb626',
    '6fbf0eda4669075727f21d9bbc944303f811c7f690ef3ee706c3d52fc8661ed7',
    '08e8eade8052eef784aa72ac354d6a2a961ad2715a1549744b9fd05e0418a4ec',
    'c2e0416e0f51cbcc2491af50a1f47039997c3a8523b8b47afc02365b25559731',
    '2d5dfa98e38a92ae05df2910676cbac9d300e6cfe19ea82c6316013f58e289a9',
    '0d38341bab33ffb0bb480c5fb9b1cd2ec5f3db47e5a59c770aa62068fe7fc1ad',
  ].join(''),
  'hex',
);
const KEY_BYTES = 5;
const BLOCK = 8;
const SHIFTS = [1, 2, 3, 5] as const;

const pi = (index: number): number => PI_TABLE[index & 0xff] ?? 0;

/** 64 words from 40 bits: RFC 2268 §2. */
const expanded = (key: Uint8Array): Uint16Array => {
  const bytes = Buffer.alloc(128);
  bytes.set(key.subarray(0, KEY_BYTES));
  for (let i = KEY_BYTES; i < 128; i++) bytes[i] = pi((bytes[i - 1] ?? 0) + (bytes[i - KEY_BYTES] ?? 0));
  const from = 128 - KEY_BYTES;
  bytes[from] = pi(bytes[from] ?? 0);
  for (let i = from - 1; i >= 0; i--) bytes[i] = pi((bytes[i + 1] ?? 0) ^ (bytes[i + KEY_BYTES] ?? 0));
  return Uint16Array.from({ length: 64 }, (_, i) => bytes.readUInt16LE(2 * i));
};

/** One block: RFC 2268 §3. */
const encryptBlock = (words: Uint16Array, block: Buffer): void => {
  const r = Uint16Array.from({ length: 4 }, (_, i) => block.readUInt16LE(2 * i));
  const at = (i: number): number => r[i & 3] ?? 0;
  let next = 0;
  const mix = (): void => {
    for (const [i, shift] of SHIFTS.entries()) {
      const sum = at(i) + (words[next++] ?? 0) + (at(i + 3) & at(i + 2)) + (~at(i + 3) & at(i + 1));
      const low = sum & 0xffff;
      r[i] = (low << shift) | (low >> (16 - shift));
    }
  };
  const mash = (): void => {
    for (let i = 0; i < 4; i++) r[i] = at(i) + (words[at(i + 3) & 63] ?? 0);
  };
  for (let round = 0; round < 16; round++) {
    mix();
    if (round === 4 || round === 10) mash();
  }
  for (const [i, word] of r.entries()) block.writeUInt16LE(word, 2 * i);
};

/** CBC, padded as PKCS#7. */
export const encryptRc2 = (key: Uint8Array, iv: Uint8Array, bytes: Uint8Array): Buffer => {
  const words = expanded(key);
  const padding = BLOCK - (bytes.length % BLOCK);
  const out = Buffer.concat([bytes, Buffer.alloc(padding, padding)]);
  let before: Uint8Array = iv;
  for (let from = 0; from < out.length; from += BLOCK) {
    const block = out.subarray(from, from + BLOCK);
    for (let i = 0; i < BLOCK; i++) block[i] = (block[i] ?? 0) ^ (before[i] ?? 0);
    encryptBlock(words, block);
    before = block;
  }
  return out;
};
