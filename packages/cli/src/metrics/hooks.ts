import type { HookStatus } from '@handover/engine';
import { Gauge, type Registry } from 'prom-client';
import { METRICS } from './names.ts';

const MOST_HOOKS = 1_000;

/** Which hooks fail, from how each ended last. */
export class HookGauges {
  readonly #known = new Set<string>();
  readonly #failing: Gauge;

  constructor(register: Registry) {
    const [name, help, labelNames] = METRICS.hookFailing;
    this.#failing = new Gauge({ name, help, labelNames, registers: [register] });
  }

  heard({ hook, state }: HookStatus): void {
    if (!this.#known.has(hook) && this.#known.size >= MOST_HOOKS) return;
    this.#known.add(hook);
    this.#failing.set({ hook }, state === 'failed' ? 1 : 0);
  }

  keepOnly(hooks: ReadonlySet<string>): void {
    for (const hook of this.#known) {
      if (hooks.has(hook)) continue;
      this.#known.delete(hook);
      this.#failing.remove({ hook });
    }
  }
}
