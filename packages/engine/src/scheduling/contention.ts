import { after, type Instant, minute, second } from '@handover/material';

// Pods of an old version that write their own CA every 30 s are no fight: each repair costs one write, and a truce would leave the
// field to them. Five such pods fit into the window.
const WINDOW_MS = 30 * second;
const MOST_REPAIRS = 5;
/** A revert this soon after a truce goes on with the fight. */
const SOON_MS = 10 * second;
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
    const goesOn = truce !== undefined && truce.manager === manager && at < truce.until + SOON_MS;
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
