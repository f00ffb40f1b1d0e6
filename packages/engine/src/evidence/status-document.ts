import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { Proof } from '@handover/core';
import { type Instant, instant } from '@handover/material';
import type { AuthorityRecord } from '../look/home.ts';
import { readBounded } from '../look/read-bounded.ts';
import { unheard } from './processes.ts';

/** Where a process serves its status document. */
export interface StatusPlace {
  readonly file?: string | undefined;
  readonly socket?: string | undefined;
  readonly url?: string | undefined;
  /** Connects here instead of the URL's host and port; no name is resolved. */
  readonly at?: { readonly ip: string; readonly port: number } | undefined;
}

/** Fixed, so that an object of the cluster cannot choose what is requested. */
export const STATUS_PATH = '/handover/status';
const MAX_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 8 * 1024;
const TIMEOUT_MS = 2_000;
/** The runtime writes its file every 10 s; after three missed writes its process is gone. */
const STALE_MS = 35_000;

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
          if (size > MAX_BYTES) ask.destroy(new Error('the document is over 64 KiB'));
          else chunks.push(chunk);
        });
        response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
        response.on('error', reject);
        response.on('aborted', () => reject(new Error('the answer broke off')));
      },
    );
    ask.on('error', reject).end();
  });

const textOf = async ({ file, socket, url, at }: StatusPlace): Promise<string> => {
  if (file !== undefined) {
    const { bytes } = readBounded(file, { most: MAX_BYTES, follow: false });
    return Buffer.from(bytes).toString('utf8');
  }
  if (socket !== undefined) return fetchText({ socketPath: socket, path: STATUS_PATH }, false);
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

interface Source {
  readonly anchors?: unknown;
  readonly leaf?: { readonly fingerprint?: unknown; readonly issuerKeyId?: unknown };
}

const strings = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined;

/** CA certificates of all generations of an authority, newest first. */
const issuersOf = (record: AuthorityRecord): readonly { keyId: string | undefined; fingerprint: string }[] =>
  record.state.generations.flatMap(({ anchors }) =>
    anchors.map(({ fingerprint }) => ({
      fingerprint,
      keyId: record.certificates.get(fingerprint)?.subjectKeyId,
    })),
  );

/**
 * Proof that a status document gives for one authority. Skips sources without a CA of this authority; of the others, only
 * the CAs that all of them hold count. Undefined when the text is not a status document.
 */
export const readDocument = (
  text: string,
  record: AuthorityRecord,
  now: Instant,
): { readonly proof: Proof; readonly pid: number; readonly podUid: string | undefined } | undefined => {
  let value: {
    version?: unknown;
    at?: unknown;
    pid?: unknown;
    podUid?: unknown;
    processes?: unknown;
    sources?: unknown;
    truncated?: unknown;
  };
  try {
    value = JSON.parse(text) ?? {};
  } catch {
    return undefined;
  }
  const at = Date.parse(String(value.at));
  if (value.version !== 1 || !Array.isArray(value.sources) || Number.isNaN(at) || now - at > STALE_MS)
    return undefined;
  // A process that gave no answer may still use what the others no longer do.
  if (unheard(value.processes) !== undefined) return undefined;
  const issuers = issuersOf(record);
  const ours = new Set(issuers.map(({ fingerprint }) => fingerprint));
  const held = (value.sources as readonly Source[])
    .map((source) => strings(source?.anchors))
    .filter((anchors) => anchors?.some((anchor) => ours.has(anchor)) === true)
    .map((anchors) => new Set(anchors));
  const common = held[0] && [...held[0]].filter((anchor) => held.every((anchors) => anchors.has(anchor)));
  const shown = (value.sources as readonly Source[]).flatMap(({ leaf } = {}) => {
    const index = issuers.findIndex(({ keyId }) => keyId !== undefined && keyId === leaf?.issuerKeyId);
    return index < 0 ? [] : [{ index, leaf: leaf?.fingerprint }];
  });
  // Of several leaves the one with the oldest issuer counts.
  const oldest = shown.sort((a, b) => b.index - a.index)[0];
  const issuer = oldest === undefined ? undefined : issuers[oldest.index]?.fingerprint;
  return {
    pid: typeof value.pid === 'number' ? value.pid : 0,
    podUid: typeof value.podUid === 'string' ? value.podUid : undefined,
    proof: {
      by: 'acknowledged',
      at: instant(Math.min(at, now)),
      ...(common === undefined ? {} : { anchors: common, complete: value.truncated !== true }),
      ...(issuer === undefined ? {} : { issuer }),
      ...(typeof oldest?.leaf === 'string' ? { leaf: oldest.leaf } : {}),
    },
  };
};

export const askStatus = async (
  place: StatusPlace,
  record: AuthorityRecord,
  now: Instant,
): Promise<ReturnType<typeof readDocument>> => {
  try {
    return readDocument(await textOf(place), record, now);
  } catch {
    return undefined; // unreachable, incomplete or too slow: no proof
  }
};
