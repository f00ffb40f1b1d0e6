import { uptime } from 'node:os';
import type { ClockDoubt } from '@handover/core';
import { hour, type Instant, instant } from '@handover/material';
import type { HomeClock } from '../../snapshot/snapshot.ts';
import { type Belief, believe } from '../../snapshot/watched-clock.ts';
import { type Files, replaceFile } from '../disk/files.ts';

/** Wall clock and time since boot drift apart by this much only when the clock is set. */
const TOLERANCE_MS = 2_000;
const SAVE_EVERY_MS = hour;
const NAME = 'clock.json';

/** Saved for the next process. */
interface Saved {
  /** Wall clock minus time since boot. */
  readonly offset: number;
  readonly since: Instant | undefined;
  /** The last trusted time, and how long the machine had been up then. */
  readonly seen: Instant | undefined;
  readonly up: number | undefined;
  /** The last trusted offset, while the present one is in doubt. */
  readonly believed: number | undefined;
  readonly doubt: ClockDoubt | undefined;
}

/**
 * The wall clock, compared with the time since boot, across processes. After a jump or a reboot no promise to reload counts
 * as older than the jump, and for a while after a leap ahead no irreversible step relies on the clock.
 */
export class SteadyClock implements HomeClock {
  readonly #files: Files;
  readonly #directory: string;
  readonly #wall: () => number;
  readonly #sinceBoot: () => number;
  #offset: number | undefined;
  #since: Instant | undefined;
  #belief: Belief | undefined;
  #saved: { readonly seen: Instant; readonly up: number } | undefined;
  #saving: Promise<void> = Promise.resolve();

  constructor(
    files: Files,
    directory: string,
    wall: () => number,
    sinceBoot: () => number = () => uptime() * 1000,
  ) {
    this.#files = files;
    this.#directory = directory;
    this.#wall = wall;
    this.#sinceBoot = sinceBoot;
  }

  now(): Instant {
    return instant(this.#wall());
  }

  steadySince(): Instant | undefined {
    this.#look();
    return this.#since;
  }

  readonly doubt = (): ClockDoubt | undefined => {
    this.#look();
    return this.#belief?.doubt;
  };

  #look(): void {
    if (this.#offset === undefined) this.#load();
    const counter = this.#sinceBoot();
    const shown = this.now();
    const offset = shown - counter;
    const leapt = this.#offset !== undefined && Math.abs(offset - this.#offset) > TOLERANCE_MS;
    const before = this.#offset === undefined ? undefined : this.#belief;
    if (this.#offset === undefined || leapt) {
      // No saved offset: everything in the directory was made under this clock.
      this.#since = this.#offset === undefined ? undefined : shown;
      this.#offset = offset;
    }
    this.#belief =
      before === undefined ? { offset, doubt: undefined } : believe(before, shown, counter, leapt);
    if (this.#belief.doubt !== undefined && this.#isConfirmed(offset))
      this.#belief = { offset, doubt: undefined };
  }

  /** Another process may have confirmed this clock. */
  #isConfirmed(offset: number): boolean {
    const saved = this.#read();
    return (
      saved !== undefined &&
      saved !== 'unreadable' &&
      saved.doubt === undefined &&
      Math.abs(saved.offset - offset) <= TOLERANCE_MS
    );
  }

  #load(): void {
    const saved = this.#read();
    if (saved === undefined) return;
    if (saved === 'unreadable') {
      this.#offset = Number.POSITIVE_INFINITY; // as if the clock had just been set
      return;
    }
    const { offset, since, seen, up, believed, doubt } = saved;
    this.#offset = offset;
    this.#since = since;
    if (seen !== undefined && up !== undefined) this.#saved = { seen, up };
    // A boot resets the counter, and the machine booted no earlier than it was last seen.
    const rebooted = seen !== undefined && up !== undefined && this.#sinceBoot() < up;
    this.#belief = rebooted ? { offset: seen, doubt: undefined } : { offset: believed ?? offset, doubt };
  }

  #read(): Saved | 'unreadable' | undefined {
    const bytes = this.#files.read(`${this.#directory}/${NAME}`);
    if (bytes === undefined) return undefined;
    try {
      const saved = JSON.parse(Buffer.from(bytes).toString('utf8'));
      if (typeof saved?.offset !== 'number') return 'unreadable';
      const time = (value: unknown): Instant | undefined =>
        typeof value === 'number' ? instant(value) : undefined;
      const [since, before, until] = [saved.doubt?.since, saved.doubt?.before, saved.doubt?.until].map(time);
      return {
        offset: saved.offset,
        since: time(saved.since),
        seen: time(saved.seen),
        up: time(saved.up),
        believed: time(saved.believed),
        doubt:
          since === undefined || before === undefined || until === undefined
            ? undefined
            : { since, before, until },
      };
    } catch (error) {
      if (error instanceof SyntaxError) return 'unreadable';
      throw error;
    }
  }

  /** Saves the clock's state for the next process; passes that run side by side save it one after the other. */
  save(): Promise<void> {
    const mine = this.#saving.catch(() => {}).then(() => this.#save());
    this.#saving = mine;
    return mine;
  }

  async #save(): Promise<void> {
    this.#look();
    const { doubt, offset: believed } = this.#belief ?? {};
    const now = this.now();
    const up = this.#sinceBoot();
    const kept = this.#saved;
    const stale = kept === undefined || kept.up > up || Math.abs(now - kept.seen) >= SAVE_EVERY_MS;
    // While the clock is in doubt, the last trusted time stays.
    const last = stale ? { seen: doubt === undefined ? now : (kept?.seen ?? doubt.before), up } : kept;
    const saved = { offset: this.#offset, since: this.#since, ...last };
    const text = `${JSON.stringify(doubt === undefined ? saved : { ...saved, believed, doubt })}\n`;
    const before = this.#files.read(`${this.#directory}/${NAME}`);
    this.#saved = last;
    if (before !== undefined && Buffer.from(before).toString('utf8') === text) return;
    await replaceFile(this.#files, this.#directory, NAME, text, 0o600);
  }

  /** A person confirms that the clock is right. */
  async confirm(): Promise<void> {
    this.#look();
    const now = this.now();
    this.#belief = { offset: now - this.#sinceBoot(), doubt: undefined };
    this.#saved = undefined;
    await this.save();
  }
}
