import { type Instant, iso } from '@handover/material';
import { EngineError } from '../../error.ts';
import type { AuthorityId, AuthorityRecord } from '../../snapshot/home.ts';

const SLACK_MS = 3_600_000;
/** A clock that is behind what was written here would make certificates that are not yet valid, or end them early. */
export const refuseClockBehind = (
  now: Instant,
  id: AuthorityId,
  record: AuthorityRecord | undefined,
  path: string,
): void => {
  const made = record?.state.generations.map(({ since }) => since) ?? [];
  const latest = Math.max(...made, Number.NEGATIVE_INFINITY);
  if (latest <= now + SLACK_MS) return;
  throw new EngineError(
    'CLOCK_BEHIND',
    `the clock says ${iso(now)}, but ${id} last changed at ${iso(latest)}; set the clock, or if it is right: handover clock --confirm --home dir:${path}`,
    { path: id, retry: 'later' },
  );
};
