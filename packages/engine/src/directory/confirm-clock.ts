import type { AuthorityState, ClockDoubt } from '@handover/core';
import type { Instant } from '@handover/material';
import type { Catalogue } from '../snapshot/catalogue.ts';
import type { AuthorityId } from '../snapshot/home.ts';
import type { DirectoryHome } from './home.ts';
import { SteadyClock } from './state/steady-clock.ts';

/** What the clock of a directory blocks. */
export interface ClockReport {
  readonly now: Instant;
  /** The clock leapt ahead and is not trusted yet. */
  readonly doubt: ClockDoubt | undefined;
  /** Authorities with dates after `now`, each with the latest one. */
  readonly ahead: readonly { readonly authority: AuthorityId; readonly latest: Instant }[];
}

const latestOf = ({ generations }: AuthorityState): Instant =>
  Math.max(...generations.map(({ since }) => since), Number.NEGATIVE_INFINITY) as Instant;

/** Reads only. */
export async function clockReport(home: DirectoryHome, catalogue: Catalogue): Promise<ClockReport> {
  const now = home.clock.now();
  const ahead: { authority: AuthorityId; latest: Instant }[] = [];
  for (const authority of catalogue.authorities.keys()) {
    const state = (await home.authorities.load(authority))?.state;
    const latest = state === undefined ? undefined : latestOf(state);
    if (latest !== undefined && latest > now) ahead.push({ authority, latest });
  }
  return { now, doubt: home.clock.doubt?.(), ahead };
}

/**
 * Accepts the clock as it is. Later dates become now, with one swap for each authority, and ages count from then on. CAs and
 * leaves keep their dates; the planner replaces those that are not valid yet.
 */
export async function confirmClock(home: DirectoryHome, catalogue: Catalogue): Promise<ClockReport> {
  const report = await clockReport(home, catalogue);
  for (const { authority } of report.ahead) {
    const record = await home.authorities.load(authority);
    if (record === undefined) continue;
    const { state } = record;
    const generations = state.generations.map((generation) =>
      generation.since > report.now ? { ...generation, since: report.now } : generation,
    );
    const dated = { ...record, state: { ...state, generations, revision: state.revision + 1 } };
    await home.authorities.swap(authority, state.revision, dated);
  }
  if (home.clock instanceof SteadyClock) await home.clock.confirm();
  return report;
}
