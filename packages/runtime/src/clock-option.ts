import type { Clock } from '@handover/material';
import { systemClock } from './clock.ts';

/** Leads from options to another clock than this machine's. For tests of this package: no published type has it. */
export const CLOCK: unique symbol = Symbol('clock');

export const clockIn = (options: object): Clock =>
  (options as { readonly [CLOCK]?: Clock })[CLOCK] ?? systemClock;
