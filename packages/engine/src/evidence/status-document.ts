import { isIP } from 'node:net';
import { type Clock, HandoverError, STATUS_PATH } from '@handover/material';
import { inWords, urlInWords } from '../look/system-errors.ts';
import { askSocket, fetchText, isTimeout, TIMEOUT_MS } from './fetch-text.ts';
import { type DocumentRead, type Issued, readDocument, unreadable, unreadOf } from './read-document.ts';

/** Where a process serves its status document. */
export interface StatusAddress {
  /** `read` throws if its content may be of another user. */
  readonly file?: { readonly path: string; readonly read: () => Promise<Uint8Array> } | undefined;
  readonly socket?: string | undefined;
  /** Which socket it is; throws if it may be of another user. */
  readonly check?: (() => Promise<string>) | undefined;
  /** Asks at the socket, whose path may block. Default: `askSocket`. */
  readonly ask?: (() => Promise<string>) | undefined;
  readonly url?: string | undefined;
  /** Connects here instead of the URL's host and port; no name is resolved. */
  readonly at?: { readonly ip: string; readonly port: number } | undefined;
}

const textOf = async (
  { file, socket, check, ask, url, at }: StatusAddress,
  clock: Clock,
): Promise<string> => {
  if (file !== undefined) return Buffer.from(await file.read()).toString('utf8');
  if (socket !== undefined) {
    const before = await check?.();
    const text = await (ask ?? (() => askSocket(socket, clock)))();
    if ((await check?.()) !== before) throw new Error('the socket was replaced while it answered');
    return text;
  }
  const { protocol, hostname, port, pathname, search } = new URL(url ?? '');
  const path = pathname === '/' ? STATUS_PATH : `${pathname}${search}`;
  const host = hostname.replace(/^\[|\]$/g, '');
  if (at === undefined) return fetchText({ hostname: host, port, path }, protocol === 'https:', clock);
  const named = isIP(host) === 0 ? { servername: host } : {};
  return fetchText(
    { hostname: at.ip, port: at.port, path, headers: { host: hostname }, ...named },
    protocol === 'https:',
    clock,
  );
};

/** Where a document comes from, for people. */
const placeName = ({ file, socket, url }: StatusAddress): string =>
  file?.path ?? socket ?? urlInWords(url ?? '');

const NO_ANSWER = `no answer within ${TIMEOUT_MS / 1000} s`;

const reasonOf = (error: unknown): string => {
  if (error instanceof HandoverError) return error.message;
  const { name, code } = error as NodeJS.ErrnoException;
  if (isTimeout({ name, code })) return NO_ANSWER;
  return code === 'ENOENT' ? 'there is no such file' : inWords(error);
};

/** Asks for a status document, and says why it is no evidence. */
export const askStatus = async (
  place: StatusAddress,
  issued: Issued,
  clock: Clock,
): Promise<DocumentRead> => {
  let text: string;
  try {
    text = await textOf(place, clock);
  } catch (error) {
    return unreadable(`no status document from ${placeName(place)}: ${reasonOf(error)}`);
  }
  const { unread, ...read } = readDocument(text, issued);
  const named = (why: string | undefined): string | undefined =>
    why === undefined ? undefined : `the status document of ${placeName(place)} ${why}`;
  return { ...read, unread: unreadOf(named(unread.trust), named(unread.leaf)) };
};
