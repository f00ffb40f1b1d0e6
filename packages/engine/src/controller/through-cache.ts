import type { Action, Plan } from '@handover/core';
import type { CachedView, Home } from '../look/home.ts';

/** The same home, read through what it has in memory; writes go where they always go. */
export const throughCache = (home: Home, cached: CachedView): Home => ({
  objects: {
    read: (id) => cached.objects.read(id),
    whyAbsent: (id) => cached.objects.whyAbsent?.(id),
    issuedBy: (authority, known) => cached.objects.issuedBy(authority, known),
    write: (id, expect, make) => home.objects.write(id, expect, make),
  },
  authorities: {
    load: (id) => cached.authorities.load(id),
    swap: (id, expect, record) => home.authorities.swap(id, expect, record),
  },
  requests: {
    pending: (id) => cached.requests.pending(id),
    done: (id, state) => home.requests.done(id, state),
  },
  evidence: cached.evidence,
  reloads: home.reloads,
  clock: home.clock,
  keyring: home.keyring,
  random: home.random,
  facts: home.facts,
  rollouts: home.rollouts,
  profiles: home.profiles,
  issuer: home.issuer,
  ledger: home.ledger,
});

/** A write or a stamp names the version it rests on, which fences it; a creation or a step names nothing that could. */
const mayRestOnCache = (action: Action): boolean =>
  action.kind === 'stamp' ||
  ((action.kind === 'write-bundle' || action.kind === 'write-leaf') && action.expect !== undefined);

/** Nothing is to be done and nobody is waited for. */
export const isAtRest = ({ actions, blockedBy, phase }: Plan): boolean =>
  actions.length === 0 && blockedBy.length === 0 && phase === 'Stable';

/**
 * Whether a plan that was made on a cache may be followed. To do nothing is always safe, but a cache that is behind must not
 * hold up a rotation: only a stable authority, of whom nobody wants anything, rests on it.
 */
export const stands = (plan: Plan): boolean =>
  plan.actions.length === 0 ? isAtRest(plan) : plan.actions.every(mayRestOnCache);
