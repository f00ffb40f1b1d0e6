import { after, type Instant, minute } from '@handover/material';

const WINDOW_MS = 5 * minute;
const MOST_REPAIRS = 5;
const LONGEST_MS = 30 * minute;

interface Fight {
  readonly repairs: readonly { readonly manager: string; readonly at: Instant }[];
  readonly truceUntil: Instant | undefined;
  readonly truces: number;
}

/** Who keeps undoing our writes, object by object. A fight between controllers is never won: it is named and backed off from. */
export class Contention {
  readonly #fights = new Map<string, Fight>();

  /** Notes that `manager` changed what we had written, and that it is being put right. */
  repaired(object: string, manager: string, at: Instant): void {
    const fight = this.#fights.get(object);
    const recent = (fight?.repairs ?? []).filter((repair) => repair.at > at - WINDOW_MS);
    const repairs = [...recent, { manager, at }];
    const same = repairs.filter((repair) => repair.manager === manager).length;
    if (same <= MOST_REPAIRS) {
      this.#fights.set(object, { repairs, truceUntil: undefined, truces: fight?.truces ?? 0 });
      return;
    }
    const truces = (fight?.truces ?? 0) + 1;
    const truce = Math.min(minute * 2 ** (truces - 1), LONGEST_MS);
    // One repair after the truce is enough to see whether the fight goes on.
    this.#fights.set(object, { repairs: repairs.slice(-MOST_REPAIRS), truceUntil: after(at, truce), truces });
  }

  /** Why the object is left alone now; undefined: it is not. */
  standoff(object: string, now: Instant): { readonly manager: string; readonly until: Instant } | undefined {
    const fight = this.#fights.get(object);
    const last = fight?.repairs.at(-1);
    if (fight?.truceUntil === undefined || last === undefined || now >= fight.truceUntil) return undefined;
    return { manager: last.manager, until: fight.truceUntil };
  }

  forget(object: string): void {
    this.#fights.delete(object);
  }
}
