import { type EvidenceKind, type Phase, type Plan, type ServingState, standings } from '@handover/core';
import { type Instant, instant } from '@handover/material';
import type { ObjectId } from '../snapshot/home.ts';
import { hasAsked } from '../snapshot/outputs.ts';
import { digestOf } from '../snapshot/stored-object.ts';
import type { Observation } from './observe.ts';
import { servingsIn } from './servings.ts';

export interface LeafValidity {
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** An authority in figures: names and dates, no material. An observation holds keys, and must not be passed on. */
export interface Vitals {
  readonly phase: Phase;
  /** When this phase began, as far as the state tells. */
  readonly phaseSince: Instant | undefined;
  readonly generations: readonly {
    readonly number: number;
    readonly role: string;
    readonly notBefore: Instant;
    readonly notAfter: Instant;
  }[];
  /** CAs that stay trusted without their keys: until when at most, and for how many workloads in other namespaces. */
  readonly retained: readonly {
    readonly generation: number;
    readonly until: Instant;
    readonly workloads: number;
  }[];
  /** `valid`: undefined while there is no certificate. */
  readonly leaves: readonly { readonly leaf: string; readonly valid: LeafValidity | undefined }[];
  /** Each consumer once, however many of its objects block the step. */
  readonly blockers: readonly { readonly consumer: string; readonly since: Instant }[];
  /** Number of consumers by kind of evidence; `none`: none yet. */
  readonly evidence: ReadonlyMap<EvidenceKind | 'none', number>;
  /** What each consumer that is asked serves, the worst of its processes. */
  readonly served: readonly {
    readonly consumer: string;
    readonly state: ServingState;
    readonly wrong: boolean;
    /** The earliest of its leaves; undefined: none is seen. */
    readonly notAfter: Instant | undefined;
  }[];
}

const phaseSince = ({ record }: Observation, phase: Phase): Instant | undefined => {
  const role = phase === 'Introducing' ? 'next' : phase === 'Activating' ? 'previous' : undefined;
  return record?.state.generations.find((generation) => generation.role === role)?.since;
};

/** Only the dates: no other part of the observation is passed on. */
const validity = (leaf: LeafValidity | undefined): LeafValidity | undefined =>
  leaf === undefined ? undefined : { notBefore: leaf.notBefore, notAfter: leaf.notAfter };

export function vitalsOf(observation: Observation, { phase, blockedBy, retained }: Plan): Vitals {
  const { seen, responsibilities, record, now } = observation;
  const objects = new Map(seen.objects.map((object) => [object.id, object]));
  const evidence = new Map<EvidenceKind | 'none', number>();
  for (const { by = 'none' } of standings(seen, responsibilities.policy, now))
    evidence.set(by, (evidence.get(by) ?? 0) + 1);
  const waitedFor = new Map<string, Instant>();
  for (const { consumer, since } of blockedBy) {
    const known = waitedFor.get(consumer);
    if (known === undefined || since < known) waitedFor.set(consumer, since);
  }
  return {
    phase,
    phaseSince: phaseSince(observation, phase),
    generations: (record?.state.generations ?? []).map(({ number, role, anchors }) => ({
      number,
      role,
      notBefore: anchors[0].notBefore,
      notAfter: anchors[0].notAfter,
    })),
    retained: retained.map(({ generation, until, elsewhere }) => ({
      generation,
      until,
      workloads: elsewhere.length,
    })),
    leaves: [
      ...[...responsibilities.leaves].map(([secret, { metadata }]) => ({
        leaf: `${metadata.namespace}/${metadata.name}`,
        valid: validity(objects.get(secret)?.leaf),
      })),
      ...responsibilities.refused.map(({ leaf }) => ({ leaf, valid: undefined })),
    ],
    blockers: [...waitedFor].map(([consumer, since]) => ({ consumer, since })),
    evidence,
    served: [...servingsIn(observation)].flatMap(([consumer, all]) => {
      const [worst] = all;
      if (worst === undefined) return [];
      const ends = all.flatMap(({ leaf }) => leaf?.notAfter ?? []);
      return [
        {
          consumer,
          state: worst.state,
          wrong: worst.wrong,
          notAfter: ends.length === 0 ? undefined : instant(Math.min(...ends)),
        },
      ];
    }),
  };
}

/** Of the objects to be written, those that another program changed since the last write. */
export const driftedIn = ({ stored, outputs }: Observation, { actions }: Plan): readonly ObjectId[] =>
  actions.flatMap((action) => {
    if (action.kind !== 'write-bundle' && action.kind !== 'write-leaf') return [];
    const found = stored.get(action.object);
    const record = found?.record;
    if (found === undefined || record === undefined || !hasAsked(record, outputs.get(action.object)))
      return [];
    return record.digest !== digestOf(found.data) ? [action.object] : [];
  });
