import type { TLSSocket } from 'node:tls';
import { hasLost, isStillTrusted } from '../peer-trust.ts';
import { serverShown } from './client-sessions.ts';
import type { ClientSource } from './client-source.ts';

/**
 * The live connections of a client. A change of trust ends none of them. Where the caller gave `drainMs`, a connection whose
 * server's CA was removed ends at that deadline.
 */
export class Drain {
  readonly #source: ClientSource;
  /** `loads` of the material that each connection was made with. */
  readonly #live = new Map<TLSSocket, number>();
  #before;

  constructor(source: ClientSource) {
    this.#source = source;
    this.#before = source.current();
  }

  add(socket: TLSSocket, loads: number): void {
    if (this.#source.drainMs === undefined) return;
    this.#live.set(socket, loads);
    socket.once('close', () => this.#live.delete(socket));
    // The trust may have changed during the handshake.
    if (loads < this.#source.current().loads) this.#doom([socket]);
  }

  /** The connection has a new owner. */
  forget(socket: TLSSocket): void {
    this.#live.delete(socket);
  }

  /** The trust has changed. */
  swapped(): void {
    const before = this.#before;
    this.#before = this.#source.current();
    // A bundle that only grows ends nothing, and needs no look at each connection.
    if (this.#live.size > 0 && hasLost(before.anchors, this.#before.anchors))
      this.#doom([...this.#live.keys()]);
  }

  #doom(sockets: readonly TLSSocket[]): void {
    const { clock, drainMs, cut } = this.#source;
    if (drainMs === undefined) return;
    const doomed = sockets.filter((socket) => this.#isDoomed(socket));
    if (doomed.length === 0) return;
    const end = (): void => {
      // The CA may have come back.
      const ended = doomed.filter((socket) => !socket.destroyed && this.#isDoomed(socket));
      for (const socket of ended) socket.destroy();
      if (ended.length > 0) cut(ended.length);
    };
    clock.after(drainMs, end).unref();
  }

  #isDoomed(socket: TLSSocket): boolean {
    const { clock, verify, current } = this.#source;
    const { anchors, loads } = current();
    if (!verify || anchors === undefined || (this.#live.get(socket) ?? loads) >= loads) return false;
    const shown = serverShown(socket);
    return shown === undefined || !isStillTrusted(shown, anchors, 'server', clock.now());
  }
}
