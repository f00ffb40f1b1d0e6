import type { Socket } from 'node:net';
import type { Clock } from '@handover/material';
import type { Report } from './document.ts';
import { LineSocket } from './line-socket.ts';
import type { SourceStatus } from './status.ts';

/** Less than the 2 s after which a controller gives up. */
const ANSWER_MS = 1_000;
const MAX_MEMBERS = 1_024;

/** What the process that answers a controller says to a sibling. */
export interface ToSibling {
  /** Asks for a report; the answer carries the same number. */
  readonly ask: number;
  /** Every process of the group, so that each of them can take over. */
  readonly members: readonly number[];
  /** The speaker leaves, and is no longer of the group. */
  readonly bye: true;
}

/** What a sibling says to the process that answers a controller. */
export interface FromSibling {
  readonly answer: number;
  /** Null: the sibling does not know what a thread of it has loaded. */
  readonly sources: readonly SourceStatus[] | null;
  /** Its material has changed. */
  readonly changed: true;
  readonly bye: true;
}

interface Waiting {
  answer(pid: number, sources: readonly SourceStatus[] | undefined): void;
  done(): void;
}

const sourcesIn = ({ sources }: Partial<FromSibling>): readonly SourceStatus[] | undefined =>
  Array.isArray(sources) ? sources : undefined;

type Line = LineSocket<Partial<ToSibling>, FromSibling>;

interface Member {
  /** Undefined while the process is not connected. */
  readonly line: Line | undefined;
  readonly birth: string;
}

export interface SiblingsOptions {
  readonly clock: Clock;
  /** Processes known to belong to the group. */
  readonly known: readonly number[];
  /** When a running process of this group began; undefined for any other process id. */
  readonly birthOf: (pid: number) => string | undefined;
  /** Further processes that must answer. */
  readonly expected: () => readonly number[];
  /** A sibling came, left or changed. */
  readonly changed: () => void;
}

/**
 * The other processes of a group, seen by the process that answers for all. A process that once belonged to the group
 * counts, silent or not, until it says goodbye or ends.
 */
export class Siblings {
  readonly #members = new Map<number, Member>();
  readonly #waiting = new Map<number, Waiting>();
  readonly #options: SiblingsOptions;
  #asked = 0;
  #left = false;

  constructor(options: SiblingsOptions) {
    this.#options = options;
    for (const pid of options.known) this.#expect(pid);
  }

  /** False: this process is not of the group, and the connection is not used. `claimed` is its birth, as it says itself. */
  accept(pid: number, claimed: string | undefined, socket: Socket): boolean {
    if (this.#left || pid === process.pid || this.#members.size >= MAX_MEMBERS) return false;
    const birth = this.#options.birthOf(pid);
    if (birth === undefined || (claimed ?? birth) !== birth) return false;
    const line: Line = new LineSocket(
      socket,
      this.#options.clock,
      (message) => {
        if (message.changed === true) this.#options.changed();
        if (message.bye === true) this.#members.delete(pid);
        if (typeof message.answer === 'number')
          this.#waiting.get(message.answer)?.answer(pid, sourcesIn(message));
      },
      () => {
        if (this.#members.get(pid)?.line === line) this.#members.set(pid, { line: undefined, birth });
        this.#options.changed();
      },
    );
    const before = this.#members.get(pid);
    this.#members.set(pid, { line, birth });
    before?.line?.end();
    this.#tellMembers();
    this.#options.changed();
    return true;
  }

  /** What each sibling has loaded, within a second. Rejects after `leave`: this process no longer knows of them. */
  async reports(): Promise<readonly Report[]> {
    for (const [pid, { line, birth }] of this.#members) {
      if (line === undefined && this.#options.birthOf(pid) !== birth) this.#members.delete(pid);
    }
    for (const pid of this.#options.expected()) this.#expect(pid);
    const asked = [...this.#members];
    const answers = await this.#ask(asked.flatMap(([, { line }]) => (line === undefined ? [] : [line])));
    if (this.#left) throw new Error('another process of the group answers now');
    return asked
      .filter(([pid]) => this.#members.has(pid))
      .map(([pid]) => ({ pid, sources: answers.get(pid) }));
  }

  /** Leaves the group: another process answers from now on. */
  leave(): void {
    this.#left = true;
    for (const { done } of this.#waiting.values()) done();
    for (const { line } of this.#members.values()) {
      line?.send({ bye: true });
      line?.end();
    }
    this.#members.clear();
  }

  #expect(pid: number): void {
    const birth = this.#members.has(pid) ? undefined : this.#options.birthOf(pid);
    if (birth !== undefined) this.#members.set(pid, { line: undefined, birth });
  }

  #ask(lines: readonly Line[]): Promise<ReadonlyMap<number, readonly SourceStatus[] | undefined>> {
    const answers = new Map<number, readonly SourceStatus[] | undefined>();
    if (lines.length === 0) return Promise.resolve(answers);
    const ask = ++this.#asked;
    return new Promise((resolve) => {
      const done = () => {
        late.cancel();
        this.#waiting.delete(ask);
        resolve(answers);
      };
      const late = this.#options.clock.after(ANSWER_MS, done).unref();
      this.#waiting.set(ask, {
        answer: (pid, sources) => {
          answers.set(pid, sources);
          if (answers.size === lines.length) done();
        },
        done,
      });
      for (const line of lines) line.send({ ask });
    });
  }

  #tellMembers(): void {
    const members = [process.pid, ...this.#members.keys()];
    for (const { line } of this.#members.values()) line?.send({ members });
  }
}
