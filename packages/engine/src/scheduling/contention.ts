import { after, type Instant, minute } from '@handover/material';

const WINDOW_MS = 5 * minute;
const MOST_REPAIRS = 5;
const LONGEST_MS = 30 * minute;

interface Fight {
  readonly repairs: readonly { readonly manager: string; readonly at: Instant }[];
  readonly truce: { readonly manager: string; readonly until: Instant; readonly count: number } | undefined;
}

/** Tracks, by object, which manager keeps undoing our writes. Neither side of such a fight wins: we name the manager and back off. */
export class Contention {
  readonly #fights = new Map<string, Fight>();

  /** Notes that `manager` changed what we had written, and that we restored it. */
  repaired(object: string, manager: string, at: Instant): void {
    const { repairs: before = [], truce } = this.#fights.get(object) ?? {};
    const repairs = [...before.filter((repair) => repair.at > at - WINDOW_MS), { manager, at }];
    // Soon after a truce, one repair shows that the fight goes on; later it is a new fight.
    const goesOn = truce !== undefined && truce.manager === manager && at < truce.until + WINDOW_MS;
    if (!goesOn && repairs.filter((repair) => repair.manager === manager).length <= MOST_REPAIRS) {
      this.#fights.set(object, { repairs, truce: undefined });
      return;
    }
    const count = (goesOn ? truce.count : 0) + 1;
    const until = after(at, Math.min(minute * 2 ** (count - 1), LONGEST_MS));
    this.#fights.set(object, { repairs, truce: { manager, until, count } });
  }

  /** The manager we back off from, and until when; undefined: we write the object. */
  standoff(object: string, now: Instant): { readonly manager: string; readonly until: Instant } | undefined {
    const truce = this.#fights.get(object)?.truce;
    return truce === undefined || now >= truce.until
      ? undefined
      : { manager: truce.manager, until: truce.until };
  }
}
