import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect, type SecureVersion, type TLSSocket } from 'node:tls';
import type { NotServed, StartTls } from '@handover/core';
import { type Certificate, type Clock, parseCertificate } from '@handover/material';
import { startTls } from './start-tls.ts';

export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

export type HandshakeResult =
  /** No TLS server answers; `why` is read after its address: "refuses the connection (ECONNREFUSED)". */
  | { readonly kind: 'unreachable'; readonly why: string; readonly reason: NotServed }
  /**
   * `completed`: whether the handshake came to its end, which over TLS 1.3 a client sees before the server has looked at its
   * certificate.
   */
  | {
      readonly kind: 'done';
      readonly chain: readonly Certificate[];
      readonly verdict: Verdict;
      readonly completed: boolean;
    };

/**
 * How a server answers a client certificate: with a ticket or data, with a TLS alert, with an end of the connection that has no
 * alert (which is how Node's servers refuse a client, but also how a worker ends), with a reset or another failure, or not at all.
 */
export type Verdict = 'accepted' | 'refused' | 'closed' | 'reset' | 'silent';

const TIMEOUT_MS = 2_000;
/** Measured: a ticket within 2 ms, a refusal within 3; generous for a machine that is busy. */
const VERDICT_MS = 750;

const chainOf = (socket: TLSSocket): readonly Certificate[] => {
  const chain: Certificate[] = [];
  let peer = socket.getPeerCertificate(true);
  while (peer?.raw !== undefined) {
    const certificate = parseCertificate(peer.raw);
    if (chain.some(({ fingerprint }) => fingerprint === certificate.fingerprint)) break;
    chain.push(certificate);
    peer = peer.issuerCertificate;
  }
  return chain;
};

const NO_SERVER = ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'];
/** Codes of what OpenSSL says when the answer is no TLS record: HTTP, a banner, anything. */
const NOT_TLS = [
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_RECORD_LAYER_FAILURE',
];

type NoServer = Omit<Extract<HandshakeResult, { readonly kind: 'unreachable' }>, 'kind'>;

/** Why there is no TLS server at the other end; undefined: there is one. */
const noTlsServer = ({ code = '', message }: NodeJS.ErrnoException): NoServer | undefined => {
  if (NO_SERVER.includes(code)) return { why: `cannot be reached (${code})`, reason: 'unreachable' };
  // Node 20 gives EPROTO for some of them.
  const isPlain =
    NOT_TLS.includes(code) || (code === 'EPROTO' && /wrong version number|packet length/.test(message));
  return isPlain ? { why: 'does not speak TLS', reason: 'not-tls' } : undefined;
};

/**
 * OpenSSL names the alert in the code, as ERR_SSL_TLSV1_ALERT_UNKNOWN_CA; Node 20 gives EPROTO for some of them. An internal error
 * (RFC 8446 §6.2) is none of the peer's certificate: a server that is out of memory sends it too.
 */
const isRefusal = ({ code = '', message }: NodeJS.ErrnoException): boolean =>
  (code.includes('_ALERT_') || (code === 'EPROTO' && /\balert\b/.test(message))) &&
  !/internal.error/i.test(code + message);

/** Where to connect, and how the handshake begins. */
export interface Door {
  readonly host: string;
  readonly port: number;
  /** Server name (SNI). Default: the host. */
  readonly servername?: string;
  readonly starttls?: StartTls | undefined;
  /** Signature algorithms that the client takes, as OpenSSL lists them. Default: all. */
  readonly sigalgs?: string | undefined;
}

/** A connection on which the server waits for a ClientHello, or why there is none. */
const startedTls = async (
  clock: Clock,
  { host, port, servername = host }: Door,
  starttls: StartTls,
): Promise<Socket | NoServer> => {
  const socket = connectPlain({ host, port });
  const failed = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const timer = clock.after(TIMEOUT_MS, () =>
      resolve(new Error(`no connection within ${TIMEOUT_MS / 1000} s`)),
    );
    const end = (error?: Error): void => {
      timer.cancel();
      resolve(error);
    };
    socket.once('connect', () => end()).once('error', end);
  });
  const noTls =
    failed === undefined
      ? await startTls(socket, starttls, servername, { clock, timeoutMs: TIMEOUT_MS })
      : undefined;
  if (failed === undefined && noTls === undefined) return socket;
  socket.on('error', () => {}).destroy();
  return noTls === undefined
    ? { why: `cannot be reached (${failed?.code ?? failed?.message})`, reason: 'unreachable' }
    : { why: noTls.why, reason: noTls.kind };
};

/**
 * A real, full handshake; nothing is sent and nothing resumed. On TLS 1.3 a refused client still sees `secureConnect`: a
 * ticket or data means accepted, an alert refused; what else ends a connection says nothing of the certificate.
 */
export const handshake = async (
  clock: Clock,
  door: Door,
  client: ClientCertificate | undefined,
  newest: SecureVersion = 'TLSv1.3',
): Promise<HandshakeResult> => {
  const { host, port, servername = host, starttls, sigalgs } = door;
  const plain = starttls === undefined ? undefined : await startedTls(clock, door, starttls);
  if (plain !== undefined && 'why' in plain) return { kind: 'unreachable', ...plain };
  return new Promise((resolve) => {
    let chain: readonly Certificate[] = [];
    let isSecure = false;
    let gotTicket = false;
    const socket = connect({
      ...(plain === undefined ? { host, port } : { socket: plain }),
      rejectUnauthorized: false, // the probe inspects the chain itself
      maxVersion: newest,
      ...(sigalgs === undefined ? {} : { sigalgs }),
      ...(isIP(servername) === 0 ? { servername } : {}),
      ...(client ?? {}),
    });
    const end = (result: HandshakeResult): void => {
      timer.cancel();
      socket.removeAllListeners();
      socket.on('error', () => {});
      socket.destroy();
      plain?.destroy();
      resolve(result);
    };
    const done = (verdict: Verdict): void => end({ kind: 'done', chain, verdict, completed: isSecure });
    const unreachable = (why: string, reason: NotServed): void => end({ kind: 'unreachable', why, reason });
    let timer = clock.after(TIMEOUT_MS, () =>
      unreachable(`ends no TLS handshake within ${TIMEOUT_MS / 1000} s`, 'timeout'),
    );
    socket.on('session', () => {
      gotTicket = true;
      if (isSecure) done('accepted');
    });
    socket.on('data', () => done('accepted'));
    socket.on('secureConnect', () => {
      isSecure = true;
      try {
        chain = chainOf(socket);
      } catch {
        return unreachable('serves a certificate that cannot be read', 'no-certificate');
      }
      // Without a client certificate only the chain matters; on TLS 1.2 the ticket came before.
      if (client === undefined) return done('silent');
      if (gotTicket && socket.getProtocol() !== 'TLSv1.3') return done('accepted');
      timer.cancel();
      timer = clock.after(VERDICT_MS, () => done(gotTicket ? 'accepted' : 'silent'));
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const noServer = noTlsServer(error);
      if (noServer === undefined) done(isRefusal(error) ? 'refused' : 'reset');
      else unreachable(noServer.why, noServer.reason);
    });
    // An orderly end after a ticket: the client was accepted, and the server sent nothing.
    const ended = (): void =>
      done(isSecure && (gotTicket || socket.getTLSTicket() !== undefined) ? 'accepted' : 'closed');
    socket.on('end', ended);
    socket.on('close', ended);
  });
};
