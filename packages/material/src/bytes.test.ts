import { expect, it } from 'vitest';
import { bytesOf, sameBytes, textOf } from './bytes.ts';

it('a text reads back from its bytes', () => {
  for (const text of ['', '\uFEFFBOM', 'Straße – 証明書\n\0']) expect(textOf(bytesOf(text))).toBe(text);
});

it('bytes that are no UTF-8 are refused as a text', () => {
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80]])
    expect(() => textOf(Uint8Array.from(bytes), 'keystore.jks')).toThrow(
      expect.objectContaining({ code: 'PEM_BINARY', message: 'keystore.jks is binary data, not text' }),
    );
});

it('bytes are compared by content, a view of a larger buffer too', () => {
  expect(sameBytes(bytesOf('b'), bytesOf('abc').subarray(1, 2))).toBe(true);
  expect(sameBytes(bytesOf('b'), bytesOf('c'))).toBe(false);
  expect(sameBytes(bytesOf(''), undefined)).toBe(false);
  expect(sameBytes(undefined, undefined)).toBe(true);
});
