import { performance } from 'node:perf_hooks';
import { type Instant, instant, type Timer, VirtualClock } from '@handover/material';
import { keysUnderWay } from './key-work.ts';

/** Turns of the event loop without an event after which a process is at rest. Both ends of every connection are in this process. */
const QUIET_TURNS = 4;
/** Real time after which a process that never rests is an error of the test: before the test itself times out, which would not say why. */
const RESTLESS_MS = 20_000;
/** Handles that wait for other processes or for a timer. Anything else is work under way: files, names, keys, other immediates. */
const WAITING = new Set([
  'FSEventWrap',
  'MessagePort',
  'PipeWrap',
  'ProcessWrap',
  'SignalWrap',
  'SimpleWriteWrap', // what the other side does not read
  'StatWatcher',
  'TCPServerWrap',
  'TCPSocketWrap',
  'TLSWrap',
  'TTYWrap',
  'Timeout',
  'Worker',
]);

/** Modules that vitest's main process is reading for this one: of that the loop knows nothing. */
const modulesUnderWay = (): number =>
  (globalThis as { __vitest_worker__?: { resolvingModules: ReadonlySet<string> } }).__vitest_worker__
    ?.resolvingModules.size ?? 0;

const isWorking = (): boolean =>
  keysUnderWay() > 0 ||
  modulesUnderWay() > 0 ||
  process.getActiveResourcesInfo().some((name) => !WAITING.has(name));

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Events that the loop has handled. */
const events = (): number => performance.nodeTiming.uvMetricsInfo.events;

/** Until this process has nothing left to do but to wait: for a timer, or for bytes that do not come. */
export async function atRest(): Promise<void> {
  const began = performance.now();
  let seen = events();
  for (let quiet = 0; quiet < QUIET_TURNS; ) {
    await turn();
    const now = events();
    quiet = now === seen && !isWorking() ? quiet + 1 : 0;
    seen = now;
    if (performance.now() - began > RESTLESS_MS)
      throw new Error(`not at rest: ${[...new Set(process.getActiveResourcesInfo())].join(', ')}`);
  }
}

/**
 * Time that a test turns, for programs with real sockets and files: it moves on only while the process is at rest, from one timer to
 * the next. Deadlines therefore pass only where an answer does not come.
 */
export class TestClock extends VirtualClock {
  constructor(start: Instant = instant(Date.UTC(2030, 0, 1))) {
    super(start);
  }

  /** Whole milliseconds, as an event loop has them: a fraction of one would be lost in a sum with a date, and the wait never end. */
  override after(ms: number, act: () => void): Timer {
    return super.after(Math.ceil(ms), act);
  }

  override every(ms: number, act: () => void): Timer {
    return super.every(Math.ceil(ms), act);
  }

  /** Lets `ms` pass. */
  async advance(ms: number): Promise<void> {
    const end = this.monotonic() + ms;
    do await atRest();
    while (this.#turn(Math.max(0, end - this.monotonic())));
    await atRest();
  }

  /** Makes every call that is due next, as an event loop does: those of one moment come together. */
  #turn(ms?: number): boolean {
    if (!this.step(ms)) return false;
    while (this.next === 0) this.step(0);
    return true;
  }

  /** Turns time until `work` is over, and returns what it came to. */
  async during<T>(work: Promise<T>, limitMs = 600_000): Promise<T> {
    let over = false;
    const end = (): void => {
      over = true;
    };
    work.then(end, end);
    await this.until(() => over, limitMs);
    return work;
  }

  /** Turns time until `look` has found something, and returns it. Fails when it has not after `limitMs` of this clock's time. */
  async until<T>(look: () => T | Promise<T>, limitMs = 600_000): Promise<NonNullable<T>> {
    const end = this.monotonic() + limitMs;
    for (;;) {
      await atRest();
      let last: unknown;
      try {
        const found = await look();
        if (found) return found as NonNullable<T>;
      } catch (error) {
        last = error;
      }
      const { next } = this;
      if (next === undefined || this.monotonic() + next > end)
        throw new Error(`still not true after ${limitMs} ms: ${look.toString()}`, { cause: last });
      this.#turn();
    }
  }
}
