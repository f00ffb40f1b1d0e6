import { minute } from '@handover/material';
import type { Workload } from './workload.ts';

/** As long as a Deployment is given by default (progressDeadlineSeconds); StatefulSets and DaemonSets have no such field. */
const STALLED_MS = 10 * minute;

/** Since when rollouts have stood still, where the controller does not say so. */
export class Progress {
  readonly #now: () => number;
  readonly #known = new Map<string, { readonly progress: string; readonly since: number }>();

  /** `now`: milliseconds that only go forward. */
  constructor(now: () => number) {
    this.#now = now;
  }

  seen({ kind, namespace, name, rolling, progress }: Workload): void {
    const key = `${kind} ${namespace}/${name}`;
    if (!rolling) this.#known.delete(key);
    else if (this.#known.get(key)?.progress !== progress)
      this.#known.set(key, { progress, since: this.#now() });
  }

  gone({ kind, namespace, name }: Workload): void {
    this.#known.delete(`${kind} ${namespace}/${name}`);
  }

  /** Why its rollout does not come to an end; undefined: it does, or there is none. */
  failing({ kind, namespace, name, rolling, failing }: Workload): string | undefined {
    const since = this.#known.get(`${kind} ${namespace}/${name}`)?.since;
    if (!rolling) return undefined;
    if (failing !== undefined) return failing;
    return since !== undefined && this.#now() >= since + STALLED_MS
      ? 'its rollout has made no progress for ten minutes; see why its pods do not become ready'
      : undefined;
  }
}
