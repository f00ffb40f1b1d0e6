import { type Action, explain, type Plan } from '@handover/core';
import { HandoverError, iso } from '@handover/material';
import type { LogEntry, LogKind } from './document.ts';

const MOST_ENTRIES = 100;

const KINDS = {
  'write-bundle': 'write',
  'write-leaf': 'write',
  reissue: 'write',
  stamp: 'roll',
  mint: 'step',
  activate: 'step',
  retire: 'step',
  drop: 'step',
  'record-issuance': 'write',
  distrust: 'step',
  'distrust-done': 'step',
} as const satisfies Record<Action['kind'], LogKind>;

/** The log of the page: the newest entries, newest first. */
export class LogKeeper {
  readonly #now: () => number;
  #entries: readonly LogEntry[] = [];
  #count = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  add(kind: LogKind, about: string, text: string): void {
    const at = iso(this.#now());
    this.#entries = [{ number: ++this.#count, at, kind, about, text }, ...this.#entries].slice(
      0,
      MOST_ENTRIES,
    );
  }

  /** One entry for all actions of a kind. */
  acted(authority: string, plan: Plan): void {
    const byKind = new Map<LogKind, Action[]>();
    for (const action of plan.actions) {
      const kind = KINDS[action.kind];
      byKind.set(kind, [...(byKind.get(kind) ?? []), action]);
    }
    for (const [kind, actions] of byKind) {
      const [first = ''] = explain({ ...plan, actions, blockedBy: [], notes: [] });
      const more = actions.length - 1;
      this.add(kind, authority, more === 0 ? first : `${first} And ${more} more.`);
    }
  }

  /** False: the last entry says the same. */
  failed(about: string, error: unknown): boolean {
    // Only a HandoverError is known to hold no key.
    const text = error instanceof HandoverError ? `${error.code}: ${error.message}` : 'INTERNAL: see the log';
    const [last] = this.#entries;
    if (last?.kind === 'failure' && last.about === about && last.text === text) return false;
    this.add('failure', about, text);
    return true;
  }
}
