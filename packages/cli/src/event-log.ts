import { explain, type ProfileAction, waitGroups } from '@handover/core';
import { type ControllerEvent, type IssuedEntry, remarksOn } from '@handover/engine';
import { HandoverError, type Instant } from '@handover/material';
import type { Logger } from 'pino';
import { LineLimits } from './line-limits.ts';
import type { Level } from './log.ts';
import { printable } from './printable.ts';

export const codeOf = (error: unknown): { code: string; message: string } =>
  error instanceof HandoverError
    ? { code: error.code, message: error.message }
    : { code: 'INTERNAL', message: error instanceof Error ? error.message : String(error) };

const saidOf = (action: ProfileAction): string =>
  action.kind === 'write-profile'
    ? `Write TLS profile ${action.hash.slice(0, 12)}, because ${action.why}.`
    : `Roll ${action.consumer}, because ${action.why}.`;

/** One certificate as a line of the log, which adds the time itself. */
export const issuedLine = ({ at: _, ...entry }: IssuedEntry): object => ({ event: 'issued', ...entry });

interface Words {
  readonly level: Level;
  readonly event: string;
  readonly [detail: string]: unknown;
}

/** One JSON document per event. A plan that only waits is logged once, and at `debug` each time. */
export class EventLog {
  readonly #log: Logger;
  /** Logs at every `--log-level`: an audit trail has no gaps. */
  readonly #issued: Logger;
  readonly #last = new Map<string, string>();
  readonly #limits: LineLimits;

  constructor(log: Logger, now: () => Instant) {
    this.#log = log;
    this.#limits = new LineLimits(now);
    this.#issued = log.child({}, { level: 'info' });
  }

  readonly on = (event: ControllerEvent): void => {
    if (event.kind === 'issued') {
      this.#issued.info(issuedLine(event.entry));
      return;
    }
    this.#say(this.#wordsFor(event), event);
    if (event.kind !== 'acted') return;
    for (const { kind: action, why, ...rest } of event.actions)
      this.#log.debug({
        event: 'decided',
        authority: event.authority,
        action,
        ...('object' in rest ? { object: rest.object } : {}),
        why,
      });
  };

  /** What others can cause again and again is limited; with `--log-level debug` each line is there. */
  #say({ level, ...said }: Words, event: ControllerEvent): void {
    const what = event.kind === 'failed' ? event.what : event.kind === 'repaired' ? event.object : undefined;
    const leftOut = what === undefined ? 0 : this.#limits.take(`${what} ${said.code ?? event.kind}`);
    if (leftOut === undefined) this.#log.debug(said);
    else this.#log[level](leftOut === 0 ? said : { ...said, leftOut });
  }

  #wordsFor(event: Exclude<ControllerEvent, { readonly kind: 'issued' }>): Words {
    switch (event.kind) {
      case 'started':
        return { level: 'info', event: 'started', identity: event.identity };
      case 'leading':
        return { level: 'info', event: event.held ? 'leads' : 'no longer leads' };
      case 'loaded': {
        const { authorities, leaves } = event.catalogue;
        return {
          level: 'info',
          event: 'loaded',
          authorities: [...authorities.keys()],
          leaves: leaves.length,
          remarks: remarksOn(event.catalogue, false),
        };
      }
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
          event: 'rested',
          authority: event.authority,
          phase: event.plan.phase,
          waits: waitGroups(event.plan.blockedBy)
            .slice(0, 5)
            .map(({ phrase }) => printable(phrase)),
          notes: event.plan.notes
            .slice(0, 5)
            .map(({ object, message }) => printable(`${object}: ${message}`)),
        });
      case 'profiled':
        return {
          level: 'info',
          event: 'acted',
          tlsProfile: event.profile,
          did: event.actions.slice(0, 5).map((action) => printable(saidOf(action))),
        };
      case 'repaired':
        return {
          level: 'warn',
          event: 'repaired',
          object: event.object,
          ...(event.manager === undefined ? {} : { changedBy: printable(event.manager) }),
          ...(event.kept === undefined ? {} : { kept: event.kept.map(printable) }),
        };
      case 'hooked': {
        const { message, ...hook } = event.hook;
        const level = !event.isNew ? 'debug' : hook.state === 'failed' ? 'warn' : 'info';
        return { level, event: 'hook', ...hook, message: message === null ? null : printable(message) };
      }
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

  #once(key: string, words: Words): Words {
    const text = JSON.stringify(words);
    if (this.#last.get(key) === text) return { ...words, level: 'debug' };
    this.#last.set(key, text);
    return words;
  }
}
