import { type ControllerEvent, dueIn } from '@handover/engine';
import type { Context } from '../context.ts';
import { amount } from '../printable.ts';
import { LiveLine, type Waiting } from './waiting.ts';

/** Below the log of a run on a terminal: which authority waits, for what and how long. */
export class WaitsBelow {
  readonly #context: Context;
  readonly #line: LiveLine;
  readonly #waiting = new Map<string, Waiting>();

  constructor(context: Context) {
    this.#context = context;
    this.#line = new LiveLine(context.stdout);
  }

  heard(event: ControllerEvent): void {
    if (event.kind === 'loaded') this.#forget([...event.catalogue.authorities.keys()]);
    if (event.kind !== 'acted' && event.kind !== 'rested') return;
    if (event.kind === 'acted' || event.plan.phase === 'Stable') this.#waiting.delete(event.authority);
    else {
      const { phase, blockedBy } = event.plan;
      const dueAt = dueIn(event.observation, event.plan);
      this.#waiting.set(event.authority, { phase, blockedBy, dueAt });
    }
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
    const [id, waiting] = first;
    const more =
      others.length === 0 ? '' : ` (and ${amount(others.length, 'more authority', 'more authorities')})`;
    this.#line.show(waiting, this.#context.clock.now(), `${id}${more}: `);
  }

  clear(): void {
    this.#line.clear();
  }
}
