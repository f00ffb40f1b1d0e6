import { isUtf8 } from 'node:buffer';
import { bufferOf } from './bytes.ts';
import { HandoverError } from './error.ts';

export interface PemBlock {
  readonly label: string;
  readonly der: Uint8Array;
  /** Line of its BEGIN, counted from 1. */
  readonly line: number;
}

/** Text outside the blocks: one entry for each run of lines, the first 1,000 of them. */
export interface Junk {
  readonly line: number;
  /** The beginning of the run's first line. Never what might be key bytes. */
  readonly text: string;
}

/** 16 MiB: some 10,000 certificates. Kubernetes keeps objects under 1.5 MiB; this only bounds the work. */
export const MAX_PEM_BYTES = 16 * 1024 * 1024;

const JUNK_CHARS = 60;
/** More entries than this help nobody, and would cost more memory than the text. */
const MAX_JUNK = 1_000;
const BOUNDARY = /^-----(BEGIN|END) ([A-Z0-9][A-Z0-9 ]*)-----$/;

const refuse = (code: string, message: string): never => {
  throw new HandoverError(code, message);
};

function asText(input: string | Uint8Array): string {
  if (input.length > MAX_PEM_BYTES) {
    return refuse(
      'PEM_TOO_LARGE',
      `PEM of ${input.length} bytes is over the limit of ${MAX_PEM_BYTES}; split it`,
    );
  }
  if (typeof input !== 'string') {
    const [first, second] = input;
    if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
      return refuse('PEM_BINARY', 'file is UTF-16, not PEM; save it as UTF-8');
    }
  }
  const text = typeof input === 'string' ? input : bufferOf(input).toString('utf8');
  // A comment between blocks may be in any encoding; other bytes that are not UTF-8 are no PEM.
  const isText = typeof input === 'string' || isUtf8(input) || text.includes('-----BEGIN ');
  if (!isText || text.includes('\0')) {
    return refuse('PEM_BINARY', 'binary data, not PEM; convert DER with `openssl x509 -inform der -in FILE`');
  }
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** A stretch of base64 could be a key that lost its label: it is not repeated. */
const shown = (line: string): string => {
  if (/[A-Za-z0-9+/=]{24}/.test(line)) return '[base64 text]';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not reach a terminal
  const plain = line.trim().replace(/[\u0000-\u001f\u007f-\u009f]/g, '?');
  return plain.length > JUNK_CHARS ? `${plain.slice(0, JUNK_CHARS)}…` : plain;
};

/** Strict base64: decoding and encoding again must give the same text (alphabet, padding, zero tail bits). */
function decode(body: string, label: string, line: number): Uint8Array {
  const der = Buffer.from(body, 'base64');
  if (der.length === 0 || der.toString('base64') !== body) {
    refuse('PEM_BAD_BASE64', `${label} at line ${line} is not proper base64; copy the file again, whole`);
  }
  return der;
}

/**
 * Walks the text line by line. `label` is asked at each BEGIN, before the body is looked at, so that a refusal by name
 * comes first, whatever the body is like.
 */
export function scanPem(
  input: string | Uint8Array,
  label: (label: string, line: number) => void,
): { blocks: PemBlock[]; junk: Junk[] } {
  const text = asText(input);
  const blocks: PemBlock[] = [];
  const junk: Junk[] = [];
  let open: { label: string; line: number; body: string } | undefined;
  let inJunk = false;
  let line = 0;
  for (let from = 0; from < text.length; ) {
    line++;
    const newline = text.indexOf('\n', from);
    const end = newline < 0 ? text.length : newline;
    const raw = text.slice(from, end);
    from = end + 1;
    if (raw.startsWith('-----')) {
      const boundary = BOUNDARY.exec(raw.trimEnd());
      const kind = boundary?.[1];
      const name = boundary?.[2];
      if (name !== undefined && kind === 'BEGIN') {
        if (open)
          refuse(
            'PEM_BAD_BOUNDARY',
            `${open.label} begun at line ${open.line} has no END before line ${line}`,
          );
        label(name, line);
        open = { label: name, line, body: '' };
        inJunk = false;
        continue;
      }
      if (name !== undefined && kind === 'END') {
        if (!open) return refuse('PEM_BAD_BOUNDARY', `END ${name} at line ${line} without a BEGIN`);
        if (open.label !== name) {
          refuse(
            'PEM_BAD_BOUNDARY',
            `${open.label} begun at line ${open.line} is ended as ${name} at line ${line}`,
          );
        }
        blocks.push({ label: name, der: decode(open.body, name, open.line), line: open.line });
        open = undefined;
        continue;
      }
    }
    // A mangled boundary is not junk: skipping it would drop a certificate in silence. `cat` of files without a last
    // newline makes `-----END …----------BEGIN …-----`.
    if (raw.includes('-----BEGIN') || raw.includes('-----END')) {
      refuse(
        'PEM_BAD_BOUNDARY',
        `line ${line} is a damaged BEGIN or END line; it must stand alone, unindented`,
      );
    }
    if (open) {
      open.body += raw.trim();
      continue;
    }
    if (raw.trim() === '') {
      inJunk = false;
    } else if (!inJunk) {
      if (junk.length < MAX_JUNK) junk.push({ line, text: shown(raw) });
      inJunk = true;
    }
  }
  if (open)
    refuse('PEM_TRUNCATED', `${open.label} begun at line ${open.line} has no END; the text was cut short`);
  return { blocks, junk };
}

/**
 * Every block and what stands between them. A byte order mark, CRLF and blank space around lines are tolerated; a boundary
 * or a body that is not exactly right is an error. At most {@link MAX_PEM_BYTES}.
 */
export function parsePem(text: string | Uint8Array): { blocks: readonly PemBlock[]; junk: readonly Junk[] } {
  return scanPem(text, () => {});
}

/** Lines of 64 characters, each ended by LF: RFC 7468 §2. */
export function encodePem(label: string, der: Uint8Array): string {
  const body = bufferOf(der).toString('base64');
  let text = `-----BEGIN ${label}-----\n`;
  for (let at = 0; at < body.length; at += 64) text += `${body.slice(at, at + 64)}\n`;
  return `${text}-----END ${label}-----\n`;
}

const CERTIFICATE_BLOCK = /^-----BEGIN CERTIFICATE-----[ \t]*\r?\n([^-]*)^-----END CERTIFICATE-----/gm;

/** The bodies of whatever looks like a CERTIFICATE block, damaged surroundings passed over; for material of others. */
export function* lenientCertificates(text: string): Generator<Uint8Array> {
  for (const [, body = ''] of text.slice(0, MAX_PEM_BYTES).matchAll(CERTIFICATE_BLOCK)) {
    const packed = body.replace(/\s+/g, '');
    const der = Buffer.from(packed, 'base64');
    if (der.length > 0 && der.toString('base64') === packed) yield der;
  }
}
