import type { TLSSocket } from 'node:tls';
import { type Peered, shownBy } from '../peer-trust.ts';

/** Clients whose chains are kept, about 2 KiB each. */
const MAX_CHAINS = 1_000;

export type ServedPeer = Peered & Pick<TLSSocket, 'isSessionReused'>;

const leafOf = (peer: Peered): string => peer.getPeerCertificate()?.fingerprint256 ?? '';

/** What clients showed. A resumed session holds the leaf alone; its intermediates are those of the full handshake before it. */
export class ShownChains {
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
