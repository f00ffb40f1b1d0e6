import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { HandoverError, type Instant, MAX_STATUS_BYTES, STATUS_PATH } from '@handover/material';
import type { AuthorityRecord } from '../look/home.ts';
import { inWords, urlInWords } from '../look/system-errors.ts';
import { type DocumentRead, readDocument, unreadable, unreadOf } from './read-document.ts';

/** Where a process serves its status document. */
export interface StatusAddress {
  /** `read` throws if its content may be of another user. */
  readonly file?: { readonly path: string; readonly read: () => Uint8Array } | undefined;
  readonly socket?: string | undefined;
  /** Which socket it is; throws if it may be of another user. */
  readonly check?: (() => string) | undefined;
  readonly url?: string | undefined;
  /** Connects here instead of the URL's host and port; no name is resolved. */
  readonly at?: { readonly ip: string; readonly port: number } | undefined;
}

const MAX_HEADER_BYTES = 8 * 1024;
const TIMEOUT_MS = 2_000;

const fetchText = (options: RequestOptions, secure: boolean): Promise<string> =>
  new Promise((resolve, reject) => {
    const ask = (secure ? httpsRequest : httpRequest)(
      // The signal also ends an answer that comes byte by byte, or never.
      {
        ...options,
        agent: false,
        maxHeaderSize: MAX_HEADER_BYTES,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      },
      (response) => {
        // A redirect is not followed: another server would answer.
        if (response.statusCode !== 200) {
          ask.destroy(new Error(`the answer is HTTP ${response.statusCode}`));
          return;
        }
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_STATUS_BYTES) ask.destroy(new Error('the document is over 64 KiB'));
          else chunks.push(chunk);
        });
        response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
        response.on('error', reject);
        response.on('aborted', () => reject(new Error('the answer broke off')));
      },
    );
    ask.on('error', reject);
    ask.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Error('the answer is HTTP 101'));
    });
    // Without an answer, an error or an end Node would leave the question open for good.
    ask.on('close', () => reject(new Error('the connection ended without an answer'))).end();
  });

const textOf = async ({ file, socket, check, url, at }: StatusAddress): Promise<string> => {
  if (file !== undefined) return Buffer.from(file.read()).toString('utf8');
  if (socket !== undefined) {
    const before = check?.();
    const text = await fetchText({ socketPath: socket, path: STATUS_PATH }, false);
    if (check?.() !== before) throw new Error('the socket was replaced while it answered');
    return text;
  }
  const { protocol, hostname, port, pathname, search } = new URL(url ?? '');
  const path = pathname === '/' ? STATUS_PATH : `${pathname}${search}`;
  const host = hostname.replace(/^\[|\]$/g, '');
  if (at === undefined) return fetchText({ hostname: host, port, path }, protocol === 'https:');
  const named = isIP(host) === 0 ? { servername: host } : {};
  return fetchText(
    { hostname: at.ip, port: at.port, path, headers: { host: hostname }, ...named },
    protocol === 'https:',
  );
};

/** Where a document comes from, for people. */
const placeName = ({ file, socket, url }: StatusAddress): string =>
  file?.path ?? socket ?? urlInWords(url ?? '');

const NO_ANSWER = `no answer within ${TIMEOUT_MS / 1000} s`;

const reasonOf = (error: unknown): string => {
  if (error instanceof HandoverError) return error.message;
  const { name, code } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError' || code === 'ABORT_ERR') return NO_ANSWER;
  return code === 'ENOENT' ? 'there is no such file' : inWords(error);
};

/** Asks for a status document, and says why it is no evidence. */
export const askStatus = async (
  place: StatusAddress,
  record: AuthorityRecord,
  now: Instant,
): Promise<DocumentRead> => {
  let text: string;
  try {
    text = await textOf(place);
  } catch (error) {
    return unreadable(`no status document from ${placeName(place)}: ${reasonOf(error)}`);
  }
  const { unread, ...read } = readDocument(text, record, now);
  const named = (why: string | undefined): string | undefined =>
    why === undefined ? undefined : `the status document of ${placeName(place)} ${why}`;
  return { ...read, unread: unreadOf(named(unread.trust), named(unread.leaf)) };
};
