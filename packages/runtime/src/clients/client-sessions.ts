import type { TLSSocket } from 'node:tls';
import { shownBy } from '../peer-trust.ts';

const MAX_SESSIONS = 100;

interface Kept {
  readonly session: Buffer;
  /** What the server showed in the full handshake that the session goes back to. */
  readonly shown: readonly Buffer[];
}

/** What the session that a connection offered goes back to. A resumed connection holds no certificate of its server. */
const OFFERED = new WeakMap<TLSSocket, readonly Buffer[]>();

/** The certificates of the server, as DER, leaf first. Undefined when they are not known. */
export const serverShown = (socket: TLSSocket): readonly Buffer[] | undefined =>
  socket.isSessionReused() ? OFFERED.get(socket) : shownBy(socket);

/**
 * TLS sessions by target, of one set of material. They end with it: a resumed session would skip the check against newer trust.
 */
export class Sessions {
  readonly #kept = new Map<string, Kept>();
  readonly #max: number;

  constructor(max = MAX_SESSIONS) {
    this.#max = max;
  }

  /** The session to offer to a target. */
  of(target: string): Buffer | undefined {
    return this.#kept.get(target)?.session;
  }

  /** Keeps the sessions of a connection that offers `of(target)`. */
  follow(socket: TLSSocket, target: string): void {
    if (this.#max <= 0) return;
    const offered = this.#kept.get(target);
    if (offered !== undefined) OFFERED.set(socket, offered.shown);
    let shown: readonly Buffer[] | undefined;
    socket
      .on('session', (session) => {
        shown ??= serverShown(socket);
        if (shown === undefined) return;
        const [oldest] = this.#kept.keys();
        if (this.#kept.size >= this.#max && !this.#kept.has(target)) this.#kept.delete(oldest ?? '');
        this.#kept.set(target, { session, shown });
      })
      .once('close', (failed) => {
        if (failed) this.#kept.delete(target);
      });
  }
}
