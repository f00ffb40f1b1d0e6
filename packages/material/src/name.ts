import { type DerReader, readOid, TAG } from './der.ts';
import { ATTRIBUTE_NAMES } from './oid.ts';

/** A distinguished name, as text and for comparison. */
export interface Name {
  /** RFC 4514: last RDN first, `CN=mesh 1 ab12cd34,O=Example`. */
  readonly text: string;
  /**
   * Equal for names that a verifier calls equal. As in OpenSSL's X509_NAME_cmp, string type, ASCII case and amount of white
   * space do not count.
   */
  readonly key: string;
  readonly empty: boolean;
  /** One key for each RDN, for name constraints on directory names. */
  readonly rdnKeys: readonly string[];
  readonly commonNames: readonly string[];
  readonly emails: readonly string[];
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

const wide = (value: DerReader, octets: 2 | 4): string => {
  const { bytes, end } = value;
  if ((end - value.at) % octets !== 0) value.fail('name of a bad length');
  let text = '';
  for (let i = value.at; i < end; i += octets) {
    let point = 0;
    for (let k = 0; k < octets; k++) point = point * 256 + (bytes[i + k] ?? 0);
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) value.fail('name with a bad character');
    text += String.fromCodePoint(point);
  }
  return text;
};

/** The text of the string types that OpenSSL accepts in a name. */
export function stringOf(tag: number, value: DerReader): string {
  switch (tag) {
    case TAG.utf8String:
      try {
        return utf8.decode(value.rest());
      } catch {
        return value.fail('name is not UTF-8');
      }
    case TAG.printableString:
    case TAG.numericString:
    case TAG.ia5String:
    case TAG.t61String: // read as Latin-1, as in every implementation
      return value.latin1();
    case TAG.bmpString:
      return wide(value, 2);
    case TAG.universalString:
      return wide(value, 4);
    default:
      return value.fail('name of a kind that is not text');
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 4514 has them escaped
const SPECIAL = /[\\",+;<>=\u0000-\u001f\u007f]/g;
const escaped = (value: string): string =>
  value
    .replace(SPECIAL, (c) =>
      c < ' ' || c === '\x7f' ? `\\${c.charCodeAt(0).toString(16).padStart(2, '0')}` : `\\${c}`,
    )
    .replace(/^[ #]/, '\\$&')
    .replace(/ $/, '\\ ');

/** ASCII in lower case, runs of white space as one space, none at the ends. */
const folded = (value: string): string =>
  value
    .replace(/[ \t\n\v\f\r]+/g, ' ')
    .replace(/^ | $/g, '')
    .replace(/[A-Z]+/g, (upper) => upper.toLowerCase());

/** Reads one Name (RDNSequence). */
export function readName(from: DerReader): Name {
  return readRdns(from.enter(TAG.sequence, 'name'));
}

function readRdns(rdns: DerReader): Name {
  const texts: string[] = [];
  const rdnKeys: string[] = [];
  const commonNames: string[] = [];
  const emails: string[] = [];
  while (!rdns.done) {
    const rdn = rdns.enter(TAG.set, 'relative name');
    if (rdn.done) rdn.fail('empty relative name');
    const parts: string[] = [];
    const keys: string[] = [];
    while (!rdn.done) {
      const attribute = rdn.enter(TAG.sequence, 'attribute');
      const type = readOid(attribute);
      const tag = attribute.peek();
      const value = attribute.element();
      attribute.finish('attribute');
      const text = stringOf(tag, value);
      const label = ATTRIBUTE_NAMES[type] ?? type;
      if (label === 'CN') commonNames.push(text);
      else if (label === 'emailAddress') emails.push(text);
      parts.push(`${label}=${escaped(text)}`);
      // OpenSSL compares NumericString byte by byte, and never equal to another type
      const key = tag === TAG.numericString ? `#${text}` : folded(text);
      keys.push(`${type}=${key.length}:${key}`); // the length keeps two attributes from reading as one
    }
    texts.push(parts.join('+'));
    rdnKeys.push(keys.length === 1 ? (keys[0] ?? '') : keys.sort().join('+'));
  }
  return {
    text: texts.reverse().join(','),
    key: rdnKeys.join('/'),
    empty: rdnKeys.length === 0,
    rdnKeys,
    commonNames,
    emails,
  };
}

/** Reads a Name that fills a context tag. */
export const nameWithin = (from: DerReader): Name => {
  const name = readName(from);
  from.finish('name');
  return name;
};
