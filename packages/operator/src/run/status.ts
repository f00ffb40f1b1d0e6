import {
  type AuthorityResourceStatus,
  type Condition,
  Contended,
  closeness,
  type LeafResourceStatus,
  type LeafSeen,
  MOST_NAMED,
  MOST_SENTENCES,
  type Note,
  type Plan,
  renewalDueAt,
  type TrustBundleResourceStatus,
  waitingText,
} from '@handover/core';
import { type AuthorityStatus, authorityStatus, idOf, type Observation } from '@handover/engine';
import { type Instant, instant, isoSeconds } from '@handover/material';
import { ownNotes } from '../events/happenings.ts';
import type { Declared } from '../resources/declared.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';

export type AnyStatus =
  | AuthorityResourceStatus
  | LeafResourceStatus
  | TrustBundleResourceStatus
  | Readonly<Record<string, unknown>>;
export type Verdict = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

const shortened = (text: string, most = 1_000): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`;

/** Conditions of now; `StatusWriter` keeps the time of those whose status has not changed. */
export const conditionsOf = (
  { generation }: Declared,
  verdicts: readonly Verdict[],
  now: Instant,
): readonly Condition[] =>
  verdicts.map((verdict) => ({
    ...verdict,
    message: shortened(verdict.message),
    lastTransitionTime: isoSeconds(now),
    observedGeneration: generation,
  }));

export const verdict = (type: string, good: boolean, reason: string, message: string): Verdict => ({
  type,
  status: good ? 'True' : 'False',
  reason,
  message,
});

const contended = (objects: Observation['seen']['objects']): readonly Verdict[] => {
  const fights = obstaclesOf(objects.filter(({ obstacle }) => obstacle instanceof Contended));
  return fights.length === 0
    ? []
    : [verdict('Contended', true, 'ForeignManager', fights.slice(0, 3).join('; '))];
};

/** Conditions of their own; everything else is a reason to be Degraded. */
const OWN_CONDITION: Readonly<Partial<Record<Note['code'], string>>> = {
  AwayWhileRestarting: 'WillInterrupt',
  ExpiringSoon: 'ExpiringSoon',
  Critical: 'Critical',
  Retained: 'Retained',
  BehindElsewhere: 'BehindElsewhere',
  RestsOnCrossCertificate: 'RestsOnCrossCertificate',
};

const saying = (type: string, notes: readonly Note[]): readonly Verdict[] => {
  const [first] = notes;
  if (first === undefined) return [];
  const reasons = new Set(notes.map(({ code }) => code));
  const lines = notes.slice(0, 3).map(({ object, message }) => `${object}: ${message}`);
  const more = notes.length > 3 ? `; and ${notes.length - 3} more` : '';
  const reason = reasons.size > 1 ? 'SeveralReasons' : first.code;
  return [verdict(type, true, reason, `${lines.join('; ')}${more}`)];
};

const notedIn = (notes: readonly Note[]): readonly Verdict[] => {
  const of = (type: string): readonly Note[] => notes.filter(({ code }) => OWN_CONDITION[code] === type);
  return [
    ...saying(
      'Degraded',
      notes.filter(({ code }) => OWN_CONDITION[code] === undefined),
    ),
    ...saying('WillInterrupt', of('WillInterrupt')),
    ...saying('Retained', of('Retained')),
    ...saying('BehindElsewhere', of('BehindElsewhere')),
    ...saying('RestsOnCrossCertificate', of('RestsOnCrossCertificate')),
    // What is critical was expiring before, and still is.
    ...saying('ExpiringSoon', [...of('Critical'), ...of('ExpiringSoon')]),
    ...saying('Critical', of('Critical')),
  ];
};

export const invalidStatus = (declared: Declared, problem: string, now: Instant): AnyStatus => ({
  ...(declared.status as object | undefined),
  observedGeneration: declared.generation,
  conditions: conditionsOf(declared, [verdict('Ready', false, 'Invalid', problem)], now),
});

/** Nothing is known of it at the moment: its passes fail. */
export const failingStatus = (declared: Declared, problem: string, now: Instant): AnyStatus => ({
  ...(declared.status as object | undefined),
  observedGeneration: declared.generation,
  conditions: conditionsOf(
    declared,
    [{ type: 'Ready', status: 'Unknown', reason: 'PassesFail', message: problem }],
    now,
  ),
});

/** What cannot be written now, and why. */
export const obstaclesIn = ({ seen }: Observation): readonly string[] => obstaclesOf(seen.objects);

const obstaclesOf = (objects: Observation['seen']['objects']): readonly string[] =>
  objects.flatMap(({ id, obstacle }) => (obstacle === undefined ? [] : [`${id}: ${obstacle}`]));

/**
 * What `handover status`, `plan` and `rotate` show to people who may read Authorities and no Secrets. Of workloads in other namespaces only the
 * blockers tell, and nothing that changes at each look, such as the time of a probe.
 */
const forReaders = (
  { seen, record }: Observation,
  plan: Plan,
  { consumers, next }: Pick<AuthorityStatus, 'consumers' | 'next'>,
): Pick<AuthorityResourceStatus, 'rotations' | 'consumers' | 'notes' | 'next' | 'history'> => {
  const own = new Set(seen.consumers.flatMap(({ id, blocks }) => (blocks ? [id] : [])));
  return {
    rotations: (record?.state.ids ?? []).slice(-MOST_NAMED).map((id) => shortened(id, 256)),
    consumers: consumers
      .filter(({ name }) => own.has(name))
      .slice(0, MOST_NAMED)
      .map(({ name, kind, evidence, remark, shows: [worst] }) => ({
        name: shortened(name),
        kind,
        ...(evidence === null ? {} : { evidence }),
        ...(remark === undefined ? {} : { remark: shortened(remark) }),
        ...(worst?.wrong === true ? { serves: shortened(`${worst.text}, since ${worst.since}`) } : {}),
      })),
    notes: ownNotes(plan.notes, seen.consumers)
      .slice(0, MOST_SENTENCES)
      .map(({ object, message }) => shortened(`${object}: ${message}`)),
    next: next.slice(0, MOST_SENTENCES).map((text) => shortened(text)),
    history: (record?.history ?? [])
      .slice(-MOST_SENTENCES)
      .map(({ at, step, generations, rotation, askedBy, why }) => ({
        at: isoSeconds(at),
        step,
        generations,
        ...(rotation === undefined ? {} : { rotation: shortened(rotation, 256) }),
        ...(askedBy === undefined ? {} : { via: askedBy.via }),
        ...(askedBy?.manager === undefined ? {} : { manager: shortened(askedBy.manager, 256) }),
        why: shortened(why),
      })),
  };
};

/** Status of an Authority after a pass over it. */
export const statusOfAuthority = (declared: Declared, observation: Observation, plan: Plan): AnyStatus => {
  const status = authorityStatus(observation, plan);
  const { phase, generations, bundleHash, consumers, notReady } = status;
  // What lies elsewhere is reported where it lies: on the Leaf or the TrustBundle.
  const own = observation.seen.objects.filter(({ elsewhere }) => elsewhere !== true);
  const obstacles = obstaclesOf(own);
  const waiting = new Set(plan.blockedBy.map(({ consumer }) => consumer));
  const [first] = plan.blockedBy;
  const ready =
    observation.record === undefined
      ? verdict('Ready', false, 'Starting', notReady.join('; '))
      : obstacles.length > 0
        ? verdict(
            'Ready',
            false,
            'ObjectsFailing',
            `${obstacles.length} of its objects cannot be written: ${obstacles.slice(0, 3).join('; ')}`,
          )
        : notReady.length > 0
          ? verdict(
              'Ready',
              false,
              'NotVerifiable',
              `${notReady.slice(0, 3).join('; ')}${notReady.length > 3 ? `; and ${notReady.length - 3} more` : ''}`,
            )
          : verdict(
              'Ready',
              true,
              phase === 'Stable' ? 'Stable' : 'Rotating',
              phase === 'Stable' ? 'Every object is up to date' : `a rotation is under way: ${phase}`,
            );
  const blocked =
    first === undefined
      ? verdict('Blocked', false, 'NothingWaitedFor', 'Nothing blocks the next step')
      : verdict('Blocked', true, 'WaitingForEvidence', waitingText(plan.blockedBy));
  return {
    phase: phase as 'Stable',
    observedGeneration: declared.generation,
    generations: generations.map((generation) => ({
      ...generation,
      role: generation.role as 'current',
      notBefore: isoSeconds(instant(Date.parse(generation.notBefore))),
      notAfter: isoSeconds(instant(Date.parse(generation.notAfter))),
      ...(generation.trustedUntil === undefined
        ? {}
        : { trustedUntil: isoSeconds(instant(Date.parse(generation.trustedUntil))) }),
      ...(generation.trustedFor === undefined
        ? {}
        : { trustedFor: generation.trustedFor.map((text) => shortened(text)) }),
    })),
    ...(bundleHash === undefined ? {} : { bundleHash }),
    blockedBy: plan.blockedBy.slice(0, MOST_NAMED).map(({ consumer, waitsFor, since }) => ({
      consumer: shortened(consumer),
      waitsFor: shortened(waitsFor),
      since: isoSeconds(since),
    })),
    workloads: {
      ready: consumers.filter(({ name }) => !waiting.has(name)).length,
      waiting: consumers.filter(({ name }) => waiting.has(name)).length,
    },
    ...forReaders(observation, plan, status),
    conditions: conditionsOf(
      declared,
      [ready, blocked, ...contended(own), ...notedIn(ownNotes(plan.notes, observation.seen.consumers))],
      observation.now,
    ),
  };
};

/** A leaf that should have been renewed long ago. */
const endOf = (held: LeafSeen | undefined, renewAt: number, now: Instant): readonly Verdict[] => {
  if (held === undefined) return [];
  const level = closeness(renewalDueAt(held, renewAt), held.notAfter, now);
  const message = `it expires at ${isoSeconds(held.notAfter)} and has not been renewed`;
  return [
    ...(level === undefined ? [] : [verdict('ExpiringSoon', true, 'NotRenewed', message)]),
    ...(level === 'Critical' ? [verdict('Critical', true, 'NotRenewed', message)] : []),
  ];
};

/** Status of each Leaf of an authority after a pass over it. */
export const statusOfLeaves = (
  resolved: ResolvedResources,
  observation: Observation,
): ReadonlyMap<Declared, AnyStatus> => {
  const made = new Map<Declared, AnyStatus>();
  const generations = observation.record?.state.generations ?? [];
  for (const [object, leaf] of observation.responsibilities.leaves) {
    const declared = find(resolved, 'Leaf', idOf(leaf));
    if (declared === undefined) continue;
    const seen = observation.seen.objects.find(({ id }) => id === object);
    const held = seen?.leaf;
    const issuer = generations.find(({ anchors }) =>
      anchors.some(({ fingerprint }) => fingerprint === held?.issuer),
    );
    const ready =
      seen?.obstacle !== undefined
        ? verdict(
            'Ready',
            false,
            seen.obstacle instanceof Contended ? 'Contended' : 'SecretNotOurs',
            `Secret ${leaf.spec.secretName}: ${seen.obstacle}`,
          )
        : held === undefined
          ? verdict('Ready', false, 'NotIssuedYet', 'no leaf has been issued yet')
          : observation.now >= held.notAfter
            ? verdict('Ready', false, 'Expired', `its leaf expired at ${isoSeconds(held.notAfter)}`)
            : observation.now < held.notBefore
              ? verdict(
                  'Ready',
                  false,
                  'NotYetValid',
                  `its leaf is not valid before ${isoSeconds(held.notBefore)}`,
                )
              : observation.record === undefined
                ? verdict('Ready', false, 'AuthorityNotReady', 'its Authority has no CA; see its status')
                : verdict(
                    'Ready',
                    true,
                    'Issued',
                    `Secret ${leaf.spec.secretName} holds a leaf signed by ${issuer === undefined ? 'an unknown CA' : `CA generation ${issuer.number}`}`,
                  );
    made.set(declared, {
      secretName: leaf.spec.secretName,
      observedGeneration: declared.generation,
      ...(issuer === undefined ? {} : { generation: issuer.number }),
      ...(held === undefined
        ? {}
        : {
            fingerprint: held.fingerprint,
            notBefore: isoSeconds(held.notBefore),
            notAfter: isoSeconds(held.notAfter),
            renewAt: isoSeconds(instant(Math.round(renewalDueAt(held, leaf.spec.renew.at)))),
          }),
      conditions: conditionsOf(
        declared,
        [ready, ...endOf(held, leaf.spec.renew.at, observation.now)],
        observation.now,
      ),
    });
  }
  for (const { leaf, why } of observation.responsibilities.refused) {
    const declared = find(resolved, 'Leaf', leaf);
    if (declared !== undefined)
      made.set(declared, {
        observedGeneration: declared.generation,
        conditions: conditionsOf(declared, [verdict('Ready', false, 'Refused', why)], observation.now),
      });
  }
  return made;
};

export const find = (resolved: ResolvedResources, kind: string, id: string): Declared | undefined =>
  resolved.declared.find(
    (declared) =>
      declared.kind === kind &&
      (declared.namespace === undefined ? declared.name : `${declared.namespace}/${declared.name}`) === id,
  );
