import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect, type SecureVersion, type TLSSocket } from 'node:tls';
import type { StartTls } from '@handover/core';
import { type Certificate, type Clock, parseCertificate } from '@handover/material';
import { startTls } from './start-tls.ts';

export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

export type HandshakeResult =
  /** No TLS server answers; `why` is read after its address: "refuses the connection (ECONNREFUSED)". */
  | { readonly kind: 'unreachable'; readonly why: string }
  /**
   * `accepted`: undefined when neither a ticket, nor data, nor an end came. `completed`: whether the handshake came to its end,
   * which over TLS 1.3 a client sees before the server has looked at its certificate.
   */
  | {
      readonly kind: 'done';
      readonly chain: readonly Certificate[];
      readonly accepted: boolean | undefined;
      readonly completed: boolean;
    };

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

/** Why there is no TLS server at the other end; undefined: there is one, and it refuses us. */
const noTlsServer = ({ code = '', message }: NodeJS.ErrnoException): string | undefined => {
  if (NO_SERVER.includes(code)) return `cannot be reached (${code})`;
  // Node 20 gives EPROTO for some of them.
  const isPlain =
    NOT_TLS.includes(code) || (code === 'EPROTO' && /wrong version number|packet length/.test(message));
  return isPlain ? 'does not speak TLS' : undefined;
};

/** Where to connect, and how the handshake begins. */
export interface Door {
  readonly host: string;
  readonly port: number;
  /** Server name (SNI). Default: the host. */
  readonly servername?: string;
  readonly starttls?: StartTls | undefined;
}

/** A connection on which the server waits for a ClientHello, or why there is none. */
const startedTls = async (
  clock: Clock,
  host: string,
  port: number,
  starttls: StartTls,
): Promise<Socket | string> => {
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
  const why =
    failed === undefined
      ? (await startTls(socket, starttls, { clock, timeoutMs: TIMEOUT_MS }))?.why
      : `cannot be reached (${failed.code ?? failed.message})`;
  if (why === undefined) return socket;
  socket.on('error', () => {}).destroy();
  return why;
};

/**
 * A real, full handshake; nothing is sent and nothing resumed. On TLS 1.3 a refused client still sees `secureConnect`: a
 * ticket or data means accepted, an end or an alert refused, neither is no answer.
 */
export const handshake = async (
  clock: Clock,
  door: Door,
  client: ClientCertificate | undefined,
  newest: SecureVersion = 'TLSv1.3',
): Promise<HandshakeResult> => {
  const { host, port, servername = host, starttls } = door;
  const plain = starttls === undefined ? undefined : await startedTls(clock, host, port, starttls);
  if (typeof plain === 'string') return { kind: 'unreachable', why: plain };
  return new Promise((resolve) => {
    let chain: readonly Certificate[] = [];
    let isSecure = false;
    let gotTicket = false;
    const socket = connect({
      ...(plain === undefined ? { host, port } : { socket: plain }),
      rejectUnauthorized: false, // the probe inspects the chain itself
      maxVersion: newest,
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
    const verdict = (accepted: boolean | undefined): void =>
      end({ kind: 'done', chain, accepted, completed: isSecure });
    const unreachable = (why: string): void => end({ kind: 'unreachable', why });
    let timer = clock.after(TIMEOUT_MS, () =>
      unreachable(`ends no TLS handshake within ${TIMEOUT_MS / 1000} s`),
    );
    socket.on('session', () => {
      gotTicket = true;
      if (isSecure) verdict(true);
    });
    socket.on('data', () => verdict(true));
    socket.on('secureConnect', () => {
      isSecure = true;
      try {
        chain = chainOf(socket);
      } catch {
        return unreachable('serves a certificate that cannot be read');
      }
      // Without a client certificate only the chain matters; on TLS 1.2 the ticket came before.
      if (client === undefined) return verdict(undefined);
      if (gotTicket && socket.getProtocol() !== 'TLSv1.3') return verdict(true);
      timer.cancel();
      timer = clock.after(VERDICT_MS, () => verdict(gotTicket ? true : undefined));
    });
    const refused = (error?: NodeJS.ErrnoException): void => {
      const why = error === undefined ? undefined : noTlsServer(error);
      if (why === undefined) verdict(false);
      else unreachable(why);
    };
    socket.on('error', refused);
    // An orderly end after a ticket: the client was accepted, and the server sent nothing.
    const ended = (): void => verdict(isSecure && (gotTicket || socket.getTLSTicket() !== undefined));
    socket.on('end', ended);
    socket.on('close', ended);
  });
};
