import type { Socket } from 'node:net';
import type { Clock, Timer } from '@handover/material';
import { warn } from '../warn.ts';
import { birthOf, ownWorkers } from './cluster-process.ts';
import type { Report } from './document.ts';
import { LineSocket } from './line-socket.ts';
import type { ProcessRegistry } from './process-registry.ts';
import { type FromSibling, Siblings, type ToSibling } from './siblings.ts';
import type { SourceStatus } from './status.ts';

/** Tries, and time, before a place counts as taken by a program that is not of this group. */
const TRIES = 20;
const TRY_MS = 50;
const ENTER_MS = 10_000;
/** How often the process that answers looks whether the place is still its own. */
const HOLD_MS = 1_000;
/** How long the process that answers may take to say who belongs to the group. */
const MEMBERS_MS = 1_000;

/** The work of the process that answers. */
export interface Lead {
  readonly port: number | undefined;
  /** False: another process has taken the place. */
  isHeld(): boolean;
  /** The material of this process has changed. */
  changed(): void;
  close(): Promise<void>;
}

/** A place where exactly one process of a group answers. */
export interface Endpoint {
  /** Begins to answer. Rejects with EADDRINUSE while another process does. */
  lead(group: Group): Promise<Lead>;
  /** Connects to the process that answers; undefined when it does not take this process. */
  join(): Promise<Socket | undefined>;
}

export interface Group {
  readonly siblings: Siblings;
  /** What every process of the group has loaded. */
  reports(): Promise<readonly Report[]>;
  /** Called when a report may have changed. */
  onChange(listener: () => void): void;
}

/** Undefined: what this process has loaded is not known. */
type Own = () => readonly SourceStatus[] | undefined;

/** Which processes belong to a group. */
export interface Membership {
  /** When a running process of the group began; undefined for any other. */
  birthOf(pid: number): string | undefined;
  /** Processes that must answer, whether they have come or not. */
  expected(): readonly number[];
  /** Makes others expect this process, where that can be done; the result ends it. */
  enter(): Promise<() => void>;
}

/** A process alone or, in the primary of a cluster, with its workers. */
export const withOwnWorkers: Membership = {
  birthOf: (pid) => (ownWorkers().includes(pid) ? birthOf(pid) : undefined),
  expected: ownWorkers,
  enter: async () => () => undefined,
};

/** Processes on the roll: of one parent (the primary of a cluster), or all of this user. */
export const membershipOn = (
  registry: ProcessRegistry | undefined,
  parent: number | undefined,
): Membership => ({
  birthOf: (pid) => birthOf(pid, parent),
  expected: () => registry?.pids() ?? [],
  enter: () => registry?.enter() ?? withOwnWorkers.enter(),
});

export function groupOf(own: Own, known: readonly number[], membership: Membership, clock: Clock): Group {
  let changed: () => void = () => undefined;
  const siblings = new Siblings({
    clock,
    known,
    birthOf: membership.birthOf,
    expected: membership.expected,
    changed: () => changed(),
  });
  return {
    siblings,
    reports: async () => [{ pid: process.pid, sources: own() }, ...(await siblings.reports())],
    onChange: (listener) => {
      changed = listener;
    },
  };
}

type Role =
  | { readonly leads: Lead; readonly siblings: Siblings }
  | { readonly line: LineSocket<Partial<FromSibling>, ToSibling> };

/**
 * One process's part in the status of its group. The process that gets the place answers for all, the others report to it;
 * when it ends, one of them takes its place and knows which processes to wait for. The primary of a cluster need not load this package (PM2).
 */
export class Worker {
  readonly #endpoint: Endpoint;
  readonly #own: Own;
  readonly #membership: Membership;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  /** Takes this process off the roll. */
  #unlist: (() => void) | undefined;
  #role: Role | undefined;
  /** Processes of the group, the one that answers first. */
  #members: readonly number[] = [];
  #hold: Timer | undefined;
  #entering: Promise<void> = Promise.resolve();

  constructor(endpoint: Endpoint, own: Own, membership: Membership, clock: Clock) {
    this.#endpoint = endpoint;
    this.#own = own;
    this.#membership = membership;
    this.#clock = clock;
  }

  /** From now on the others wait for this process. Call it before the files are read that the status will show. */
  async announce(): Promise<void> {
    this.#unlist ??= await this.#membership.enter();
  }

  /** Rejects when the place is taken by a program that is not of this group. */
  enter(): Promise<void> {
    const entering = this.#enter();
    this.#entering = entering.catch(() => undefined);
    return entering;
  }

  async #enter(): Promise<void> {
    await this.announce();
    const end = this.#clock.monotonic() + ENTER_MS;
    for (let tries = 1; !this.#stop.signal.aborted; tries++) {
      try {
        return await this.#lead();
      } catch (error) {
        if (!isTaken(error) || tries >= TRIES || this.#clock.monotonic() > end) throw error;
      }
      if (await this.#join()) return;
      await this.#clock.sleep(TRY_MS, this.#stop.signal);
    }
  }

  /** The material of this process has changed. */
  changed(): void {
    if (this.#role === undefined) return;
    if ('leads' in this.#role) this.#role.leads.changed();
    else this.#role.line.send({ changed: true });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    // A place that this process gets meanwhile is given up.
    await this.#entering;
    this.#hold?.cancel();
    this.#unlist?.(); // before the goodbye, after which it is not expected
    const role = this.#role;
    this.#role = undefined;
    if (role === undefined) return;
    if ('leads' in role) {
      role.siblings.leave();
      await role.leads.close();
    } else {
      role.line.send({ bye: true });
      role.line.end();
    }
  }

  async #lead(): Promise<void> {
    const known = this.#members.filter((pid) => pid !== process.pid);
    const group = groupOf(this.#own, known, this.#membership, this.#clock);
    const leads = await this.#endpoint.lead(group);
    const role = { leads, siblings: group.siblings };
    this.#role = role;
    const hold = this.#clock.every(HOLD_MS, () => {
      if (leads.isHeld()) return;
      hold.cancel();
      group.siblings.leave();
      void leads.close();
      this.#again(role);
    });
    this.#hold = hold.unref();
  }

  async #join(): Promise<boolean> {
    const socket = await this.#endpoint.join();
    if (socket === undefined) return false;
    return new Promise((resolve) => {
      const line: LineSocket<Partial<FromSibling>, ToSibling> = new LineSocket(
        socket,
        this.#clock,
        ({ ask, members, bye }) => {
          if (typeof ask === 'number') line.send({ answer: ask, sources: this.#own() ?? null });
          if (bye === true) this.#members = this.#members.slice(1);
          if (!Array.isArray(members)) return;
          this.#members = members.filter((pid): pid is number => Number.isSafeInteger(pid));
          this.#role = role;
          late.cancel();
          resolve(true);
        },
        () => {
          late.cancel();
          resolve(false);
          this.#again(role);
        },
      );
      const late = this.#clock.after(MEMBERS_MS, () => socket.destroy()).unref();
      const role = { line };
    });
  }

  /** The process that answered is gone. */
  #again(was: Role): void {
    if (this.#role !== was || this.#stop.signal.aborted) return;
    this.#role = undefined;
    void this.#retry();
  }

  async #retry(): Promise<void> {
    for (let failed = false; !this.#stop.signal.aborted; failed = true) {
      try {
        return await this.enter();
      } catch (error) {
        if (!failed) warn('STATUS_FAILED', `no status document of process ${process.pid}: ${String(error)}`);
      }
      await new Promise<void>((tick) => void this.#clock.after(HOLD_MS, tick).unref());
    }
  }
}

/** The place is held by another process. */
export const isTaken = (error: unknown): boolean =>
  [error, (error as Error)?.cause].some(
    (thrown) => (thrown as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE',
  );
