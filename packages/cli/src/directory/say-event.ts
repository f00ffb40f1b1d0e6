import { explain } from '@handover/core';
import { type RunEvent, remarksOn } from '@handover/engine';
import { HandoverError } from '@handover/material';
import { amount } from '../amount.ts';
import { printable } from '../printable.ts';

const MOST_LINES = 5;

const codeOf = (error: unknown): { code: string; message: string } =>
  error instanceof HandoverError
    ? { code: error.code, message: error.message }
    : { code: 'INTERNAL', message: error instanceof Error ? error.message : String(error) };

/** What happened, as lines for people. A plan that only waits is said once, not at every look. */
export class Speaker {
  readonly #last = new Map<string, string>();

  lines(event: RunEvent): readonly string[] {
    switch (event.kind) {
      case 'loaded': {
        const { authorities, leaves, trustBundles, tlsProfiles } = event.catalogue;
        const counts = [
          [authorities.size, 'authority', 'authorities'],
          [leaves.length, 'leaf', 'leaves'],
          [trustBundles.length, 'trust bundle', 'trust bundles'],
          [tlsProfiles.length, 'TLS profile', 'TLS profiles'],
        ] as const;
        const remarks = remarksOn(event.catalogue, false);
        return [
          `read ${counts
            .filter(([count]) => count > 0)
            .map(([count, one, many]) => amount(count, one, many))
            .join(', ')}`,
          ...few(remarks),
        ];
      }
      case 'acted':
        this.#last.delete(event.authority);
        return few(explain({ ...event.plan, blockedBy: [] })).map((line) => `${event.authority}: ${line}`);
      case 'rested': {
        const waiting = event.plan.blockedBy.map(
          ({ consumer, waitsFor }) => `waits for ${consumer}: ${waitsFor}`,
        );
        const notes = event.plan.notes.map(({ object, message }) => `${object}: ${message}`);
        const lines = few([event.plan.phase, ...notes, ...waiting]).map(
          (line) => `${event.authority}: ${line}`,
        );
        return this.#once(event.authority, lines);
      }
      case 'untold':
        return this.#once(
          `${event.authority} programs`,
          few(event.programs).map((line) => `not told yet: ${line}`),
        );
      case 'failed': {
        const { code, message } = codeOf(event.error);
        return this.#once(event.what, [`${code}: ${event.what}: ${message}`]);
      }
      default:
        return event satisfies never;
    }
  }

  #once(key: string, lines: readonly string[]): readonly string[] {
    const text = lines.join('\n');
    if (this.#last.get(key) === text) return [];
    this.#last.set(key, text);
    return lines;
  }
}

const few = (lines: readonly string[]): readonly string[] => {
  const shown = lines.slice(0, MOST_LINES).map(printable);
  return lines.length > MOST_LINES ? [...shown, `and ${lines.length - MOST_LINES} more`] : shown;
};

/** How much it matters. */
export const levelOf = ({ kind }: RunEvent): 'info' | 'warn' | 'error' =>
  kind === 'failed' ? 'error' : kind === 'untold' ? 'warn' : 'info';

/** The same for programs, one JSON document per line; the log adds level and time. */
export const eventDocument = (event: RunEvent): object => {
  const base = { event: event.kind };
  switch (event.kind) {
    case 'loaded':
      return {
        ...base,
        authorities: [...event.catalogue.authorities.keys()],
        leaves: event.catalogue.leaves.length,
        remarks: remarksOn(event.catalogue, false),
      };
    case 'acted':
      return { ...base, authority: event.authority, phase: event.plan.phase, actions: event.actions };
    case 'rested':
      return {
        ...base,
        authority: event.authority,
        phase: event.plan.phase,
        blockedBy: event.plan.blockedBy,
      };
    case 'untold':
      return { ...base, authority: event.authority, programs: event.programs };
    case 'failed':
      return { ...base, what: event.what, error: codeOf(event.error) };
    default:
      return event satisfies never;
  }
};
