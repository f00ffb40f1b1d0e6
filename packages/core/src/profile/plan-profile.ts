import {
  type Duration,
  duration,
  hour,
  type Instant,
  iso,
  minute,
  TLS_PROFILE_HASH,
} from '@handover/material';
import { RELOAD } from '../contract/marks.ts';
import { Clock } from '../plan/clock.ts';
import type { Blocker } from '../plan/gates.ts';
import type { Obstacle, Reload } from '../plan/observed.ts';
import { lengthOf } from '../plan/waiting.ts';

/** A workload that a TLSProfile's selector selects. */
export interface ProfileWorkload {
  readonly id: string;
  /** Whether its pod template reads the profile's object: mounted, or as environment. Another is never restarted for it. */
  readonly reads: boolean;
  /** `hot`: it reloads the file by itself. Any other reads it only when it starts. */
  readonly reload: Reload;
  /** Hash on its pod template; undefined: never rolled for a profile. */
  readonly stamp: string | undefined;
  readonly createdAt: Instant;
  /** When each of its live pods was created. */
  readonly pods: readonly Instant[];
  readonly rolling: boolean;
  /** Why a stamp would roll nothing. */
  readonly obstacle?: string | undefined;
  /** A stamp that another program took off its pod template again: of which profile, how often in a row, and when last. */
  readonly undone?: { readonly hash: string; readonly times: number; readonly last: Instant } | undefined;
  /** An older TLSProfile that selects it too. */
  readonly takenBy?: string | undefined;
}

/** What the object for a profile holds. */
export interface ProfileHeld {
  /** Hash of the profile that was written last. */
  readonly hash: string;
  /** Whether it is still there as it was written. */
  readonly intact: boolean;
  /** Since when it has held this profile. */
  readonly changedAt: Instant;
  /** Whether it ever held another. */
  readonly replacedOne: boolean;
}

export interface ProfileSeen {
  /** Hash of the profile that the spec asks for; undefined: it cannot be honoured, or is not known. */
  readonly wanted: string | undefined;
  readonly held: ProfileHeld | undefined;
  /** Whether the object holds exactly what it should, other files than the profile included. */
  readonly written: boolean;
  /** Why it cannot be written. */
  readonly obstacle?: Obstacle | undefined;
  readonly workloads: readonly ProfileWorkload[];
  readonly clockSteadySince?: Instant | undefined;
}

export interface ProfilePolicy {
  /** How stale a file can be that a new process starts from. */
  readonly cacheLag: Duration;
  readonly maxConcurrentRollouts: number;
}

export type ProfileAction =
  | { readonly kind: 'write-profile'; readonly hash: string; readonly why: string }
  | {
      readonly kind: 'stamp-profile';
      readonly consumer: string;
      readonly hash: string;
      readonly why: string;
    };

interface Remark {
  readonly object: string;
  readonly message: string;
}

export interface ProfilePlan {
  /** One write, or stamps, or nothing: no template is stamped before its file is written. */
  readonly actions: readonly ProfileAction[];
  /** Workloads that do not run with it yet. */
  readonly waiting: readonly Blocker[];
  readonly notes: readonly Remark[];
  /** Selected workloads that do not read the profile. */
  readonly unread: readonly string[];
  /** Workloads whose stamp another program removes. */
  readonly contended: readonly Remark[];
  readonly wakeAt: Instant | undefined;
}

const NOTHING: ProfilePlan = {
  actions: [],
  waiting: [],
  notes: [],
  unread: [],
  contended: [],
  wakeAt: undefined,
};

const OLD_STAMP = `it reloads by itself (hot), but its template still carries ${TLS_PROFILE_HASH}; remove that annotation`;

const UNDONE = `another program removes ${TLS_PROFILE_HASH} from its pod template; let that program keep annotations that it did not set, set this one itself to status.hash of the TLSProfile, or declare the template ${RELOAD}: hot`;
/** Each try is a rollout that another program turns back, so tries become rare soon. */
const LONGEST_PAUSE = 6 * hour;
const pauseAfter = (times: number): Duration => duration(Math.min(minute * 2 ** (times - 1), LONGEST_PAUSE));

/** What to do about one TLSProfile now. A profile that cannot be honoured changes nothing; the one written before is still rolled out. */
export const planProfile = (seen: ProfileSeen, policy: ProfilePolicy, now: Instant): ProfilePlan => {
  const { wanted, held, written } = seen;
  const nothing = { ...NOTHING, unread: seen.workloads.filter(({ reads }) => !reads).map(({ id }) => id) };
  if (wanted !== undefined && !written) {
    if (seen.obstacle !== undefined) return nothing;
    return { ...nothing, actions: [{ kind: 'write-profile', hash: wanted, why: reasonTo(held, wanted) }] };
  }
  // The object was changed, and what it should hold is not known: no workload is restarted into that.
  return held?.intact === true ? { ...nothing, ...rollouts(seen, held, policy, now) } : nothing;
};

const reasonTo = (held: ProfileHeld | undefined, wanted: string): string => {
  if (held === undefined) return 'it does not exist yet';
  return held.hash === wanted ? 'another program changed it' : 'the profile changed';
};

const rollouts = (
  { workloads: selected, clockSteadySince }: ProfileSeen,
  held: ProfileHeld,
  { cacheLag, maxConcurrentRollouts }: ProfilePolicy,
  now: Instant,
): Omit<ProfilePlan, 'unread'> => {
  const clock = new Clock(now, clockSteadySince);
  const workloads = selected.filter(({ reads }) => reads);
  const actions: ProfileAction[] = [];
  const waiting: Blocker[] = [];
  const notes: Remark[] = [];
  const contended: Remark[] = [];
  const wait = (consumer: string, waitsFor: string): void =>
    void waiting.push({ consumer, waitsFor, since: held.changedAt });
  // A workload that does not start with the new profile keeps its place: a bad profile stops there.
  const under = workloads.filter(({ stamp, rolling }) => rolling && stamp === held.hash);
  let room = maxConcurrentRollouts - under.length;
  for (const workload of workloads) {
    const { id, stamp, takenBy, obstacle } = workload;
    const undone = workload.undone?.hash === held.hash ? workload.undone : undefined;
    if (workload.reload === 'hot') {
      // Its next pod would compare the two; and a changed template restarts it.
      if (stamp !== undefined && stamp !== held.hash) notes.push({ object: id, message: OLD_STAMP });
    } else if (takenBy !== undefined) {
      notes.push({ object: id, message: `TLSProfile ${takenBy} selects it too, and is older` });
    } else if (stamp === held.hash) {
      if (workload.rolling) wait(id, 'to replace its pods');
    } else if (stamp === undefined && !startedBefore(workload, held, cacheLag)) {
      // A first install restarts nothing, be it the profile's or the workload's.
      if (undone !== undefined)
        contended.push({ object: id, message: `${UNDONE}; each change of the profile restarts it twice` });
    } else if (obstacle !== undefined) {
      wait(id, `to be restarted: ${obstacle}`);
      notes.push({ object: id, message: obstacle });
    } else if (undone !== undefined && !clock.aged(undone.last, pauseAfter(undone.times))) {
      const next = iso(undone.last + pauseAfter(undone.times));
      wait(id, `to be restarted: another program removed its stamp; the next try is at ${next}`);
      contended.push({
        object: id,
        message: `${UNDONE}; pods of it run with an older profile (next try at ${next})`,
      });
    } else if (!clock.aged(held.changedAt, cacheLag)) {
      // A pod that starts within cacheLag of a write may still get the old file.
      wait(
        id,
        `to be restarted: for ${lengthOf(cacheLag)} after the write a kubelet may still hand out the old file`,
      );
    } else if (room-- > 0) {
      actions.push({
        kind: 'stamp-profile',
        consumer: id,
        hash: held.hash,
        why: 'it reads the profile only when it starts',
      });
    } else wait(id, 'to be restarted: other workloads come first');
  }
  return { actions, waiting, notes, contended, wakeAt: clock.wakeAt };
};

/**
 * Whether a workload that was never stamped may run with an older profile. By the API server's own dates alone: doubting them after
 * each start of the operator would restart every workload each time.
 */
const startedBefore = (
  { pods, createdAt }: ProfileWorkload,
  { replacedOne, changedAt }: ProfileHeld,
  cacheLag: Duration,
): boolean =>
  replacedOne && (pods.length === 0 ? [createdAt] : pods).some((started) => started <= changedAt + cacheLag);
