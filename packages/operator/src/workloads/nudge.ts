import { createHash } from 'node:crypto';
import { type Kube, pods as podKind } from '@handover/kube';
import { HandoverError } from '@handover/material';
import type { Place } from '../home/place.ts';
import { FIELD_MANAGER } from '../home/record.ts';
import { NUDGE } from '../marks.ts';
import type { Pod } from './pods.ts';
import type { Residents } from './population.ts';

const EVERY_MS = 25;

/**
 * Makes the kubelet look at a pod's volumes at once instead of at its next sync, up to 84 s away: any change to the pod's
 * annotations does. Through `pods/status`, which takes annotations and nothing of the spec.
 */
export class Nudges {
  readonly #kube: Kube;
  readonly #population: Residents;
  readonly #signal: AbortSignal;
  readonly #onError: (error: unknown) => void;
  readonly #due = new Map<string, { readonly pod: Pod; readonly hash: string }>();
  #timer: NodeJS.Timeout | undefined;
  #refused = false;

  constructor(kube: Kube, population: Residents, signal: AbortSignal, onError: (error: unknown) => void) {
    this.#kube = kube;
    this.#population = population;
    this.#signal = signal;
    this.#onError = onError;
    signal.addEventListener('abort', () => clearTimeout(this.#timer), { once: true });
  }

  /** Something in `place` was written. */
  written(place: Place, digest: string): void {
    if (this.#refused) return;
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
      this.#due.set(pod.uid, { pod, hash });
    }
    this.#plan();
  }

  #plan(): void {
    if (this.#timer !== undefined || this.#due.size === 0 || this.#signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#next();
    }, EVERY_MS);
  }

  async #next(): Promise<void> {
    const [first] = this.#due;
    if (first === undefined || this.#signal.aborted) return;
    const [uid, { pod, hash }] = first;
    this.#due.delete(uid);
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
    } catch (error) {
      // It only makes things faster: without it the kubelet looks at its next sync.
      const code = error instanceof HandoverError ? error.code : '';
      if (code === 'KUBE_FORBIDDEN') this.#refused = true;
      if (code !== 'KUBE_NOT_FOUND' && code !== 'KUBE_CONFLICT' && !this.#signal.aborted)
        this.#onError(error);
    }
    this.#plan();
  }
}
