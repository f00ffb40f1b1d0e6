import { createHash } from 'node:crypto';
import { type Kube, pods as podKind } from '@handover/kube';
import { HandoverError } from '@handover/material';
import type { Place } from '../home/place.ts';
import { FIELD_MANAGER } from '../home/record.ts';
import { NUDGE } from '../marks.ts';
import type { Pod } from './pods.ts';
import type { Residents } from './population.ts';

const EVERY_MS = 25;
/** After failures in a row, whosever: an API server that has just started refuses what it allows a second later. */
const PAUSES_MS = [1_000, 2_000, 5_000, 15_000] as const;
const LONGEST_MS = 30_000;
/** It only makes things faster: without it the kubelet looks at its next sync. */
const MOST_TRIES = 5;

/** The pod has gone, or another has its name; or this is no longer ours to do. */
const SILENT: ReadonlySet<string> = new Set(['KUBE_NOT_FOUND', 'KUBE_CONFLICT', 'LEASE_LOST']);

interface Due {
  readonly pod: Pod;
  readonly hash: string;
  readonly tries: number;
}

/**
 * Makes the kubelet look at a pod's volumes at once instead of at its next sync, up to 84 s away: any change to the pod's
 * annotations does. Through `pods/status`, which takes annotations and nothing of the spec.
 */
export class Nudges {
  readonly #kube: Kube;
  readonly #population: Residents;
  readonly #signal: AbortSignal;
  readonly #onError: (error: unknown) => void;
  readonly #due = new Map<string, Due>();
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(kube: Kube, population: Residents, signal: AbortSignal, onError: (error: unknown) => void) {
    this.#kube = kube;
    this.#population = population;
    this.#signal = signal;
    this.#onError = onError;
    signal.addEventListener('abort', () => clearTimeout(this.#timer), { once: true });
  }

  /** Something in `place` was written. */
  written(place: Place, digest: string): void {
    for (const pod of this.#population.pods()) {
      if (pod.mirror || pod.ended || !pod.running) continue;
      if (place.namespace !== undefined && pod.namespace !== place.namespace) continue;
      const reads = pod.references.some(
        ({ plural, name, frozen }) => !frozen && plural === place.plural && name === place.name,
      );
      if (!reads) continue;
      const known = this.#due.get(pod.uid)?.hash ?? '';
      const hash = createHash('sha256')
        .update(`${known} ${place.plural}/${place.name} ${digest}`)
        .digest('hex')
        .slice(0, 16);
      this.#due.set(pod.uid, { pod, hash, tries: 0 });
    }
    this.#plan(EVERY_MS);
  }

  #plan(wait: number): void {
    if (this.#timer !== undefined || this.#due.size === 0 || this.#signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#next();
    }, wait);
  }

  async #next(): Promise<void> {
    const [first] = this.#due;
    if (first === undefined || this.#signal.aborted) return;
    const [uid, due] = first;
    this.#due.delete(uid);
    this.#plan(await this.#nudge(uid, due));
  }

  /** How long to wait before the next one. */
  async #nudge(uid: string, { pod, hash, tries }: Due): Promise<number> {
    try {
      await this.#kube.patch(
        podKind,
        { namespace: pod.namespace, name: pod.name, subresource: 'status' },
        {
          merge: { metadata: { uid, annotations: { [NUDGE]: hash } } },
          fieldManager: FIELD_MANAGER,
          signal: this.#signal,
        },
      );
      this.#failures = 0;
      return EVERY_MS;
    } catch (error) {
      const code = error instanceof HandoverError ? error.code : '';
      // Whoever leads now nudges when it takes over.
      if (code === 'LEASE_LOST') this.#due.clear();
      if (SILENT.has(code) || this.#signal.aborted) return EVERY_MS;
      this.#onError(error);
      if (tries + 1 < MOST_TRIES && !this.#due.has(uid)) this.#due.set(uid, { pod, hash, tries: tries + 1 });
      return PAUSES_MS[this.#failures++] ?? LONGEST_MS;
    }
  }
}
