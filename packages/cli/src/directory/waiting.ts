import { waitingText } from '@handover/core';
import type { Instant } from '@handover/material';
import type { OutputStream } from '../context.ts';
import { printable } from '../printable.ts';

/** Why a rotation stands where it is. */
export interface Waiting {
  readonly phase: string;
  readonly blockedBy: readonly {
    readonly consumer: string;
    readonly waitsFor: string;
    readonly since: number | string;
  }[];
  /** Hooks that failed, each with the reason. */
  readonly hooks?: readonly string[];
  /** When time alone ends the wait: reloadWithin, patience or deadline. */
  readonly dueAt: Instant | undefined;
  /** When the command gives up. */
  readonly endsAt?: Instant | undefined;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** Its two largest units, rounded up, so that 0s is shown only when it is over. */
export const timeLeft = (ms: number): string => {
  let seconds = Math.max(0, Math.ceil(ms / 1000));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(seconds / size);
    if (count === 0 && parts.length === 0 && unit !== 's') continue;
    parts.push(`${count}${unit}`);
    seconds -= count * size;
    if (parts.length === 2) break;
  }
  return parts.filter((part, index) => index === 0 || !part.startsWith('0')).join(' ');
};

const awaited = ({ blockedBy, hooks = [] }: Waiting): string => {
  const parts = [...(blockedBy.length === 0 ? [] : [waitingText(blockedBy)]), ...hooks];
  return parts.length === 0 ? '' : printable(`: ${parts.join('; ')}`);
};

/** The phase, and what it waits for; the same as long as nothing changes. */
export const phaseText = (waiting: Waiting): string => `${waiting.phase}${awaited(waiting)}`;

/** The same with the time left before the names, which may be long: a line may be cut. */
export const waitingLine = (waiting: Waiting, now: Instant): string => {
  const { phase, blockedBy, dueAt, endsAt } = waiting;
  // Without a blocker something else is due: the renewal of a leaf, or the next rotation.
  const due = dueAt === undefined || blockedBy.length === 0 ? '' : `, due in ${timeLeft(dueAt - now)}`;
  const end = endsAt === undefined ? '' : `, this command waits for ${timeLeft(endsAt - now)} more`;
  return `${phase}${due}${end}${awaited(waiting)}`;
};

const COLUMNS = 80;
const CLEAR = '\r\u001b[K';

/** One line that is kept up to date on a terminal; elsewhere a plain one whenever something else than the time changed. */
export class LiveLine {
  readonly #output: OutputStream;
  #said = '';
  #isShown = false;

  constructor(output: OutputStream) {
    this.#output = output;
  }

  show(waiting: Waiting, now: Instant, about = ''): void {
    const line = `${about}${waitingLine(waiting, now)}`;
    if (this.#output.isTTY === true) {
      // A line that wraps could not be taken back.
      const columns = (this.#output.columns ?? COLUMNS) - 1;
      const shown = line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
      this.#output.write(`${CLEAR}${shown}`);
      this.#isShown = true;
      return;
    }
    const same = `${about}${phaseText(waiting)}`;
    if (same !== this.#said) this.#output.write(`${line}\n`);
    this.#said = same;
  }

  /** Takes the line back, before anything else is written. */
  clear(): void {
    if (this.#isShown) this.#output.write(CLEAR);
    this.#isShown = false;
  }
}
