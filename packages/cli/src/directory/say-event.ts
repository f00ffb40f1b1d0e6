import { explain, sentenceOf, waitGroups } from '@handover/core';
import { type ControllerEvent, hookLine, remarksOn } from '@handover/engine';
import { codeOf } from '../event-log.ts';
import { amount, printable } from '../printable.ts';

const MOST_LINES = 5;

/** Events as lines for a terminal. A plan that only waits is printed once, not at every look. */
export class Speaker {
  readonly #last = new Map<string, string>();

  lines(event: ControllerEvent): readonly string[] {
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
        const waiting = waitGroups(event.plan.blockedBy).map(({ phrase }) => sentenceOf(phrase));
        const notes = event.plan.notes.map(({ object, message }) => `${object}: ${message}`);
        const lines = few([event.plan.phase, ...notes, ...waiting]).map(
          (line) => `${event.authority}: ${line}`,
        );
        return this.#once(event.authority, lines);
      }
      case 'hooked': {
        if (!event.isNew) return [];
        const lines = [printable(sentenceOf(hookLine(event.hook)))];
        if (event.hook.state !== 'failed') return lines;
        // Each try has another time: the same failure is said once.
        const failure = `${event.hook.hook} ${event.hook.message}`;
        return this.#once(event.hook.hook, [failure]).length === 0 ? [] : lines;
      }
      case 'failed': {
        const { code, message } = codeOf(event.error);
        // An obstacle begins with its object.
        const what = message.startsWith(`${event.what}: `) ? '' : `${event.what}: `;
        return this.#once(event.what, [`${code}: ${what}${message}`]);
      }
      case 'repaired':
        return (event.kept ?? []).map(
          (kept) => `${event.object}: handover replaced a file that it did not write: ${kept}`,
        );
      case 'started':
      case 'leading':
      case 'obstructed':
      case 'profiled':
      case 'issued':
      case 'refused':
        return []; // of the operator, or told by another line
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
