import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { StartTls } from '@handover/core';
import { startTls } from '@handover/engine';
import { readAnswer, type ServerAnswer } from './answer.ts';
import { type Deadline, firstEvent } from './first-event.ts';
import { clientHello, type Offer } from './hello.ts';
import { alertName, VERSION_NAMES, VERSIONS } from './names.ts';

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
    const refusal = await startTls(socket, target.starttls, { clock, timeoutMs });
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
