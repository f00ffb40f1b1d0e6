import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2Session } from 'node:http2';
import type { Server, TLSSocket } from 'node:tls';
import type { Certificate, Clock } from '@handover/material';
import { hasLost, isStillTrusted, type Peered, shownBy } from '../peer-trust.ts';

/** Clients whose chains are kept, about 2 KiB each. */
const MAX_CHAINS = 1_000;

type ServedPeer = Peered & Pick<TLSSocket, 'isSessionReused'>;

const leafOf = (peer: Peered): string => peer.getPeerCertificate()?.fingerprint256 ?? '';

/** What clients showed. A resumed session holds the leaf alone; its intermediates are those of the full handshake before it. */
class ShownChains {
  readonly #byLeaf = new Map<string, readonly Buffer[]>();

  /** After a handshake. The whole chain costs a quarter of a handshake, so it is read once for each leaf. */
  remember(peer: ServedPeer): void {
    if (peer.isSessionReused()) return;
    const leaf = leafOf(peer);
    if (this.#byLeaf.has(leaf)) return;
    const [oldest] = this.#byLeaf.keys();
    if (this.#byLeaf.size >= MAX_CHAINS && oldest !== undefined) this.#byLeaf.delete(oldest);
    this.#byLeaf.set(leaf, shownBy(peer));
  }

  of(peer: ServedPeer): readonly Buffer[] {
    const remembered = peer.isSessionReused() ? this.#byLeaf.get(leafOf(peer)) : undefined;
    return remembered ?? shownBy(peer);
  }
}

interface ServedOptions {
  readonly clock: Clock;
  /** Undefined: a connection that was told to leave may take its time. */
  readonly drainMs: number | undefined;
  /** The client CAs in use; undefined when they do not come from the identity. */
  anchors(): readonly Certificate[] | undefined;
  cut(connections: number): void;
}

/** One connection whose client a CA has accepted. */
interface Served {
  readonly peer: ServedPeer;
  isOpen(): boolean;
  /** Ends it without breaking a request. */
  leave(): void;
  destroy(): void;
}

/**
 * Connections whose clients a CA has accepted. When that CA is removed they are told to leave: what is under way ends by itself, and
 * a new request needs a new handshake. Only a deadline that the caller gave ends them.
 */
export class ServedConnections {
  readonly #options: ServedOptions;
  readonly #live = new Set<Served>();
  readonly #shown = new ShownChains();
  #before: readonly Certificate[] | undefined;
  #losses = 0;

  constructor(options: ServedOptions) {
    this.#options = options;
    this.#before = options.anchors();
  }

  /** How often a client CA was removed. */
  get losses(): number {
    return this.#losses;
  }

  /** True when a handshake that began after `losses` removals was accepted by a CA that has been removed since. */
  isLate(peer: ServedPeer, losses: number): boolean {
    return losses < this.#losses && this.#isDoomed({ peer });
  }

  /** Returns a function that forgets the connection. */
  add(served: Served): () => void {
    this.#shown.remember(served.peer);
    this.#live.add(served);
    return () => void this.#live.delete(served);
  }

  /** The client CAs may have changed. */
  changed(): void {
    const before = this.#before;
    this.#before = this.#options.anchors();
    if (!hasLost(before, this.#before)) return;
    this.#losses++;
    const doomed = [...this.#live].filter((served) => this.#isDoomed(served));
    for (const served of doomed) served.leave();
    const { clock, drainMs, cut } = this.#options;
    if (doomed.length === 0 || drainMs === undefined) return;
    const end = (): void => {
      // The CA may have come back.
      const ended = doomed.filter((served) => served.isOpen() && this.#isDoomed(served));
      for (const served of ended) served.destroy();
      if (ended.length > 0) cut(ended.length);
    };
    clock.after(drainMs, end).unref();
  }

  #isDoomed({ peer }: Pick<Served, 'peer'>): boolean {
    const { anchors, clock } = this.#options;
    const trusted = anchors();
    return trusted !== undefined && !isStillTrusted(this.#shown.of(peer), trusted, 'client', clock.now());
  }
}

/** An HTTP/2 session: GOAWAY, then its streams finish. */
export const sessionServed = (session: Http2Session): Served => ({
  peer: session.socket as TLSSocket,
  isOpen: () => !session.destroyed,
  leave: () => session.close(),
  destroy: () => session.destroy(),
});

/** The answers that a connection is working on: HTTP/1.1 only. */
class Answers {
  readonly #open = new Set<ServerResponse>();
  #leaving = false;

  add(response: ServerResponse, socket: TLSSocket): void {
    this.#open.add(response);
    response.once('close', () => this.#open.delete(response));
    if (this.#leaving) this.#end(response, socket);
  }

  leave(socket: TLSSocket): void {
    this.#leaving = true;
    for (const response of this.#open) this.#end(response, socket);
  }

  /** Node says `Connection: close` and closes after it; where the headers are out, closing has to do. */
  #end(response: ServerResponse, socket: TLSSocket): void {
    response.shouldKeepAlive = false;
    if (response.headersSent) response.once('finish', () => socket.destroySoon());
  }
}

/** The TCP connection below; `node:tls` does not declare it. */
const below = (socket: TLSSocket): object => (socket as { readonly _parent?: object })._parent ?? socket;

/** Follows the connections of a tls, https or http2 server. */
export function followConnections(server: Server, connections: ServedConnections): void {
  const answers = new WeakMap<object, Answers>();
  const began = new WeakMap<object, number>();
  server.on('connection', (raw: object) => began.set(raw, connections.losses));
  // A handshake goes on with the client CAs that it began with, however long its client takes.
  const isLate = (socket: TLSSocket) => connections.isLate(socket, began.get(below(socket)) ?? 0);
  // First, so that no program sees the connection. Of HTTP/2 the session is told.
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    if (socket.authorized && socket.alpnProtocol !== 'h2' && isLate(socket)) socket.destroy();
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    if (!socket.authorized || socket.alpnProtocol === 'h2' || socket.destroyed) return;
    const own = new Answers();
    answers.set(socket, own);
    const forget = connections.add({
      peer: socket,
      isOpen: () => !socket.destroyed,
      leave: () => own.leave(socket),
      destroy: () => socket.destroy(),
    });
    socket.once('close', forget);
  });
  server.prependListener('session', (session: Http2Session) => {
    const socket = session.socket as TLSSocket;
    if (!socket.authorized) return;
    if (isLate(socket)) session.destroy();
    else session.once('close', connections.add(sessionServed(session)));
  });
  // First, so that the answer is marked before a program sends its headers.
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    answers.get(socket)?.add(response, socket as TLSSocket);
  });
}
