import type { AuthorityPart } from '../document.ts';
import { durationWords, few, shortName } from './words.ts';

export type Tone = 'calm' | 'moving' | 'trouble';

export interface Headline {
  readonly tone: Tone;
  readonly line: string;
  readonly detail: string;
}

/** Every consumer that the next step waits for, once. */
export const waitingFor = ({ status, awaited }: AuthorityPart): readonly string[] => [
  ...new Set([...status.blockedBy.map(({ consumer }) => consumer), ...awaited.map(({ name }) => name)]),
];

const generation = ({ status }: AuthorityPart, role: string): number | undefined =>
  status.generations.find((candidate) => candidate.role === role)?.generation;

const refusedPairs = ({ trust }: AuthorityPart): number => {
  const size = (parties: readonly { readonly group: number }[], group: number): number =>
    parties.filter((party) => party.group === group).length;
  let pairs = 0;
  trust.cells.forEach((row, presenter) => {
    row.forEach(({ now }, verifier) => {
      if (now === 'fails') pairs += size(trust.presenters, presenter) * size(trust.verifiers, verifier);
    });
  });
  return pairs;
};

/** The state of one authority in a sentence or two. */
export const headlineOf = (part: AuthorityPart): Headline => {
  const refused = refusedPairs(part);
  const current = generation(part, 'current');
  const next = generation(part, 'next');
  const previous = generation(part, 'previous');
  const distrusted = generation(part, 'distrusted');
  const waiting = waitingFor(part).map(shortName);
  const waits = waiting.length === 0 ? '' : `Waiting for ${few(waiting, 4)}.`;
  const wrong = part.status.consumers.flatMap(({ name, shows: [worst] }) =>
    worst?.wrong === true ? [`${shortName(name)} ${worst.text}`] : [],
  );
  const tone: Tone =
    refused > 0 || wrong.length > 0 ? 'trouble' : part.status.phase === 'Stable' ? 'calm' : 'moving';
  const line = ((): string => {
    if (current === undefined) return 'There is no CA generation yet.';
    if (distrusted !== undefined)
      return `CA generation ${distrusted} is distrusted; CA generation ${current} has replaced it.`;
    if (next !== undefined)
      return `CA generation ${next} is being introduced; CA generation ${current} still signs.`;
    if (previous !== undefined)
      return `CA generation ${current} signs; CA generation ${previous} is still trusted.`;
    if (part.status.phase === 'Retiring')
      return `CA generation ${current} signs; the previous one is removed from every bundle.`;
    const retained = part.status.generations.filter(({ role }) => role === 'retained');
    if (retained.length > 0) {
      const numbers = retained.map(({ generation: number }) => number).join(', ');
      return `CA generation ${current} signs; CA ${retained.length === 1 ? 'generation' : 'generations'} ${numbers} ${retained.length === 1 ? 'stays' : 'stay'} trusted without ${retained.length === 1 ? 'its key' : 'their keys'}.`;
    }
    return `CA generation ${current} signs, and only it is trusted.`;
  })();
  if (refused > 0)
    return {
      tone,
      line,
      detail: `${refused === 1 ? '1 connection fails' : `${refused} connections fail`} now. ${waits}`.trim(),
    };
  if (wrong.length > 0) {
    const [first] = wrong;
    const others = wrong.length === 1 ? '' : ` (and ${wrong.length - 1} more)`;
    return { tone, line, detail: `${first}${others}. ${waits}`.trim() };
  }
  if (waits !== '') return { tone, line, detail: waits };
  return {
    tone,
    line,
    detail: part.status.phase === 'Stable' ? 'Nothing blocks the next step.' : 'Files are being written.',
  };
};

/** How long until time alone ends the wait; else how soon Handover looks again; empty: neither is near. */
export const dueWords = ({ status }: AuthorityPart, now: number): string => {
  const { blockedBy, dueAt, wakeAt } = status;
  // Without a blocker something else is due: the renewal of a leaf, or the next rotation.
  if (blockedBy.length > 0 && dueAt !== null)
    return `The next step is due in ${durationWords(Date.parse(dueAt) - now)}.`;
  const left = wakeAt === null ? 0 : Date.parse(wakeAt) - now;
  return left > 1_000 && left < 600_000 ? `Handover checks again in ${durationWords(left)}.` : '';
};

export interface Station {
  readonly name: string;
  readonly what: string;
  readonly state: 'done' | 'now' | 'ahead';
}

/** The three steps of a rotation, and the current one; empty: no rotation is running. */
export const stationsOf = (part: AuthorityPart): readonly Station[] => {
  const { phase } = part.status;
  const at = ['Introducing', 'Activating', 'Retiring'].indexOf(phase);
  if (at < 0 || generation(part, 'distrusted') !== undefined) return [];
  const coming = generation(part, 'next') ?? generation(part, 'current') ?? 0;
  const going =
    generation(part, 'next') === undefined
      ? (generation(part, 'previous') ?? coming - 1)
      : (generation(part, 'current') ?? coming - 1);
  const stations = [
    { name: 'Introduce', what: `CA generation ${coming} goes into every bundle` },
    { name: 'Activate', what: `CA generation ${coming} signs every leaf` },
    { name: 'Retire', what: `CA generation ${going} leaves every bundle, its key is destroyed` },
  ];
  return stations.map((station, index) => ({
    ...station,
    state: index < at ? 'done' : index === at ? 'now' : 'ahead',
  }));
};
