import { isUtf8 } from 'node:buffer';
import { MaterialError } from './error.ts';

const encoder = new TextEncoder();

/** The same memory as a Buffer. */
export const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

export const bytesOf = (text: string): Uint8Array => encoder.encode(text);

/** UTF-8 as text. Refuses what is no UTF-8: decoded leniently it would not be the same bytes again. */
export const textOf = (bytes: Uint8Array, path = 'content'): string => {
  if (isUtf8(bytes)) return bufferOf(bytes).toString('utf8');
  throw new MaterialError('PEM_BINARY', `${path} is binary data, not text`, { path });
};

/** Whether two contents are equal; two that are absent are. */
export const sameBytes = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0;
