import { createHash } from 'node:crypto';
import { NUDGE } from '@handover/core';
import { type Kube, type KubeErrorCode, pods as podKind } from '@handover/kube';
import { HandoverError } from '@handover/material';
import type { Place } from '../objects/place.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import type { Pod } from './pods.ts';
import { mayRead } from './references.ts';
import type { Workloads } from './workload-cache.ts';

const EVERY_MS = 25;
/** After failures in a row in one namespace: an API server that has just started refuses what it allows a second later. */
const PAUSES_MS = [1_000, 2_000, 5_000, 15_000] as const;
const LONGEST_MS = 30_000;
/** It only makes things faster: without it the kubelet looks at its next sync. */
const MOST_TRIES = 5;

interface Paused {
  readonly failures: number;
  readonly until: number;
}

/** The pod takes no annotation: trying again would not help. */
const HOPELESS = 'KUBE_INVALID' satisfies KubeErrorCode;
/** The pod has gone, or another has its name; or this is no longer ours to do. */
const SILENT: ReadonlySet<string> = new Set<KubeErrorCode>(['KUBE_NOT_FOUND', 'KUBE_CONFLICT', 'LEASE_LOST']);

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
  readonly #workloadCache: Workloads;
  readonly #signal: AbortSignal;
  readonly #onError: (error: unknown) => void;
  readonly #due = new Map<string, Due>();
  /** By namespace: pods that refuse hold up those of their own namespace only. */
  readonly #paused = new Map<string, Paused>();
  #planned = false;

  constructor(kube: Kube, workloadCache: Workloads, signal: AbortSignal, onError: (error: unknown) => void) {
    this.#kube = kube;
    this.#workloadCache = workloadCache;
    this.#signal = signal;
    this.#onError = onError;
  }

  /** Something in `place` was written. */
  written(place: Place, digest: string): void {
    for (const pod of this.#workloadCache.pods()) {
      if (pod.mirror || pod.ended || !pod.running) continue;
      if (place.namespace !== undefined && pod.namespace !== place.namespace) continue;
      const reads = pod.references.some((reference) => !reference.frozen && mayRead(reference, place));
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
    if (this.#planned || this.#due.size === 0 || this.#signal.aborted) return;
    this.#planned = true;
    void this.#kube.clock.sleep(wait, this.#signal).then(() => {
      this.#planned = false;
      return this.#next();
    });
  }

  async #next(): Promise<void> {
    const now = this.#kube.clock.monotonic();
    const until = ({ namespace }: Pod): number => this.#paused.get(namespace)?.until ?? 0;
    const next = [...this.#due].find(([, { pod }]) => until(pod) <= now);
    if (this.#signal.aborted) return;
    if (next === undefined) {
      const soonest = Math.min(...[...this.#due.values()].map(({ pod }) => until(pod)));
      this.#plan(Math.max(EVERY_MS, soonest - now));
      return;
    }
    const [uid, due] = next;
    this.#due.delete(uid);
    await this.#nudge(uid, due);
    this.#plan(EVERY_MS);
  }

  async #nudge(uid: string, { pod, hash, tries }: Due): Promise<void> {
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
      this.#paused.delete(pod.namespace);
    } catch (error) {
      const code = error instanceof HandoverError ? error.code : '';
      // The next leader nudges when it takes over.
      if (code === 'LEASE_LOST') this.#due.clear();
      if (SILENT.has(code) || this.#signal.aborted) return;
      this.#onError(error);
      if (code === HOPELESS) return;
      const failures = this.#paused.get(pod.namespace)?.failures ?? 0;
      const until = this.#kube.clock.monotonic() + (PAUSES_MS[failures] ?? LONGEST_MS);
      this.#paused.set(pod.namespace, { failures: failures + 1, until });
      if (tries + 1 < MOST_TRIES && !this.#due.has(uid)) this.#due.set(uid, { pod, hash, tries: tries + 1 });
    }
  }
}
