import { isMoving } from '@handover/core';
import { type AuthorityId, type AuthorityStanding, askAgainMs, standingOf } from '@handover/engine';
import { type Duration, duration, type Instant, instant } from '@handover/material';
import type { PublicAuthority } from '@handover/operator';
import type { Context } from './context.ts';
import { LiveLine, phaseText, type Waiting } from './directory/waiting.ts';
import { CliError } from './error.ts';
import type { OpenHome } from './open-home.ts';

/** What carries requests out: this process under the directory's lock, or another process. */
export interface Worker {
  /** What a user is told of a request that is not complete yet: "the operator is carrying it out". */
  readonly by: string;
  /** What a user can do when waiting ended too early. */
  readonly advice: string;
  readonly lookEvery: Duration;
  /** Does what can be done now, and says whether workloads have yet to be restarted here. Undefined: another process works. */
  readonly work: ((authority: AuthorityId) => Promise<{ readonly restartsDue: boolean }>) | undefined;
  /** Whether `work` has the lock now; undefined: always. */
  readonly worksHere?: () => boolean;
  /** Ends the hooks that this process runs: work under way goes on without them. */
  readonly stopHooks?: () => Promise<void>;
  close(): Promise<void>;
}

export interface WaitOptions<T> {
  readonly context: Context;
  /** Works as far as it can here, and looks. */
  readonly look: () => Promise<T>;
  /** What is still waited for; undefined: all is done. */
  readonly waiting: (
    looked: T,
  ) => (Waiting & { readonly authority: AuthorityId; readonly about?: string }) | undefined;
  readonly lookEvery: Duration;
  readonly timeout: Duration;
  /** By the monotonic clock, where the time began before; default: after `timeout`. */
  readonly end?: number | undefined;
  readonly now: () => Instant;
  /** What a user can do when the time is over. */
  readonly advice: string;
}

/** Looks until all is done, and says on stderr what it waits for and how long. */
export async function waitUntilDone<T>(first: T, options: WaitOptions<T>): Promise<T> {
  const { context, look, waiting, lookEvery, timeout, now, advice } = options;
  const { clock } = context;
  let looked = first;
  let late = waiting(looked);
  if (late === undefined) return looked;
  const line = new LiveLine(context.stderr);
  const signal = context.untilStopped();
  const { end = clock.monotonic() + timeout } = options;
  try {
    for (; late !== undefined; late = waiting(looked)) {
      const endsAt = instant(now() + end - clock.monotonic());
      line.show({ ...late, endsAt }, now(), late.about);
      if (signal.aborted || clock.monotonic() >= end) {
        const why = signal.aborted ? 'was interrupted' : 'took too long';
        throw new CliError(
          'ROTATION_UNFINISHED',
          `waiting for ${late.authority} ${why}: ${phaseText(late)}; ${advice}`,
          { path: late.authority, retry: 'later' },
        );
      }
      await clock.sleep(lookEvery, signal);
      looked = await look();
    }
    return looked;
  } finally {
    line.clear();
  }
}

/** The operator writes a status every two seconds at most. */
const STATUS_EVERY = duration(1_000);

/** Waits for what the operator writes in the status of an Authority. */
export const waitForStatus = (
  first: PublicAuthority,
  isOver: (looked: PublicAuthority) => boolean,
  options: Pick<WaitOptions<PublicAuthority>, 'context' | 'look' | 'timeout' | 'advice'>,
): Promise<PublicAuthority> =>
  waitUntilDone(first, {
    ...options,
    waiting: (looked) => {
      const { namespace, name, phase, blockedBy } = looked;
      return isOver(looked)
        ? undefined
        : { authority: `${namespace}/${name}`, phase, blockedBy, dueAt: undefined };
    },
    lookEvery: STATUS_EVERY,
    now: () => options.context.clock.now(),
  });

interface Looked extends AuthorityStanding {
  readonly restartsDue: boolean;
  /** By the monotonic clock. */
  readonly at: number;
}

/**
 * How long a look is good enough while nothing changes: each look asks every consumer. Where another process works, its state says when
 * there is something new; where this one works, a step that has waited for long is tried less often.
 */
const goodFor = ({ status, observation, plan }: Looked, worksHere: boolean): number => {
  const [blocker] = plan.blockedBy;
  if (!worksHere) return isMoving(status) ? 5_000 : 1_000;
  if (blocker === undefined) return 0;
  const untilWake = (plan.wakeAt ?? Number.POSITIVE_INFINITY) - observation.now;
  return Math.min(untilWake, askAgainMs(observation.now - blocker.since));
};

const isAsBefore = async (
  open: OpenHome,
  authority: AuthorityId,
  last: Looked,
  worksHere: boolean,
  nowMs: number,
) => {
  if (nowMs - last.at > goodFor(last, worksHere)) return false;
  const record = await (await open.read()).authorities.load(authority);
  return record?.state.revision === last.observation.record?.state.revision;
};

/** A hook may run for longer than the user waits: it ends then, so that the command can say how far it came. The next process runs it again. */
const patienceOf = (
  { clock, untilStopped }: Context,
  timeout: Duration,
  stopHooks: (() => Promise<void>) | undefined,
): { readonly end: number; readonly over: () => void } => {
  const signal = untilStopped();
  const stop = (): void => void stopHooks?.();
  const timer = clock.after(timeout, stop);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  return {
    end: clock.monotonic() + timeout,
    over: () => {
      timer.cancel();
      signal.removeEventListener('abort', stop);
    },
  };
};

/** Lets what was asked for be carried out. Waits for `until`, if given. */
export async function carryOut(
  open: OpenHome,
  authority: AuthorityId,
  context: Context,
  wait:
    | {
        readonly until: (standing: AuthorityStanding) => boolean;
        readonly timeout: Duration;
        /** What a user can do when waiting ends early; default: the worker's advice. */
        readonly advice?: string;
      }
    | undefined,
): Promise<AuthorityStanding & { readonly by: string }> {
  const {
    by,
    advice,
    lookEvery,
    work,
    worksHere = () => work !== undefined,
    stopHooks,
    close,
  } = await open.worker();
  const { clock } = context;
  const patience = wait === undefined ? undefined : patienceOf(context, wait.timeout, stopHooks);
  try {
    let last: Looked | undefined;
    const look = async (): Promise<Looked> => {
      if (last !== undefined && (await isAsBefore(open, authority, last, worksHere(), clock.monotonic())))
        return last;
      const { restartsDue = false } = (await work?.(authority)) ?? {};
      open.reload();
      last = { ...(await standingOf(open.read, authority)), restartsDue, at: clock.monotonic() };
      return last;
    };
    const first = await look();
    if (wait === undefined || patience === undefined) return { ...first, by };
    const waiting = ({ restartsDue, ...standing }: Looked) => {
      const { phase, blockedBy, dueAt: due } = standing.status;
      const hooks = standing.status.hooks.flatMap(({ hook, state, message }) =>
        state === 'failed' ? [`hook of ${hook} failed: ${message}`] : [],
      );
      const dueAt = due === null ? undefined : instant(Date.parse(due));
      return wait.until(standing) && !restartsDue ? undefined : { authority, phase, blockedBy, hooks, dueAt };
    };
    const { timeout } = wait;
    const now = () => open.home.clock.now();
    const { end } = patience;
    const options = { context, look, waiting, lookEvery, timeout, end, now, advice: wait.advice ?? advice };
    return { ...(await waitUntilDone(first, options)), by };
  } finally {
    patience?.over();
    await close();
  }
}
