import { minute, second } from '@handover/material';

/** A blocker as the planner names it, or as a status document shows it: only `since` differs. */
interface Wait<Since> {
  readonly consumer: string;
  /** Begins with "to", and reads after the consumer's name: "to load CA generation 3". Or it is a sentence of its own. */
  readonly waitsFor: string;
  readonly since: Since;
  /** What the consumer serves meanwhile, read after its name. */
  readonly shows?: string;
}

/** All consumers that have to do the same thing. */
export interface WaitGroup<Since> {
  /** "waiting for web-1, web-2 to load CA generation 3; web-1 shows …": no capital, no full stop. */
  readonly phrase: string;
  /** The earliest of theirs. */
  readonly since: Since;
}

/** Names in one sentence; `handover status --json` has them all. */
const MOST_NAMES = 5;
const MOST_SHOWN = 2;

/** "10 s", "3 min". */
export const lengthOf = (time: number): string =>
  time >= minute && time % minute === 0 ? `${time / minute} min` : `${time / second} s`;

/** "a, b, c and 4 more". */
export const listed = (names: readonly string[], most: number): string => {
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return `${names.slice(0, most).join(', ')}${more}`;
};

/** "CA generation 3", "CA generations 2 and 3". */
export const caGenerations = (numbers: readonly number[]): string =>
  `CA generation${numbers.length === 1 ? '' : 's'} ${numbers.join(', ').replace(/, (\d+)$/, ' and $1')}`;

/** "; it shows CA generation 1", "; a shows …; b shows …; and 2 more show other certificates". */
const besides = (shown: ReadonlyMap<string, string>, consumers: number): string => {
  if (shown.size === 0) return '';
  const more = shown.size - MOST_SHOWN;
  return `; ${[
    ...[...shown].slice(0, MOST_SHOWN).map(([name, shows]) => `${consumers === 1 ? 'it' : name} ${shows}`),
    ...(more > 0 ? [`${more} more: see handover status`] : []),
  ].join('; ')}`;
};

/** The one place where blockers become sentences: for status, plan, `rotate --wait`, conditions, Events and dashboard. */
export const waitGroups = <Since extends number | string>(
  blockers: readonly Wait<Since>[],
  mostNames = MOST_NAMES,
): readonly WaitGroup<Since>[] => {
  const groups = new Map<
    string,
    { readonly consumers: Set<string>; readonly shown: Map<string, string>; since: Since }
  >();
  for (const { consumer, waitsFor, since, shows } of blockers) {
    const group = groups.get(waitsFor) ?? {
      consumers: new Set<string>(),
      shown: new Map<string, string>(),
      since,
    };
    group.consumers.add(consumer);
    if (shows !== undefined) group.shown.set(consumer, shows);
    if (since < group.since) group.since = since;
    groups.set(waitsFor, group);
  }
  return [...groups].map(([waitsFor, { consumers, shown, since }]) => ({
    phrase: waitsFor.startsWith('to ')
      ? `waiting for ${listed([...consumers], mostNames)} ${waitsFor}${besides(shown, consumers.size)}`
      : waitsFor,
    since,
  }));
};

/** The first phrases in one line, for conditions, Events and errors. */
export const waitingText = (blockers: readonly Wait<number | string>[], most = 3): string => {
  const phrases = waitGroups(blockers).map(({ phrase }) => phrase);
  const more = phrases.length > most ? `; and ${phrases.length - most} more` : '';
  return `${phrases.slice(0, most).join('; ')}${more}`;
};

/** A phrase as a sentence. */
export const sentenceOf = (phrase: string): string =>
  `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}${phrase.endsWith('.') ? '' : '.'}`;
