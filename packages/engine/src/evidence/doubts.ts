/** Clean probes in a row that end a doubt: by chance alone a port with an old process passes one, hardly three. */
const CLEAN_PROBES = 3;
const MOST_KEPT = 1_000;

/** What all handshakes of one probe showed: new files only, old ones only, or both. */
export type Loaded = 'new' | 'old' | 'both';

/** Ports behind which one process had loaded the new files and another had not, at the present revision of an authority. */
export class Doubts {
  readonly #left = new Map<string, { readonly revision: number; readonly probes: number }>();

  /** How many more clean probes of this port do not count. */
  left(port: string, revision: number): number {
    const kept = this.#left.get(port);
    return kept?.revision === revision ? kept.probes : 0;
  }

  /** Learns from a probe; true: what it showed counts. */
  learn(port: string, revision: number, loaded: Loaded): boolean {
    const before = this.left(port, revision);
    const isDoubted = loaded === 'both' || before > 0;
    const probes = loaded === 'new' ? before - 1 : CLEAN_PROBES;
    this.#left.delete(port);
    if (!isDoubted || probes === 0) return true;
    this.#left.set(port, { revision, probes });
    const [oldest] = this.#left.keys();
    if (this.#left.size > MOST_KEPT && oldest !== undefined) this.#left.delete(oldest);
    return loaded !== 'new';
  }
}
