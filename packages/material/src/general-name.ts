import type { DerReader } from './der.ts';
import { type Name, nameWithin } from './name.ts';

export type GeneralName =
  | { readonly kind: 'email' | 'dns' | 'uri'; readonly value: string }
  | { readonly kind: 'ip'; readonly octets: Uint8Array }
  | { readonly kind: 'directory'; readonly name: Name }
  | { readonly kind: 'other' };

const ASCII = /^[\x20-\x7e]*$/;

/** IA5String content. A control character in a name only serves to deceive programs that print or compare it. */
const ascii = (content: DerReader): string => {
  const text = content.latin1();
  if (!ASCII.test(text)) content.fail('name that is not printable ASCII');
  return text;
};

/** Reads one GeneralName: RFC 5280 §4.2.1.6. */
export function readGeneralName(from: DerReader): GeneralName {
  const tag = from.peek();
  const content = from.element();
  switch (tag) {
    case 0x81:
      return { kind: 'email', value: ascii(content) };
    case 0x82:
      return { kind: 'dns', value: ascii(content) };
    case 0x86:
      return { kind: 'uri', value: ascii(content) };
    case 0x87:
      return { kind: 'ip', octets: content.rest() };
    case 0xa4:
      return { kind: 'directory', name: nameWithin(content) };
    case 0xa0: // otherName
    case 0xa3: // x400Address
    case 0xa5: // ediPartyName
    case 0x88: // registeredID
      return { kind: 'other' };
    default:
      return from.fail('unknown kind of name');
  }
}

/** `192.0.2.1`, or RFC 5952 text such as `2001:db8::1`. */
export function ipText(octets: Uint8Array): string | undefined {
  if (octets.length === 4) return octets.join('.');
  if (octets.length !== 16) return undefined;
  const words: number[] = [];
  for (let i = 0; i < 16; i += 2) words.push((octets[i] ?? 0) * 256 + (octets[i + 1] ?? 0));
  let best = { from: 0, length: 1 }; // a single zero word is not shortened: RFC 5952 §4.2.2
  for (let i = 0; i < 8; i++) {
    let length = 0;
    while (i + length < 8 && words[i + length] === 0) length++;
    if (length > best.length) best = { from: i, length };
  }
  const hex = words.map((word) => word.toString(16));
  if (best.length < 2) return hex.join(':');
  return `${hex.slice(0, best.from).join(':')}::${hex.slice(best.from + best.length).join(':')}`;
}
