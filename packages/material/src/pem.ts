import { isUtf8 } from 'node:buffer';
import { bufferOf } from './bytes.ts';
import { MaterialError, type MaterialErrorCode } from './error.ts';

export interface PemBlock {
  readonly label: string;
  readonly der: Uint8Array;
  /** Line of its BEGIN; the first line is 1. */
  readonly line: number;
}

/** A run of lines outside the blocks. At most 1,000 are reported. */
export interface Junk {
  readonly line: number;
  /** Start of the run's first line. Never text that could be key bytes. */
  readonly text: string;
}

/** 16 MiB, about 10,000 certificates. Only limits the work: Kubernetes objects are under 1.5 MiB. */
export const MAX_PEM_BYTES = 16 * 1024 * 1024;

const JUNK_CHARS = 60;
/** More entries could take more memory than the text. */
const MAX_JUNK = 1_000;
const BOUNDARY = /^-----(BEGIN|END) ([A-Z0-9][A-Z0-9 ]*)-----$/;

const refuse = (code: MaterialErrorCode, message: string): never => {
  throw new MaterialError(code, message);
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

/** Base64 text could be a key without its label, so it is not shown. */
const shown = (line: string): string => {
  if (/[A-Za-z0-9+/=]{24}/.test(line)) return '[base64 text]';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not reach a terminal
  const plain = line.trim().replace(/[\u0000-\u001f\u007f-\u009f]/g, '?');
  return plain.length > JUNK_CHARS ? `${plain.slice(0, JUNK_CHARS)}…` : plain;
};

/** Strict base64: encoding the result must give the same text (alphabet, padding, zero tail bits). */
function decode(body: string, label: string, line: number): Uint8Array {
  const der = Buffer.from(body, 'base64');
  if (der.length === 0 || der.toString('base64') !== body) {
    refuse('PEM_BAD_BASE64', `${label} at line ${line} is not proper base64; copy the file again, whole`);
  }
  return der;
}

/**
 * Reads the text line by line. Calls `label` at each BEGIN, before it reads the body, so that a refused label is reported
 * even when the body is bad.
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
          refuse('PEM_BAD_BOUNDARY', `${open.label} of line ${open.line} has no END before line ${line}`);
        label(name, line);
        open = { label: name, line, body: '' };
        inJunk = false;
        continue;
      }
      if (name !== undefined && kind === 'END') {
        if (!open) return refuse('PEM_BAD_BOUNDARY', `END ${name} at line ${line} without a BEGIN`);
        if (open.label !== name) {
          refuse('PEM_BAD_BOUNDARY', `${open.label} of line ${open.line} ends as ${name} at line ${line}`);
        }
        blocks.push({ label: name, der: decode(open.body, name, open.line), line: open.line });
        open = undefined;
        continue;
      }
    }
    // A damaged boundary is not junk: skipping it would silently drop a certificate. `cat` of files without a last newline
    // makes `-----END …----------BEGIN …-----`.
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
  if (open) refuse('PEM_TRUNCATED', `${open.label} of line ${open.line} has no END; the text is cut short`);
  return { blocks, junk };
}

/**
 * Reads every block and the text between them. Accepts a byte order mark, CRLF and white space around lines; refuses a
 * damaged boundary or body, and more than {@link MAX_PEM_BYTES}.
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
