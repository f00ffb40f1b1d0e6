import { explain } from '@handover/core';
import { HandoverError } from '@handover/material';
import type { OperatorEvent } from '@handover/operator';
import { printable } from '../printable.ts';

const codeOf = (error: unknown): { code: string; message: string } =>
  error instanceof HandoverError
    ? { code: error.code, message: error.message }
    : { code: 'INTERNAL', message: error instanceof Error ? error.message : String(error) };

/** One JSON document per thing that happened, for a cluster's log. A plan that only waits is said once. */
export class OperatorLog {
  readonly #write: (line: string) => void;
  readonly #now: () => number;
  readonly #last = new Map<string, string>();

  constructor(write: (line: string) => void, now: () => number) {
    this.#write = write;
    this.#now = now;
  }

  readonly on = (event: OperatorEvent): void => {
    switch (event.kind) {
      case 'started':
        return this.#say('info', 'started', { identity: event.identity });
      case 'leading':
        return this.#say('info', event.held ? 'leads' : 'no longer leads', {});
      case 'acted':
        this.#last.delete(event.authority);
        return this.#say('info', 'acted', {
          authority: event.authority,
          phase: event.plan.phase,
          actions: event.actions.length,
          did: explain({ ...event.plan, blockedBy: [] })
            .slice(0, 5)
            .map(printable),
        });
      case 'rested': {
        const waits = event.plan.blockedBy.map(({ consumer, waitsFor }) =>
          printable(`${consumer}: ${waitsFor}`),
        );
        const notes = event.plan.notes.map(({ object, message }) => printable(`${object}: ${message}`));
        const text = JSON.stringify([event.plan.phase, waits, notes]);
        if (this.#last.get(event.authority) === text) return;
        this.#last.set(event.authority, text);
        return this.#say('info', 'rests', {
          authority: event.authority,
          phase: event.plan.phase,
          waits: waits.slice(0, 5),
          notes: notes.slice(0, 5),
        });
      }
      case 'repaired':
        return this.#say('warn', 'repaired', { object: event.object, changedBy: printable(event.manager) });
      case 'refused':
        return this.#say('warn', 'not injected', { object: event.object, why: printable(event.why) });
      case 'failed':
        return this.#say('error', 'failed', { what: event.what, ...codeOf(event.error) });
      default:
        return event satisfies never;
    }
  };

  #say(level: string, event: string, more: object): void {
    this.#write(`${JSON.stringify({ at: new Date(this.#now()).toISOString(), level, event, ...more })}\n`);
  }
}
