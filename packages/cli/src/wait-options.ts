import { parseDuration } from '@handover/core';
import type { Duration } from '@handover/material';
import { type Command, Option } from 'commander';
import { usageError } from './error-line.ts';

export interface WaitFlags {
  readonly wait?: true;
  readonly timeout: Duration;
  readonly json?: true;
}

/** Options of commands that can wait for a rotation. */
export const waitOptions = (command: Command): Command =>
  command
    .option('--wait', 'wait until the rotation is complete')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait, such as 90s, 10m or 2h')
        .argParser((text): Duration => {
          const length = parseDuration(text);
          if (length !== undefined) return length;
          throw usageError(`--timeout: "${text}" is not a duration; write it like 90s, 10m or 2h`);
        })
        .default(600_000 as Duration, '10m'),
    )
    .option('--json', 'print one JSON document');
