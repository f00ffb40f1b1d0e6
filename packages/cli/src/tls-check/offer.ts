import { randomBytes } from 'node:crypto';
import { connect, isIP, type Socket } from 'node:net';
import type { StartTls } from '@handover/core';
import { startTls } from '@handover/engine';
import { readAnswer, type ServerAnswer } from './answer.ts';
import { type Deadline, firstEvent } from './first-event.ts';
import { alertName, VERSION_NAMES, VERSIONS, type Version } from './names.ts';

/** What one ClientHello offers: one version, and nothing but these suites and groups. */
interface Offer {
  readonly version: Version;
  readonly suites: readonly number[];
  readonly groups: readonly number[];
  readonly servername: string | undefined;
}

const u16 = (...values: readonly number[]): Buffer =>
  Buffer.from(values.flatMap((value) => [value >> 8, value & 0xff]));
const sized = (bytes: 1 | 2 | 3, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(bytes);
  length.writeUIntBE(body.length, 0, bytes);
  return Buffer.concat([length, body]);
};
const extension = (type: number, body: Uint8Array): Buffer => Buffer.concat([u16(type), sized(2, body)]);

/** All signature algorithms: none of them shall be a reason to refuse. */
const SIGNATURES = [
  0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0804, 0x0805, 0x0806, 0x0809, 0x080a, 0x080b, 0x0401, 0x0501,
  0x0601, 0x081a, 0x081b, 0x081c, 0x0203, 0x0201, 0x0402, 0x0202,
];

/**
 * A ClientHello (RFC 8446 §4.1.2, RFC 5246 §7.4.1.2). For TLS 1.3 it has no key share, so that the server names its group
 * (HelloRetryRequest, §4.2.8): no key is generated, and any group can be offered.
 */
export function clientHello({ version, suites, groups, servername }: Offer, random: Buffer): Buffer {
  const is13 = version === 'TLS 1.3';
  const extensions = [
    ...(servername === undefined || isIP(servername) !== 0
      ? []
      : [extension(0, sized(2, Buffer.from([0]), sized(2, Buffer.from(servername, 'ascii'))))]),
    extension(10, sized(2, u16(...groups))),
    ...(is13
      ? [extension(43, sized(1, u16(VERSIONS[version]))), extension(51, sized(2))]
      : [
          extension(11, sized(1, Buffer.from([0]))),
          extension(23, Buffer.alloc(0)),
          extension(0xff01, sized(1)),
        ]),
    ...(version === 'TLS 1.2' || is13 ? [extension(13, sized(2, u16(...SIGNATURES)))] : []),
  ];
  const body = Buffer.concat([
    u16(is13 ? VERSIONS['TLS 1.2'] : VERSIONS[version]),
    random.subarray(0, 32),
    // a session id on TLS 1.3, too: middleboxes want to see one (RFC 8446 §D.4)
    sized(1, is13 ? random.subarray(32, 64) : Buffer.alloc(0)),
    sized(2, u16(...suites)),
    sized(1, Buffer.from([0])),
    sized(2, ...extensions),
  ]);
  const message = Buffer.concat([Buffer.from([1]), sized(3, body)]);
  return Buffer.concat([Buffer.from([22]), u16(0x0301), sized(2, message)]);
}

/** A server, and how to connect to it. */
export interface TlsTarget {
  readonly host: string;
  readonly port: number;
  /** Name for SNI; default the host, if it is one. */
  readonly servername?: string | undefined;
  readonly starttls?: StartTls | undefined;
}

export type OfferOutcome =
  | {
      readonly kind: 'accepted';
      readonly suite: number;
      readonly group: number | undefined;
      readonly asksForCertificate: boolean;
    }
  /** It answered with something that was not offered; `why`: its alert, or what it did instead. */
  | { readonly kind: 'refused'; readonly why: string }
  /** No connection at all. */
  | { readonly kind: 'unreachable'; readonly why: string }
  /** A connection, and no answer in time. */
  | { readonly kind: 'timeout'; readonly why: string }
  | { readonly kind: 'not-tls'; readonly why: string };

/** For the connection, and again for the answer. */
export type OfferOptions = Deadline;

export const CLOSED = 'closed the connection';
/** A complete first flight: certificates of 64 KiB are far more than in use. */
const MAX_BYTES = 256 * 1024;

type Failure = Exclude<OfferOutcome, { kind: 'accepted' }>;

/** Between two tries at a server that has too many connections; some of them are ours and have just ended. */
const BUSY_MS = 100;

/** A connection on which TLS can start. Never rejects. */
export async function reach(target: TlsTarget, options: OfferOptions): Promise<Socket | Failure> {
  const { clock, timeoutMs } = options;
  const until = clock.monotonic() + timeoutMs;
  for (;;) {
    const socket = await connected(target, options);
    if ('kind' in socket || target.starttls === undefined) return socket;
    const refusal = await startTls(socket, target.starttls, target.servername ?? target.host, {
      clock,
      timeoutMs,
    });
    if (refusal === undefined) return socket;
    socket.destroy();
    if (refusal.isBusy !== true || clock.monotonic() > until)
      return { kind: refusal.kind, why: `the server ${refusal.why}` };
    await clock.sleep(BUSY_MS);
  }
}

const connected = async ({ host, port }: TlsTarget, options: OfferOptions): Promise<Socket | Failure> => {
  const socket = connect({ host, port });
  const failure = await firstEvent<Failure | undefined>(
    socket,
    options,
    () => ({ kind: 'unreachable', why: `no answer within ${options.timeoutMs / 1000} s` }),
    (on, end) => {
      const failed = (error?: NodeJS.ErrnoException): void =>
        end({ kind: 'unreachable', why: error?.code ?? error?.message ?? CLOSED });
      on('error', failed);
      on('close', () => failed());
      on('connect', () => end(undefined));
    },
  );
  if (failure === undefined) return socket;
  socket.destroy();
  return failure;
};

const versionName = (wire: number): string =>
  VERSION_NAMES.find((name) => VERSIONS[name] === wire) ?? `version 0x${wire.toString(16)}`;

/** One ClientHello, and the server's answer. Nothing is encrypted, so the local OpenSSL does not matter. Never rejects. */
export async function offer(
  target: TlsTarget,
  what: Omit<Offer, 'servername'>,
  options: OfferOptions,
): Promise<OfferOutcome> {
  const socket = await reach(target, options);
  if ('kind' in socket) return socket;
  const hello = clientHello({ ...what, servername: target.servername ?? target.host }, randomBytes(64));
  let bytes = Buffer.alloc(0);
  const outcome = await firstEvent<OfferOutcome>(
    socket,
    options,
    () => ({ kind: 'timeout', why: `no answer within ${options.timeoutMs / 1000} s` }),
    (on, end) => {
      const closed = (): void => end({ kind: 'refused', why: CLOSED });
      on('error', closed);
      on('close', closed);
      on('data', (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk]);
        const answer = bytes.length > MAX_BYTES ? ({ kind: 'not-tls' } as const) : readAnswer(bytes);
        if (answer !== undefined) end(outcomeOf(answer, what));
      });
      socket.write(hello);
    },
  );
  socket.destroy();
  return outcome;
}

const outcomeOf = (answer: ServerAnswer, { version, suites }: Omit<Offer, 'servername'>): OfferOutcome => {
  if (answer.kind === 'not-tls') return { kind: 'not-tls', why: 'the answer is not TLS' };
  if (answer.kind === 'alert') return { kind: 'refused', why: alertName(answer.code) };
  if (answer.version !== VERSIONS[version])
    return { kind: 'refused', why: `chose ${versionName(answer.version)}` };
  const { suite, group, asksForCertificate } = answer;
  if (!suites.includes(suite)) return { kind: 'refused', why: 'chose a suite that was not offered' };
  return { kind: 'accepted', suite, group, asksForCertificate };
};
