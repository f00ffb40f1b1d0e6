import type { Action, Plan, ProfileAction } from '@handover/core';
import type { Instant } from '@handover/material';
import type { IssuedEntry } from '../ledger/issued-entry.ts';
import type { Observation } from '../observe/observe.ts';
import { type Vitals, vitalsOf } from '../observe/vitals.ts';
import type { Catalogue } from '../snapshot/catalogue.ts';
import type { AuthorityId, ObjectId } from '../snapshot/home.ts';
import type { HookStatus } from '../snapshot/hook-status.ts';
import type { AuthorityOutcome } from './reconcile.ts';

/** What a controller tells, in either home. Logs, Kubernetes Events, metrics and the dashboard listen. */
export type ControllerEvent =
  | { readonly kind: 'started'; readonly identity: string }
  | { readonly kind: 'leading'; readonly held: boolean }
  /** The resources were read again. */
  | { readonly kind: 'loaded'; readonly catalogue: Catalogue }
  | {
      readonly kind: 'acted';
      readonly authority: AuthorityId;
      readonly actions: readonly Action[];
      readonly plan: Plan;
      /** What the plan was made on. It holds private keys: a dashboard may read it, a log must not. */
      readonly observation: Observation;
    }
  | {
      readonly kind: 'rested';
      readonly authority: AuthorityId;
      readonly plan: Plan;
      readonly vitals: Vitals;
      readonly observation: Observation;
    }
  /** How a hook ended; `isNew`: just now, and not before this process began. */
  | { readonly kind: 'hooked'; readonly hook: HookStatus; readonly isNew: boolean }
  /** Objects that cannot be written now, each with the reason; none: every object can again. Told when it changes. */
  | { readonly kind: 'obstructed'; readonly authority: AuthorityId; readonly obstacles: readonly string[] }
  | { readonly kind: 'profiled'; readonly profile: string; readonly actions: readonly ProfileAction[] }
  /** An object that was changed from outside has its content back. `manager`: what had changed it, where the home knows. */
  | {
      readonly kind: 'repaired';
      readonly object: ObjectId;
      readonly manager: string | undefined;
      /** Files of another program that were in the way: "PATH is kept as PATH". */
      readonly kept?: readonly string[];
    }
  /** A certificate was made; no object holds it yet. */
  | { readonly kind: 'issued'; readonly entry: IssuedEntry }
  /** An object that asks for a CA bundle and does not get it. */
  | { readonly kind: 'refused'; readonly object: string; readonly why: string }
  | {
      readonly kind: 'failed';
      readonly what: string;
      readonly error: unknown;
      readonly retryAt: Instant | undefined;
    };

export type Listener = (event: ControllerEvent) => void;

/** What a pass over an authority has to tell. */
export const eventsOf = ({ plan, observation }: AuthorityOutcome): readonly ControllerEvent[] => {
  const authority = observation.responsibilities.id;
  const { actions } = plan;
  return [
    actions.length > 0
      ? { kind: 'acted', authority, actions, plan, observation }
      : { kind: 'rested', authority, plan, vitals: vitalsOf(observation, plan), observation },
  ];
};
