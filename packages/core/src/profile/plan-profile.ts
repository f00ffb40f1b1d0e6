import type { Duration, Instant } from '@handover/material';
import { Clock } from '../plan/clock.ts';
import type { Reload } from '../plan/observed.ts';

/** A workload that a TLSProfile's selector selects. */
export interface ProfileWorkload {
  readonly id: string;
  /** `hot`: it follows the file by itself. Anything else reads it when it starts. */
  readonly reload: Reload;
  /** Hash on its pod template; undefined: never rolled for a profile. */
  readonly stamp: string | undefined;
  readonly createdAt: Instant;
  /** When each of its live pods was created. */
  readonly pods: readonly Instant[];
  readonly rolling: boolean;
  /** Why a stamp would roll nothing. */
  readonly obstacle?: string | undefined;
  /** Another TLSProfile that selects it, and was there first. */
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
  /** Hash of what is asked for; undefined: it cannot be honoured, or is not known. */
  readonly wanted: string | undefined;
  readonly held: ProfileHeld | undefined;
  /** Whether the object holds exactly what it should, other files than the profile included. */
  readonly written: boolean;
  /** Why it cannot be written. */
  readonly obstacle?: string | undefined;
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

export interface ProfilePlan {
  /** One write, or stamps, or nothing: no template is stamped before the file it speaks of is there. */
  readonly actions: readonly ProfileAction[];
  /** Who does not run with it yet, and what for. */
  readonly waiting: readonly { readonly consumer: string; readonly waitsFor: string }[];
  readonly notes: readonly { readonly object: string; readonly message: string }[];
  readonly wakeAt: Instant | undefined;
}

const NOTHING: ProfilePlan = { actions: [], waiting: [], notes: [], wakeAt: undefined };

const OLD_STAMP = 'it is hot, and its template still has a handover.dev/tls-profile-hash; take that off';

/** What to do about one TLSProfile now. What cannot be honoured changes nothing, and what was written before is rolled out to its end. */
export const planProfile = (seen: ProfileSeen, policy: ProfilePolicy, now: Instant): ProfilePlan => {
  const { wanted, held, written } = seen;
  if (wanted !== undefined && !written) {
    if (seen.obstacle !== undefined) return NOTHING;
    return { ...NOTHING, actions: [{ kind: 'write-profile', hash: wanted, why: reasonTo(held, wanted) }] };
  }
  // Somebody changed it, and what it should hold is not known: nobody is restarted into that.
  return held?.intact === true ? rollouts(seen, held, policy, now) : NOTHING;
};

const reasonTo = (held: ProfileHeld | undefined, wanted: string): string => {
  if (held === undefined) return 'it is not there yet';
  return held.hash === wanted ? 'it was changed by somebody else' : 'the profile has changed';
};

const rollouts = (
  { workloads, clockSteadySince }: ProfileSeen,
  held: ProfileHeld,
  { cacheLag, maxConcurrentRollouts }: ProfilePolicy,
  now: Instant,
): ProfilePlan => {
  const clock = new Clock(now, clockSteadySince);
  const actions: ProfileAction[] = [];
  const waiting: { consumer: string; waitsFor: string }[] = [];
  const notes: { object: string; message: string }[] = [];
  const wait = (consumer: string, waitsFor: string): void => void waiting.push({ consumer, waitsFor });
  // Who does not come up with the new profile keeps its place: a bad one stops there.
  const under = workloads.filter(({ stamp, rolling }) => rolling && stamp === held.hash);
  let room = maxConcurrentRollouts - under.length;
  for (const workload of workloads) {
    const { id, stamp, takenBy, obstacle } = workload;
    if (workload.reload === 'hot') {
      // Its next pod would compare the two; and to change a template is to restart it.
      if (stamp !== undefined && stamp !== held.hash) notes.push({ object: id, message: OLD_STAMP });
    } else if (takenBy !== undefined) {
      notes.push({ object: id, message: `TLSProfile ${takenBy} selects it too, and was there first` });
    } else if (stamp === held.hash) {
      if (workload.rolling) wait(id, 'its pods are being replaced');
    } else if (stamp === undefined && !startedBefore(workload, held, cacheLag)) {
      // First install never restarts anything, neither the profile's nor the workload's.
    } else if (obstacle !== undefined) {
      wait(id, obstacle);
      notes.push({ object: id, message: obstacle });
    } else if (!clock.aged(held.changedAt, cacheLag)) {
      // A pod that starts within cacheLag of a write may still get the old file.
      wait(id, 'kubelets may still hand out the old file');
    } else if (room-- > 0) {
      actions.push({
        kind: 'stamp-profile',
        consumer: id,
        hash: held.hash,
        why: 'it reads the profile only when it starts',
      });
    } else wait(id, 'others are being replaced first');
  }
  return { actions, waiting, notes, wakeAt: clock.wakeAt };
};

/**
 * Whether a workload that was never stamped may run with an older profile. By the API server's own dates alone: whoever doubted
 * them after each start of the operator would restart everybody each time.
 */
const startedBefore = (
  { pods, createdAt }: ProfileWorkload,
  { replacedOne, changedAt }: ProfileHeld,
  cacheLag: Duration,
): boolean =>
  replacedOne && (pods.length === 0 ? [createdAt] : pods).some((started) => started <= changedAt + cacheLag);
