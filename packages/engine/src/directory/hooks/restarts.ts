import {
  believedStamp,
  type ConsumerSeen,
  formatStamp,
  type InstanceSeen,
  parseStamp,
  type Stamp,
} from '@handover/core';
import { EngineError } from '../../error.ts';
import type { AuthorityId, ObjectId, Rollouts } from '../../snapshot/home.ts';
import { definitionOf, type Hook, type HookRecord, restarts } from '../../snapshot/hooks.ts';
import type { Responsibilities } from '../../snapshot/responsibilities.ts';
import type { AuthorityReader, ConsumerFound, EvidenceSource } from '../../snapshot/snapshot.ts';
import type { HookRecords } from './hook-records.ts';

/** The restart hooks of an authority. */
export type RestartHooks = (authority: AuthorityId) => readonly Hook[];

const versionOf = (hook: Hook): string => `${hook.name} ${definitionOf(hook)}`;

const stampOf = (
  stamps: Readonly<Record<AuthorityId, string>> | undefined,
  id: AuthorityId,
): Stamp | undefined => {
  const text = stamps?.[id];
  return text === undefined ? undefined : parseStamp(text);
};

/** A program that its hook restarts, as the planner sees a workload that it can roll: docs/decisions/0204. */
const workloadOf = (record: HookRecord | undefined, id: AuthorityId): ConsumerSeen['workload'] => {
  const stamp = stampOf(record?.wanted, id);
  const rolling = record?.wanted?.[id] !== record?.restarted?.stamps[id];
  const { message, failures = 0 } = record?.last ?? {};
  return {
    stamp,
    rolling,
    ...(rolling && failures > 0 ? { failing: `its restart failed: ${message}` } : {}),
  };
};

/** The process that the last restart began. It read its files after the command had begun, and so after they were written. */
const instanceOf = (hook: Hook, record: HookRecord | undefined, id: AuthorityId): InstanceSeen => ({
  uid: `${hook.name} ${record?.restarted?.at ?? 'before'}`,
  name: hook.name,
  createdAt: record?.restarted?.at,
  ready: true,
  stamp: stampOf(record?.restarted?.stamps, id),
  proofs: [],
});

/** Its own restart shows what it trusts where its probe cannot; which leaf it serves is the probe's to show. */
const provenBy = (
  consumer: ConsumerFound,
  restarted: InstanceSeen,
  showsTrust: boolean,
): readonly InstanceSeen[] => {
  if (consumer.instances.length === 0) return [restarted];
  const { stamp } = restarted;
  if (showsTrust || stamp === undefined) return consumer.instances;
  const { issuer: _issuer, leaf: _leaf, ...trusted } = stamp;
  return consumer.instances.map((instance) => ({ ...instance, stamp: trusted }));
};

const isUser = (consumer: ConsumerFound, objects: readonly ObjectId[]): boolean =>
  consumer.presents.length > 0
    ? consumer.presents.every((object) => objects.includes(object))
    : consumer.verifies.length > 0 && consumer.verifies.every((object) => objects.includes(object));

/** Adds the programs that hooks restart: declared consumers of their files, or one that stands for them. */
export const withRestarts = (
  evidence: EvidenceSource,
  hooksOf: RestartHooks,
  records: HookRecords,
): EvidenceSource => ({
  consumers: async (responsibilities, record, now, issued) => {
    let found = await evidence.consumers(responsibilities, record, now, issued);
    for (const hook of hooksOf(responsibilities.id).filter(restarts))
      found = joined(found, hook, records.read(hook), responsibilities);
    return found;
  },
});

const joined = (
  consumers: readonly ConsumerFound[],
  hook: Hook,
  record: HookRecord | undefined,
  { id, authority, leaves, bundles }: Responsibilities,
): readonly ConsumerFound[] => {
  const objects = hook.objects.filter((object) => leaves.has(object) || bundles.has(object));
  if (objects.length === 0) return consumers;
  const restarted = instanceOf(hook, record, id);
  const rolled = {
    reload: 'restart' as const,
    ownersWord: false,
    workload: workloadOf(record, id),
    workloadVersion: versionOf(hook),
  };
  const declared = new Map(authority.spec.consumers.map((consumer) => [consumer.name, consumer]));
  let isKnown = false;
  const others = consumers.map((consumer): ConsumerFound => {
    const said = declared.get(consumer.id);
    if (said === undefined || !isUser(consumer, objects)) return consumer;
    isKnown = true;
    const showsTrust = (said.status ?? said.metrics) !== undefined || said.probe?.mtls === true;
    return { ...consumer, ...rolled, instances: provenBy(consumer, restarted, showsTrust) };
  });
  if (isKnown) return others;
  return [
    ...others,
    {
      id: `program of ${hook.name}`,
      blocks: true,
      presents: objects.filter((object) => leaves.has(object)),
      verifies: objects,
      instances: [restarted],
      ...rolled,
    },
  ];
};

/** Both: one program may present a leaf for one consumer and verify for another. */
const both = (a: Stamp | undefined, b: Stamp): Stamp => {
  if (a === undefined) return b;
  const { trust, ca } = a.trust > b.trust ? a : b;
  const { issuer, leaf } = b.issuer === undefined ? a : b;
  return {
    trust,
    distrusts: Math.max(a.distrusts, b.distrusts),
    ...(issuer === undefined ? {} : { issuer }),
    ...(leaf === undefined ? {} : { leaf }),
    ...(ca === undefined ? {} : { ca }),
  };
};

/** A stamp is remembered as wanted; its hook runs beside the controller until the restart has worked. */
export const restartRollouts = (
  hooksOf: RestartHooks,
  records: HookRecords,
  authorities: AuthorityReader,
): Rollouts => ({
  stamp: async (consumer, expect, stamp, authority) => {
    const hook = hooksOf(authority).find((candidate) => versionOf(candidate) === expect);
    if (hook === undefined)
      throw new EngineError('CONFLICT', `the hook that restarts ${consumer} was edited; looking again`, {
        retry: 'now',
        path: consumer,
      });
    const state = (await authorities.load(authority))?.state;
    await records.update(hook, (before) => {
      // One that the authority did not make would stay in it without end.
      const last = state && believedStamp(state, stampOf(before.wanted, authority));
      const wanted = formatStamp(both(last, stamp));
      return { ...before, wanted: { ...before.wanted, [authority]: wanted } };
    });
  },
});
