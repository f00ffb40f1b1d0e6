import type { Plan } from '@handover/core';
import type { ControllerEvent } from '@handover/engine';
import { amount } from '../amount.ts';
import type { Context } from '../context.ts';
import { LiveLine } from './waiting.ts';

/** Below the log of a run on a terminal: which authority waits, for what and how long. */
export class WaitsBelow {
  readonly #context: Context;
  readonly #line: LiveLine;
  readonly #waiting = new Map<string, Plan>();

  constructor(context: Context) {
    this.#context = context;
    this.#line = new LiveLine(context.stdout);
  }

  heard(event: ControllerEvent): void {
    if (event.kind === 'loaded') this.#forget([...event.catalogue.authorities.keys()]);
    if (event.kind !== 'acted' && event.kind !== 'rested') return;
    if (event.kind === 'acted' || event.plan.phase === 'Stable') this.#waiting.delete(event.authority);
    else this.#waiting.set(event.authority, event.plan);
    this.show();
  }

  #forget(known: readonly string[]): void {
    for (const id of this.#waiting.keys()) if (!known.includes(id)) this.#waiting.delete(id);
  }

  show(): void {
    const [first, ...others] = this.#waiting;
    if (first === undefined) {
      this.#line.clear();
      return;
    }
    const [id, { phase, blockedBy, wakeAt }] = first;
    const more =
      others.length === 0 ? '' : ` (and ${amount(others.length, 'more authority', 'more authorities')})`;
    this.#line.show({ phase, blockedBy, dueAt: wakeAt }, this.#context.now(), `${id}${more}: `);
  }

  clear(): void {
    this.#line.clear();
  }
}
