import type { Catalogue, ControllerEvent } from '@handover/engine';
import { amount } from '../printable.ts';

/** When everything that the resources ask for is in place for the first time. */
export class Ready {
  #catalogue: Catalogue | undefined;
  readonly #settled = new Set<string>();
  #isOver = false;

  /** What is in place, once; undefined: not yet, or said before. */
  heard(event: ControllerEvent): { readonly authorities: number; readonly leaves: number } | undefined {
    if (this.#isOver) return undefined;
    if (event.kind === 'loaded') this.#catalogue = event.catalogue;
    // An Authority that cannot start has no certificates yet.
    if (event.kind === 'rested' && event.plan.phase !== 'Pending') this.#settled.add(event.authority);
    if (this.#catalogue === undefined) return undefined;
    const { authorities, leaves } = this.#catalogue;
    if (![...authorities.keys()].every((id) => this.#settled.has(id))) return undefined;
    this.#isOver = true;
    return { authorities: authorities.size, leaves: leaves.length };
  }
}

export const readyLine = ({ authorities, leaves }: { authorities: number; leaves: number }): string =>
  `ready: ${amount(authorities, 'authority', 'authorities')} and ${amount(leaves, 'leaf', 'leaves')} in place; running until stopped`;
