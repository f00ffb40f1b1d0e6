import { connect as connectPlain, type Socket } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';

export interface Target {
  readonly name: string;
  /** Address and port. */
  readonly address: string;
  /** The name that its certificate must have; default: its Service in the mesh. */
  readonly servername?: string;
  /** Whether its certificate may have any name: Node takes no wildcard like `*.envoy-gateway-system`, of two labels. */
  readonly anyName?: boolean;
}

/** `unreached`: no TCP connection, so that TLS played no part. */
export type Verdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly kind: Kind; readonly why: string };
export type Kind = 'handshake' | 'unreached';

/** For a very busy machine; a handshake takes a few milliseconds. */
const TIMEOUT_MS = 30_000;

/** The verdict of one byte there and back, sent when `ready` is emitted. */
const answered = (socket: Socket, ready: 'connect' | 'secureConnect'): Promise<Verdict> =>
  new Promise((resolve) => {
    let reached = false;
    const end = (verdict: Verdict): void => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on('error', () => {});
      socket.destroy();
      resolve(verdict);
    };
    const failed = (why: string): void => end({ ok: false, kind: reached ? 'handshake' : 'unreached', why });
    const timer = setTimeout(() => failed('timeout'), TIMEOUT_MS);
    socket.on('connect', () => {
      reached = true;
    });
    socket.on(ready, () => socket.write('x'));
    socket.on('data', () => end({ ok: true }));
    socket.on('error', (error: NodeJS.ErrnoException) => failed(error.code ?? error.message));
    socket.on('close', () => failed('closed'));
  });

const place = (address: string): { readonly host: string; readonly port: number } => {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at), port: Number(address.slice(at + 1)) };
};

/** One full handshake without resumption, and a byte in both directions: with TLS 1.3 only data shows that we were accepted. */
export const handshake = (
  { name, address, servername = `${name}.mesh.svc`, anyName = false }: Target,
  options: ConnectionOptions,
): Promise<Verdict> => {
  const naming = anyName ? { checkServerIdentity: () => undefined } : {};
  return answered(connect({ ...options, ...place(address), servername, ...naming }), 'secureConnect');
};

/** The same by a proxy that takes plain connections, and opens a TLS connection of its own for each. */
export const handshakeOfProxy = ({ address }: Target): Promise<Verdict> =>
  answered(connectPlain(place(address)), 'connect');
