import { isIP } from 'node:net';
import { type Clock, HandoverError, METRICS_PATH, STATUS_PATH } from '@handover/material';
import { inWords, urlInWords } from '../snapshot/system-errors.ts';
import type { SourceDocument } from './document-schema.ts';
import {
  type AnswerReader,
  askSocket,
  documentReader,
  fetchAnswer,
  isTimeout,
  TIMEOUT_MS,
} from './fetch-text.ts';
import { METRICS_WORDING, MetricsPage } from './metrics-page.ts';
import {
  type DocumentRead,
  type Issued,
  proofIn,
  readDocument,
  unreadable,
  unreadOf,
} from './read-document.ts';

/** Where a process answers over HTTP. */
export interface HttpAddress {
  readonly url: string;
  /** Connects here instead of the URL's host and port; no name is resolved. */
  readonly at?: { readonly ip: string; readonly port: number } | undefined;
}

/** Where a process serves its status document. */
export interface StatusAddress extends Partial<HttpAddress> {
  /** `read` throws if its content may be of another user. */
  readonly file?: { readonly path: string; readonly read: () => Promise<Uint8Array> } | undefined;
  readonly socket?: string | undefined;
  /** Which socket it is; throws if it may be of another user. */
  readonly check?: (() => Promise<string>) | undefined;
  /** Asks at the socket, whose path may block. Default: `askSocket`. */
  readonly ask?: (() => Promise<string>) | undefined;
}

/** The answer at a URL; `path`: where the URL has none. */
const askUrl = <Result>(
  { url, at }: HttpAddress,
  path: string,
  clock: Clock,
  reader: AnswerReader<Result>,
): Promise<Result> => {
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const asked = { path: pathname === '/' ? path : `${pathname}${search}` };
  const host = hostname.replace(/^\[|\]$/g, '');
  const isSecure = protocol === 'https:';
  if (at === undefined) return fetchAnswer({ ...asked, hostname: host, port }, isSecure, clock, reader);
  const named = isIP(host) === 0 ? { servername: host } : {};
  return fetchAnswer(
    { ...asked, hostname: at.ip, port: at.port, headers: { host: hostname }, ...named },
    isSecure,
    clock,
    reader,
  );
};

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
  return askUrl({ url: url ?? '', at }, STATUS_PATH, clock, documentReader());
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
  return namedAfter(`the status document of ${placeName(place)}`, readDocument(text, issued));
};

/** What is wrong with the answer, after the name of the answer. */
const namedAfter = (name: string, { unread, ...read }: DocumentRead): DocumentRead => {
  const named = (why: string | undefined): string | undefined =>
    why === undefined ? undefined : `${name} ${why}`;
  return { ...read, unread: unreadOf(named(unread.trust), named(unread.leaf)) };
};

/** Asks for a metrics page, and says why it is no evidence. It is of the moment of the answer, and names neither a process nor a pod. */
export const askMetrics = async (place: HttpAddress, issued: Issued, clock: Clock): Promise<DocumentRead> => {
  let sources: readonly SourceDocument[];
  try {
    sources = await askUrl(place, METRICS_PATH, clock, new MetricsPage());
  } catch (error) {
    return unreadable(`no metrics from ${urlInWords(place.url)}: ${reasonOf(error)}`);
  }
  const page = {
    at: issued.now,
    pid: undefined,
    podUid: undefined,
    truncated: false,
    wording: METRICS_WORDING,
    sources,
  };
  return namedAfter(`the metrics page of ${urlInWords(place.url)}`, proofIn(page, issued));
};
