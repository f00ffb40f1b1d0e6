import type { StartTls } from '@handover/core';

/** What was made of the bytes so far. */
export interface Heard {
  readonly used: number;
  readonly send?: Uint8Array | string;
  /** TLS may start. */
  readonly done?: true;
  /** Why it may not, read after the server's address. */
  readonly refused?: string;
  /** The refusal is for now: the server has too many connections. */
  readonly isBusy?: boolean;
}

interface Dialogue {
  /** What the client says first. */
  readonly opening?: Uint8Array;
  /** undefined: more bytes are needed. */
  hear(bytes: Buffer): Heard | undefined;
}

const OFF = 'has TLS off';
const isNot = (protocol: string): string => `does not speak ${protocol}`;
/** Another program may have put it there: it is no answer to a question that was not asked yet (RFC 3207 §6). */
const EARLY = 'answers before it is asked';

/** SSLRequest; `S` is yes. An old server answers with an error message, which begins with `E`. */
const postgres = (): Dialogue => ({
  opening: Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]),
  hear: ([answer]) => {
    if (answer === undefined) return undefined;
    if (answer === 0x53) return { used: 1, done: true };
    return { used: 1, refused: answer === 0x4e || answer === 0x45 ? OFF : isNot('postgres') };
  },
});

const MYSQL_SSL = 0x0800;
const MYSQL_ERROR = 0xff;
/** Protocol 4.1, TLS, 20-byte challenges; packets of 16 MiB; utf8mb4. */
const MYSQL_SSL_REQUEST = Buffer.concat([
  Buffer.from([32, 0, 0, 1, 0x00, 0x8a, 0, 0, 0, 0, 0, 1, 45]),
  Buffer.alloc(23),
]);

/** The server greets with its abilities; a request for TLS is the first half of a login. */
const mysql = (): Dialogue => ({
  hear: (bytes) => {
    if (bytes.length < 5) return undefined;
    const end = 4 + bytes.readUIntLE(0, 3);
    if (bytes[4] !== 10 && bytes[4] !== MYSQL_ERROR) return { used: 0, refused: isNot('mysql') };
    if (bytes.length < end) return undefined;
    if (bytes[4] === MYSQL_ERROR) return { used: end, refused: 'refuses this host (a mysql error)' };
    // After the version: thread id 4, challenge 8, filler 1.
    const abilities = bytes.indexOf(0, 5) + 14;
    if (abilities < 19 || abilities + 2 > end) return { used: end, refused: isNot('mysql') };
    if ((bytes.readUInt16LE(abilities) & MYSQL_SSL) === 0) return { used: end, refused: OFF };
    return { used: end, send: MYSQL_SSL_REQUEST, done: true };
  },
});

/** One CRLF line; undefined: it has not ended yet. */
const lineOf = (bytes: Buffer): { readonly line: string; readonly used: number } | undefined => {
  const end = bytes.indexOf('\n');
  return end < 0 ? undefined : { line: bytes.toString('latin1', 0, end).trimEnd(), used: end + 1 };
};

const smtp = (): Dialogue => {
  let asked: 'nothing' | 'abilities' | 'tls' = 'nothing';
  let offers = false;
  return {
    hear: (bytes) => {
      const read = lineOf(bytes);
      if (read === undefined) return undefined;
      const { line, used } = read;
      const [, code, more, text = ''] = /^(\d{3})([ -]?)(.*)$/.exec(line) ?? [];
      if (code === undefined) return { used, refused: isNot('smtp') };
      offers ||= asked === 'abilities' && /^starttls$/i.test(text.trim());
      if (more === '-') return { used };
      if (asked !== 'tls' && bytes.length > used) return { used, refused: EARLY };
      if (asked === 'nothing') {
        // 421: too many connections, or shutting down (RFC 5321 §4.2.3)
        if (code !== '220') return { used, refused: `greets with ${code}`, isBusy: code === '421' };
        asked = 'abilities';
        return { used, send: 'EHLO handover.invalid\r\n' };
      }
      if (asked === 'abilities') {
        if (!offers) return { used, refused: OFF };
        asked = 'tls';
        return { used, send: 'STARTTLS\r\n' };
      }
      return code === '220' ? { used, done: true } : { used, refused: `refuses STARTTLS with ${code}` };
    },
  };
};

const imap = (): Dialogue => {
  let hasGreeted = false;
  return {
    hear: (bytes) => {
      const read = lineOf(bytes);
      if (read === undefined) return undefined;
      const { line, used } = read;
      if (!hasGreeted) {
        hasGreeted = true;
        // Lines without a tag may come at any time.
        if (bytes.includes('h1 ', used)) return { used, refused: EARLY };
        if (/^\* OK\b/i.test(line)) return { used, send: 'h1 STARTTLS\r\n' };
        return { used, refused: /^\* (BYE|PREAUTH)\b/i.test(line) ? 'refuses the session' : isNot('imap') };
      }
      if (!line.startsWith('h1 ')) return line.startsWith('* ') ? { used } : { used, refused: isNot('imap') };
      return /^h1 OK\b/i.test(line) ? { used, done: true } : { used, refused: OFF };
    },
  };
};

/** RFC 4217 §4: AUTH TLS, and its consent is 234. */
const ftp = (): Dialogue => {
  let hasGreeted = false;
  return {
    hear: (bytes) => {
      const read = lineOf(bytes);
      if (read === undefined) return undefined;
      const { line, used } = read;
      const [, code, more] = /^(\d{3})([ -]?)/.exec(line) ?? [];
      // Between the first and the last line of an answer there may be any text: RFC 959 §4.2.
      if (code === undefined || more === '-')
        return code === undefined && !line.startsWith(' ') ? { used, refused: isNot('ftp') } : { used };
      if (hasGreeted) {
        if (code === '234') return { used, done: true };
        // 431: no certificate; 5xx: it does not know the command
        return { used, refused: code.startsWith('5') ? OFF : `refuses AUTH TLS with ${code}` };
      }
      // 120: it is ready in a few minutes; 421: too many connections, or shutting down
      if (code !== '220') return { used, refused: `greets with ${code}`, isBusy: /^(120|421)$/.test(code) };
      hasGreeted = true;
      if (bytes.length > used) return { used, refused: EARLY };
      return { used, send: 'AUTH TLS\r\n' };
    },
  };
};

const XMPP_TLS = "xmlns='urn:ietf:params:xml:ns:xmpp-tls'";
/** A domain as it stands in an attribute: what is no part of a name is left out. */
const domainOf = (servername: string): string => servername.replaceAll(/[^\w.:-]/g, '');

/** A client's stream, up to the element that asks for TLS: RFC 6120 §5.4. A server only answers for a domain that it has. */
const xmpp = (servername: string): Dialogue => {
  let hasAsked = false;
  return {
    opening: Buffer.from(
      `<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' to='${domainOf(servername)}' version='1.0'>`,
    ),
    hear: (bytes) => {
      const text = bytes.toString('latin1');
      if (/^\s*[^<\s]/.test(text)) return { used: bytes.length, refused: isNot('xmpp') };
      const [error, reason = ''] = /<stream:error[^>]*>\s*<([\w-]+)/.exec(text) ?? [];
      if (error !== undefined) return { used: bytes.length, refused: `refuses the stream (${reason})` };
      if (!hasAsked) {
        const features = /<stream:features\b[^>]*(\/>|>([\s\S]*?)<\/stream:features>)/.exec(text);
        if (features === null) return undefined;
        const used = features.index + features[0].length;
        if (!/<starttls\b/.test(features[2] ?? '')) return { used, refused: OFF };
        if (text.slice(used).trim() !== '') return { used, refused: EARLY };
        hasAsked = true;
        return { used: bytes.length, send: `<starttls ${XMPP_TLS}/>` };
      }
      const answer = /^\s*<(proceed|failure)\b[^>]*(\/>|>\s*<\/\1\s*>)/.exec(text);
      if (answer === null) return undefined;
      const used = answer[0].length;
      return answer[1] === 'proceed' ? { used, done: true } : { used, refused: 'refuses STARTTLS' };
    },
  };
};

const LDAP_START_TLS = '1.3.6.1.4.1.1466.20037';

/** Length of a BER element, header included; undefined: more bytes are needed. */
const berEnd = (bytes: Buffer, at: number): { readonly body: number; readonly end: number } | undefined => {
  const first = bytes[at + 1];
  if (first === undefined) return undefined;
  if (first < 0x80) return { body: at + 2, end: at + 2 + first };
  const size = first & 0x7f;
  if (size === 0 || size > 4 || bytes.length < at + 2 + size) return undefined;
  return { body: at + 2 + size, end: at + 2 + size + bytes.readUIntBE(at + 2, size) };
};

/** An extended request, and an extended response whose result code is 0. */
const ldap = (): Dialogue => ({
  opening: Buffer.concat([
    Buffer.from([0x30, 0x1d, 0x02, 0x01, 0x01, 0x77, 0x18, 0x80, LDAP_START_TLS.length]),
    Buffer.from(LDAP_START_TLS, 'latin1'),
  ]),
  hear: (bytes) => {
    if (bytes.length > 0 && bytes[0] !== 0x30) return { used: 0, refused: isNot('ldap') };
    const message = berEnd(bytes, 0);
    if (message === undefined || bytes.length < message.end) return undefined;
    const used = message.end;
    const number = berEnd(bytes, message.body);
    const response = number === undefined ? undefined : berEnd(bytes, number.end);
    if (number === undefined || response === undefined || bytes[number.end] !== 0x78)
      return { used, refused: isNot('ldap') };
    // An ENUMERATED of one byte comes first: RFC 4511 §4.1.9.
    const [tag, length, code] = bytes.subarray(response.body, Math.min(response.end, used));
    if (tag !== 0x0a || length !== 1 || code === undefined) return { used, refused: isNot('ldap') };
    return code === 0 ? { used, done: true } : { used, refused: `refuses StartTLS (result ${code})` };
  },
});

/** `servername`: which server is asked for, where the protocol says it before TLS does. */
export const DIALOGUES: Readonly<Record<StartTls, (servername: string) => Dialogue>> = {
  postgres,
  mysql,
  smtp,
  imap,
  ldap,
  ftp,
  xmpp,
};
