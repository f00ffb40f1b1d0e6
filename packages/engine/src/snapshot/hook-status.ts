import { type Instant, iso } from '@handover/material';
import type { ObjectId } from './home.ts';
import {
  dueFor,
  type Hook,
  type HookRecord,
  hookContent,
  hooksIn,
  type Parts,
  reloadMethodOf,
} from './hooks.ts';
import type { ReloadMethod } from './meters.ts';
import type { Snapshot } from './snapshot.ts';

/** A hook for people and programs: its last result, and when it is tried again. */
export interface HookStatus {
  /** `Leaf default/web`, `Authority default/mesh` for its own bundle, `TrustBundle company`. */
  readonly hook: string;
  readonly how: ReloadMethod;
  /** `idle`: nothing has called for it yet. `due`: it has not told of the present files yet. */
  readonly state: 'done' | 'failed' | 'due' | 'idle';
  /** When it ended last. */
  readonly at: string | null;
  readonly exitCode: number | null;
  /** Why it failed. */
  readonly message: string | null;
  /** Failures in a row. */
  readonly failures: number;
  /** Whether it ever worked, in its present definition. */
  readonly hasWorked: boolean;
  readonly nextTry: string | null;
}

const isoOrNull = (at: Instant | undefined): string | null => (at === undefined ? null : iso(at));

export const hookStatus = (
  hook: Hook,
  record: HookRecord | undefined,
  parts: ReadonlyMap<ObjectId, Parts>,
): HookStatus => {
  const { last } = record ?? {};
  const hasFailed = last !== undefined && last.failures > 0;
  const isDue = dueFor(hook, record, parts).length > 0;
  return {
    hook: hook.name,
    how: reloadMethodOf(hook),
    state: hasFailed ? 'failed' : isDue ? 'due' : last === undefined ? 'idle' : 'done',
    at: isoOrNull(last?.at),
    exitCode: last?.exitCode ?? null,
    message: last?.message ?? null,
    failures: last?.failures ?? 0,
    hasWorked: Object.keys(record?.told ?? {}).length > 0,
    nextTry: hasFailed ? isoOrNull(last.nextTry) : null,
  };
};

/** A hook as it stands now. */
export const hookStanding = async (snapshot: Snapshot, hook: Hook): Promise<HookStatus> => {
  const { parts } = await hookContent(snapshot, hook);
  return hookStatus(hook, snapshot.hooks?.read(hook), parts);
};

/** Null: no resource declares it, or this home runs no hooks. */
export const hookNamed = async (snapshot: Snapshot, name: string): Promise<HookStatus | null> => {
  const hook =
    snapshot.hooks === undefined ? undefined : hooksIn(snapshot.catalogue).find((one) => one.name === name);
  return hook === undefined ? null : hookStanding(snapshot, hook);
};

/** The arguments of `handover reload` that name it. */
export const argumentOf = ({ hook }: Pick<HookStatus, 'hook'>): string =>
  hook
    .replace(/^Leaf /, '')
    .replace(/^Authority /, '--authority ')
    .replace(/^TrustBundle /, '--bundle ');

/** A hook in one sentence. */
export const hookLine = (status: HookStatus): string => {
  const { hook, state, at, message, nextTry, hasWorked } = status;
  switch (state) {
    case 'failed': {
      // At first contact the files are written before the program that reads them is started.
      const first = hasWorked ? '' : '; its files are written: start the program if it does not run yet';
      const next = nextTry === null ? 'at the next change' : `at ${nextTry}`;
      return `hook of ${hook} failed at ${at}: ${message}; next try ${next}, or now with handover reload ${argumentOf(status)}${first}`;
    }
    case 'due':
      return `hook of ${hook} has yet to run for the present files`;
    case 'done':
      return `hook of ${hook} ran at ${at}`;
    case 'idle':
      return `hook of ${hook} has not run yet: nothing has called for it`;
    default:
      return state satisfies never;
  }
};
