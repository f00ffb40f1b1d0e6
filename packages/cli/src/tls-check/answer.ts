import { isEphemeralEc, VERSIONS } from './names.ts';

export type ServerAnswer =
  | {
      readonly kind: 'hello';
      /** Its number on the wire. */
      readonly version: number;
      readonly suite: number;
      readonly group: number | undefined;
      readonly asksForCertificate: boolean;
    }
  | { readonly kind: 'alert'; readonly code: number }
  | { readonly kind: 'not-tls' };

const ALERT = 21;
const HANDSHAKE = 22;
const MESSAGE = { hello: 2, keyExchange: 12, certificateRequest: 13, done: 14 } as const;
/** 2^14 bytes, and what a cipher may add: RFC 5246 §6.2.3. */
const MAX_RECORD = 16_384 + 2_048;
const NOT_TLS: ServerAnswer = { kind: 'not-tls' };

interface Hello {
  readonly version: number;
  readonly suite: number;
  readonly group: number | undefined;
}

/** Throws RangeError at the end of the data. */
function readHello(body: Buffer): Hello {
  let version = body.readUInt16BE(0);
  let at = 35 + body.readUInt8(34);
  const suite = body.readUInt16BE(at);
  at += 3;
  let group: number | undefined;
  if (at < body.length) {
    const end = at + 2 + body.readUInt16BE(at);
    at += 2;
    while (at < end) {
      const type = body.readUInt16BE(at);
      const length = body.readUInt16BE(at + 2);
      if (type === 43) version = body.readUInt16BE(at + 4);
      // of a HelloRetryRequest: the group alone; of a ServerHello: the group, then a key
      if (type === 51) group = body.readUInt16BE(at + 4);
      at += 4 + length;
    }
  }
  return { version, suite, group };
}

/**
 * Reads a server's answer so far. Undefined: not enough yet. On TLS 1.3 its hello is enough; before, its whole first flight is needed,
 * because some servers give up within it.
 */
export function readAnswer(bytes: Buffer): ServerAnswer | undefined {
  try {
    return readRecords(bytes);
  } catch (error) {
    if (error instanceof RangeError) return NOT_TLS; // a length beyond its container
    throw error;
  }
}

function readRecords(bytes: Buffer): ServerAnswer | undefined {
  const messages: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const type = bytes.readUInt8(at);
    if (type < 20 || type > 23 || (bytes.length > at + 1 && bytes.readUInt8(at + 1) !== 3)) return NOT_TLS;
    if (bytes.length < at + 5) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length > MAX_RECORD) return NOT_TLS;
    const body = bytes.subarray(at + 5, at + 5 + length);
    if (type === HANDSHAKE) messages.push(body);
    at += 5 + length;
    if (type !== ALERT || at > bytes.length) continue;
    if (length !== 2) return NOT_TLS;
    const [level, code] = [body.readUInt8(0), body.readUInt8(1)];
    // A warning, such as unrecognized_name, does not end a handshake; close_notify does.
    if (level !== 1 || code === 0) return readFlight(Buffer.concat(messages)) ?? { kind: 'alert', code };
  }
  return readFlight(Buffer.concat(messages));
}

function readFlight(messages: Buffer): ServerAnswer | undefined {
  let hello: Hello | undefined;
  let group: number | undefined;
  let asksForCertificate = false;
  for (let at = 0; messages.length >= at + 4; ) {
    const type = messages.readUInt8(at);
    const length = messages.readUIntBE(at + 1, 3);
    if (hello === undefined && type !== MESSAGE.hello) return NOT_TLS;
    const body = messages.subarray(at + 4, at + 4 + length);
    if (body.length < length) return undefined;
    at += 4 + length;
    if (hello === undefined) {
      hello = readHello(body);
      group = hello.group;
      if (hello.version === VERSIONS['TLS 1.3']) return { kind: 'hello', ...hello, asksForCertificate };
    }
    if (type === MESSAGE.certificateRequest) asksForCertificate = true;
    // curve_type named_curve, then its number: RFC 8422 §5.4
    if (type === MESSAGE.keyExchange && isEphemeralEc(hello.suite) && body[0] === 3)
      group = body.readUInt16BE(1);
    if (type === MESSAGE.done) return { kind: 'hello', ...hello, group, asksForCertificate };
  }
  return undefined;
}
