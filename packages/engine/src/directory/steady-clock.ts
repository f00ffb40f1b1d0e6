import { uptime } from 'node:os';
import { type Instant, instant } from '@handover/material';
import type { Clock } from '../ports.ts';
import { type Files, replaceFile } from './files.ts';

/** Wall clock and time since boot drift apart by this much only when somebody sets the clock. */
const TOLERANCE_MS = 2_000;

/**
 * The wall clock, watched against the time since boot, across processes: after a jump or a reboot no promise to reload
 * counts as older than that.
 */
export class SteadyClock implements Clock {
  readonly #files: Files;
  readonly #directory: string;
  readonly #wall: () => number;
  readonly #sinceBoot: () => number;
  #offset: number | undefined;
  #since: Instant | undefined;

  constructor(
    files: Files,
    directory: string,
    wall: () => number = Date.now,
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
    if (this.#offset === undefined) this.#load();
    const offset = this.#wall() - this.#sinceBoot();
    if (this.#offset === undefined || Math.abs(offset - this.#offset) > TOLERANCE_MS) {
      // Never heard of it before: everything there was made under this clock.
      this.#since = this.#offset === undefined ? undefined : this.now();
      this.#offset = offset;
    }
    return this.#since;
  }

  #load(): void {
    const bytes = this.#files.read(`${this.#directory}/clock.json`);
    if (bytes === undefined) return;
    try {
      const { offset, since } = JSON.parse(Buffer.from(bytes).toString('utf8'));
      if (typeof offset !== 'number') throw new TypeError('no offset');
      this.#offset = offset;
      this.#since = typeof since === 'number' ? instant(since) : undefined;
    } catch {
      this.#offset = Number.POSITIVE_INFINITY; // unreadable: as if the clock had just been set
    }
  }

  /** Remembers it for the next process. */
  async save(): Promise<void> {
    this.steadySince();
    const text = `${JSON.stringify({ offset: this.#offset, since: this.#since })}\n`;
    const before = this.#files.read(`${this.#directory}/clock.json`);
    if (before !== undefined && Buffer.from(before).toString('utf8') === text) return;
    await replaceFile(this.#files, this.#directory, 'clock.json', text, 0o600);
  }
}
