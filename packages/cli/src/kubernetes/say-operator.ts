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
    const said = this.#wordsFor(event);
    if (said !== undefined) this.say(said);
  };

  say(words: object): void {
    this.#write(`${JSON.stringify({ at: new Date(this.#now()).toISOString(), ...words })}\n`);
  }

  #wordsFor(event: OperatorEvent): object | undefined {
    switch (event.kind) {
      case 'started':
        return { level: 'info', event: 'started', identity: event.identity };
      case 'leading':
        return { level: 'info', event: event.held ? 'leads' : 'no longer leads' };
      case 'acted':
        this.#last.delete(event.authority);
        return {
          level: 'info',
          event: 'acted',
          authority: event.authority,
          phase: event.plan.phase,
          actions: event.actions.length,
          did: explain({ ...event.plan, blockedBy: [] })
            .slice(0, 5)
            .map(printable),
        };
      case 'rested':
        return this.#once(event.authority, {
          level: 'info',
          event: 'rests',
          authority: event.authority,
          phase: event.plan.phase,
          waits: event.plan.blockedBy
            .slice(0, 5)
            .map(({ consumer, waitsFor }) => printable(`${consumer}: ${waitsFor}`)),
          notes: event.plan.notes
            .slice(0, 5)
            .map(({ object, message }) => printable(`${object}: ${message}`)),
        });
      case 'repaired':
        return {
          level: 'warn',
          event: 'repaired',
          object: event.object,
          changedBy: printable(event.manager),
        };
      case 'obstructed':
        return {
          level: event.obstacles.length === 0 ? 'info' : 'warn',
          event: 'obstructed',
          authority: event.authority,
          obstacles: event.obstacles.slice(0, 5).map(printable),
        };
      case 'refused':
        return { level: 'warn', event: 'not injected', object: event.object, why: printable(event.why) };
      case 'failed':
        return { level: 'error', event: 'failed', what: event.what, ...codeOf(event.error) };
      default:
        return event satisfies never;
    }
  }

  #once(key: string, words: object): object | undefined {
    const text = JSON.stringify(words);
    if (this.#last.get(key) === text) return undefined;
    this.#last.set(key, text);
    return words;
  }
}
