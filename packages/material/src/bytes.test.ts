import { expect, it } from 'vitest';
import { bytesOf, sameBytes, textOf } from './bytes.ts';

it('gives back the text it was given', () => {
  for (const text of ['', '\uFEFFBOM', 'Straße – 証明書\n\0']) expect(textOf(bytesOf(text))).toBe(text);
});

it('refuses bytes that are no UTF-8', () => {
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80]])
    expect(() => textOf(Uint8Array.from(bytes), 'keystore.jks')).toThrow(
      expect.objectContaining({ code: 'PEM_BINARY', message: 'keystore.jks is binary data, not text' }),
    );
});

it('compares by content, a view of a larger buffer too', () => {
  expect(sameBytes(bytesOf('b'), bytesOf('abc').subarray(1, 2))).toBe(true);
  expect(sameBytes(bytesOf('b'), bytesOf('c'))).toBe(false);
  expect(sameBytes(bytesOf(''), undefined)).toBe(false);
  expect(sameBytes(undefined, undefined)).toBe(true);
});
