import type { AuthorityPart } from '../document.ts';
import { few, shortName } from './words.ts';

export type Tone = 'calm' | 'moving' | 'trouble';

export interface Headline {
  readonly tone: Tone;
  readonly line: string;
  readonly detail: string;
}

/** Everybody whom the next step waits for, each once. */
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

/** How it stands with one authority, in a sentence or two. */
export const headlineOf = (part: AuthorityPart): Headline => {
  const refused = refusedPairs(part);
  const current = generation(part, 'current');
  const next = generation(part, 'next');
  const previous = generation(part, 'previous');
  const distrusted = generation(part, 'distrusted');
  const waiting = waitingFor(part).map(shortName);
  const whom = waiting.length === 0 ? '' : `Waiting for ${few(waiting, 4)}.`;
  const tone: Tone = refused > 0 ? 'trouble' : part.status.phase === 'Stable' ? 'calm' : 'moving';
  const line = ((): string => {
    if (current === undefined) return 'There is no generation yet.';
    if (distrusted !== undefined)
      return `Generation ${distrusted} is distrusted; ${current} has taken its place.`;
    if (next !== undefined) return `Generation ${next} is being introduced; ${current} still signs.`;
    if (previous !== undefined) return `Generation ${current} signs; ${previous} is still trusted.`;
    if (part.status.phase === 'Retiring')
      return `Generation ${current} signs; the one before leaves every bundle.`;
    return `Generation ${current} signs, and is all that is trusted.`;
  })();
  if (refused > 0)
    return {
      tone,
      line,
      detail:
        `${refused === 1 ? 'One pair refuses' : `${refused} pairs refuse`} each other now. ${whom}`.trim(),
    };
  if (whom !== '') return { tone, line, detail: whom };
  return {
    tone,
    line,
    detail: part.status.phase === 'Stable' ? 'Nobody is waited for.' : 'Files are being written.',
  };
};

export interface Station {
  readonly name: string;
  readonly what: string;
  readonly state: 'done' | 'now' | 'ahead';
}

/** The three steps of a rotation and where this one is; empty: none is under way. */
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
    { name: 'Introduce', what: `${coming} goes into every bundle` },
    { name: 'Activate', what: `${coming} signs every leaf` },
    { name: 'Retire', what: `${going} leaves, its key is destroyed` },
  ];
  return stations.map((station, index) => ({
    ...station,
    state: index < at ? 'done' : index === at ? 'now' : 'ahead',
  }));
};
