import { getCurves, hash } from 'node:crypto';
import { getCiphers } from 'node:tls';
import {
  type Obstacle,
  type ProfileHeld,
  type ProfilePlan,
  planProfile,
  type TlsProfile,
} from '@handover/core';
import {
  HandoverError,
  OFTEN_MISSING,
  type ResolvedTlsProfile,
  resolveTlsProfile,
  type TlsSupport,
  tlsProfileFiles,
} from '@handover/material';
import { EngineError } from '../error.ts';
import { profileObjectOf } from '../snapshot/catalogue.ts';
import type { FileData, Home, ObjectRecord, StoredObject } from '../snapshot/home.ts';
import type { ClusterProfile, Snapshot } from '../snapshot/snapshot.ts';
import { digestOf, filesFrom } from '../snapshot/stored-object.ts';
import { holdsFiles, obstacleError } from './exact-files.ts';

/**
 * What this process's OpenSSL has. node:crypto lists only the curves of ECDSA; X25519 and X448 are in every build. This
 * process only hands a profile on: what workloads often have though it lacks it is no reason to warn.
 */
export const localTlsSupport = (): TlsSupport => ({
  ciphers: getCiphers(),
  groups: [...getCurves(), 'X25519', 'X448'],
  elsewhere: OFTEN_MISSING,
});

/** What a profile comes to here, or a refusal. `cluster`: what the platform asks for; undefined: this home has no platform. */
export const resolveProfile = (
  profile: TlsProfile,
  cluster: ClusterProfile | undefined,
): ResolvedTlsProfile => {
  const { type, custom } = profile.spec;
  if (type !== 'OpenShift') return resolveTlsProfile({ type, custom }, localTlsSupport());
  if (cluster === undefined) {
    throw new EngineError(
      'TLS_PROFILE_NOT_HERE',
      `TLSProfile ${profile.metadata.name} follows OpenShift, which only the Kubernetes home can; name a profile`,
      { path: profile.metadata.name },
    );
  }
  if ('missing' in cluster) throw cluster.missing;
  return resolveTlsProfile(cluster.found, localTlsSupport());
};

/** What came of one look at a TLSProfile. */
export interface ProfileOutcome {
  /** What the profile comes to; a refusal: it cannot be honoured, or its source is not known. */
  readonly resolved: ResolvedTlsProfile | HandoverError;
  /** Why this is only the last profile that is known of its source. */
  readonly stale?: HandoverError | undefined;
  readonly plan: ProfilePlan;
  /** Hash of what is written, once the plan is carried out. */
  readonly hash: string | undefined;
  readonly obstacle: Obstacle | undefined;
}

const MOST_ROLLOUTS = 3;

const resolvedOr = async (
  snapshot: Snapshot,
  profile: TlsProfile,
): Promise<Pick<ProfileOutcome, 'resolved' | 'stale'>> => {
  try {
    const cluster = profile.spec.type === 'OpenShift' ? await snapshot.profiles?.cluster() : undefined;
    const stale = cluster !== undefined && 'found' in cluster ? cluster.stale : undefined;
    return { resolved: resolveProfile(profile, cluster), stale };
  } catch (error) {
    if (error instanceof HandoverError) return { resolved: error };
    throw error;
  }
};

const hashOf = (data: FileData): string | undefined =>
  data['profile.json'] === undefined ? undefined : hash('sha256', data['profile.json'], 'hex');

const heldIn = (stored: StoredObject | undefined): ProfileHeld | undefined => {
  const { record, data } = stored ?? {};
  if (record === undefined || data === undefined) return undefined;
  const held = record.profile ?? { hash: hashOf(data) ?? '', replacedOne: false };
  return { ...held, changedAt: record.changedAt, intact: hashOf(data) === held.hash };
};

/** Reads, plans, acts: writes the files of a profile, or stamps workloads that have to restart to read them. */
export async function reconcileProfile(
  home: Home,
  snapshot: Snapshot,
  profile: TlsProfile,
): Promise<ProfileOutcome> {
  const id = profileObjectOf(profile);
  const { resolved, stale } = await resolvedOr(snapshot, profile);
  const refused = resolved instanceof HandoverError;
  const files = refused ? undefined : filesFrom(tlsProfileFiles(resolved));
  const stored = await snapshot.objects.read(id);
  const obstacle = stored === undefined ? snapshot.objects.whyAbsent?.(id) : stored.obstacle;
  const held = heldIn(stored);
  const workloads = snapshot.profiles?.workloads(profile) ?? [];
  const plan = planProfile(
    {
      wanted: refused ? undefined : resolved.hash,
      held,
      written: files !== undefined && holdsFiles(stored, files),
      obstacle,
      workloads,
      clockSteadySince: snapshot.clock.steadySince(),
    },
    { cacheLag: snapshot.facts.cacheLag, maxConcurrentRollouts: MOST_ROLLOUTS },
    snapshot.clock.now(),
  );
  let written = held?.intact === true ? held.hash : undefined;
  for (const action of plan.actions) {
    if (action.kind === 'stamp-profile') {
      const version = workloads.find((workload) => workload.id === action.consumer)?.version;
      if (version === undefined) throw new TypeError(`${action.consumer} has a workload without a version`);
      await home.profiles?.stamp(action.consumer, version, action.hash);
    } else if (files !== undefined) {
      const before = held ?? heldBefore(snapshot.profiles?.remembered(profile));
      await home.objects.write(id, stored?.version, (at) => ({
        data: files,
        record: recordOf(files, action.hash, before, held === undefined ? undefined : stored?.record, at),
      }));
      written = action.hash;
    }
  }
  return { resolved, stale, plan, hash: written, obstacle };
}

/** A deleted object held what the profile's status says. */
const heldBefore = (remembered: string | undefined): Pick<ProfileHeld, 'hash' | 'replacedOne'> | undefined =>
  remembered === undefined ? undefined : { hash: remembered, replacedOne: false };

const recordOf = (
  data: FileData,
  wanted: string,
  before: Pick<ProfileHeld, 'hash' | 'replacedOne'> | undefined,
  record: ObjectRecord | undefined,
  at: ObjectRecord['changedAt'],
): ObjectRecord => {
  const same = before?.hash === wanted;
  return {
    digest: digestOf(data),
    revisions: {},
    anchors: [],
    // Since when it holds this profile: a repair in between restarts no workload.
    changedAt: same ? (record?.changedAt ?? at) : at,
    profile: { hash: wanted, replacedOne: before !== undefined && (!same || before.replacedOne) },
  };
};

/** As `reconcileProfile`, for a caller that reports obstacles as errors. */
export async function convergeProfile(home: Home, snapshot: Snapshot, profile: TlsProfile): Promise<void> {
  const { resolved, obstacle } = await reconcileProfile(home, snapshot, profile);
  if (resolved instanceof HandoverError) throw resolved;
  if (obstacle !== undefined) throw obstacleError(profileObjectOf(profile), obstacle);
}
