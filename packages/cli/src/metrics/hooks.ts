import type { HookStatus } from '@handover/engine';
import { Gauge, type Registry } from 'prom-client';
import { METRICS } from './names.ts';

const MOST_HOOKS = 1_000;

/** Gauges of hooks, from how each ended last. */
export class HookGauges {
  readonly #known = new Set<string>();
  readonly #failing: Gauge;
  readonly #success: Gauge;

  constructor(register: Registry) {
    const gauge = (which: 'hookFailing' | 'hookSuccess'): Gauge => {
      const [name, help, labelNames] = METRICS[which];
      return new Gauge({ name, help, labelNames, registers: [register] });
    };
    this.#failing = gauge('hookFailing');
    this.#success = gauge('hookSuccess');
  }

  heard({ hook, state, at }: HookStatus): void {
    if (!this.#known.has(hook) && this.#known.size >= MOST_HOOKS) return;
    this.#known.add(hook);
    this.#failing.set({ hook }, state === 'failed' ? 1 : 0);
    if (state !== 'failed' && at !== null) this.#success.set({ hook }, Date.parse(at) / 1000);
  }

  keepOnly(hooks: ReadonlySet<string>): void {
    for (const hook of this.#known) {
      if (hooks.has(hook)) continue;
      this.#known.delete(hook);
      this.#failing.remove({ hook });
      this.#success.remove({ hook });
    }
  }
}
