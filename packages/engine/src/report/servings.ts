import { MOST_NAMED, type Serving } from '@handover/core';
import { iso } from '@handover/material';
import type { JudgedServing } from '../observe/servings.ts';
import type { ServingStatus } from './status-types.ts';

export const servingStatuses = (all: readonly JudgedServing[]): readonly ServingStatus[] =>
  all
    .slice(0, MOST_NAMED)
    .map(({ instance, state, object, generation, leaf, reason, at, since, wrong, text }) => ({
      instance,
      state,
      object: object ?? null,
      generation: generation ?? null,
      names: leaf?.names ?? [],
      fingerprint: leaf?.fingerprint ?? null,
      notAfter: leaf?.notAfter === undefined ? null : iso(leaf.notAfter),
      reason: reason ?? null,
      at: iso(at),
      since: iso(since),
      wrong,
      text,
    }));

const REMEDIES = {
  expired:
    'it has not loaded its renewed files: reload it, and declare the hook that does (reload: on its Leaf)',
  older:
    'it has not loaded its newest files: reload it, and declare the hook that does (reload: on its Leaf)',
  other: 'point it at its own files',
  foreign: 'point it at the files of its Leaf, or correct the address of its probe',
  newest: '',
} as const;

const UNSEEN_REMEDIES = {
  unreachable: 'start it, or correct the address of its probe',
  timeout: 'see what it waits for',
  'not-tls': 'correct the address of its probe, or name the protocol in which TLS starts (starttls)',
  'no-certificate': 'see its log',
  unread: 'see its log',
  'not-asked': 'correct how it is declared',
  pending: '',
} as const;

/** What to do about a consumer that serves this. */
export const servingRemedy = ({ state, reason }: Pick<Serving, 'state' | 'reason'>): string =>
  state === 'unseen' ? UNSEEN_REMEDIES[reason ?? 'pending'] : REMEDIES[state];
