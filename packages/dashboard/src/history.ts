import { type AuthorityState, type Generation, type Role, SKEW } from '@handover/core';
import { iso } from '@handover/material';
import type { History, ShownSpan } from './document.ts';

const MOST_SPANS = 120;

interface Open {
  readonly generation: number;
  readonly role: Role;
  readonly from: number;
  readonly known: ShownSpan['known'];
}

/** Earlier roles of a generation, from the state. Certificates begin an hour before they are created. */
const fromState = (generation: Generation, beganAs: Role): readonly (Open & { readonly to?: number })[] => {
  const { number, role, since, anchors, hasKey } = generation;
  const made = anchors[0].notBefore + (hasKey ? SKEW : 0);
  const now: Open = { generation: number, role, from: since, known: 'state' };
  const before = role === 'current' ? 'next' : 'current';
  // Created in its role, or adopted: it had no role before.
  if (role === beganAs || since - made < 1_000) return [now];
  return [{ generation: number, role: before, from: made, to: since, known: 'state' }, now];
};

/** When each generation had which role: from the authority's state, and from changes seen. */
export class HistoryKeeper {
  readonly #watchedSince: number;
  readonly #closed: ShownSpan[] = [];
  readonly #open = new Map<number, Open>();
  #begun = false;

  constructor(watchedSince: number) {
    this.#watchedSince = watchedSince;
  }

  /** True when a role changed. */
  saw(state: AuthorityState | undefined, now: number): boolean {
    if (state === undefined) return false;
    if (!this.#begun) {
      this.#begun = true;
      for (const generation of [...state.generations].reverse()) {
        // The first generation was never `next`.
        const beganAs = generation.number === 1 && generation.role === 'current' ? 'current' : 'next';
        for (const { to, ...open } of fromState(generation, beganAs)) {
          if (to === undefined) this.#open.set(open.generation, open);
          else this.#close(open, to);
        }
      }
      return true;
    }
    let changed = false;
    const present = new Set(state.generations.map(({ number }) => number));
    for (const [number, open] of this.#open) {
      if (present.has(number)) continue;
      this.#open.delete(number);
      this.#close(open, now);
      changed = true;
    }
    for (const { number, role, since } of state.generations) {
      const open = this.#open.get(number);
      if (open?.role === role) continue;
      // `since` is by the home's clock, and later than the span that it ends.
      const from = open === undefined || since > open.from ? since : now;
      if (open !== undefined) this.#close(open, from);
      this.#open.set(number, { generation: number, role, from, known: 'seen' });
      changed = true;
    }
    return changed;
  }

  #close({ generation, role, from, known }: Open, to: number): void {
    this.#closed.push({ generation, role, from: iso(from), to: iso(to), known });
    if (this.#closed.length > MOST_SPANS) this.#closed.splice(0, this.#closed.length - MOST_SPANS);
  }

  history(): History {
    const open = [...this.#open.values()].map(
      ({ generation, role, from, known }): ShownSpan => ({
        generation,
        role,
        from: iso(from),
        to: null,
        known,
      }),
    );
    return {
      watchedSince: iso(this.#watchedSince),
      spans: [...this.#closed, ...open].sort((a, b) => Date.parse(a.from) - Date.parse(b.from)),
    };
  }
}
