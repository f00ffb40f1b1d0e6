import { parseDuration } from '@handover/core';
import type { Duration } from '@handover/material';
import { Option } from 'commander';
import { usageError } from './error-line.ts';

/** `--timeout` of commands that can wait for a rotation. */
export const timeoutOption = (): Option =>
  new Option('--timeout <duration>', 'how long to wait')
    .argParser((text): Duration => {
      const length = parseDuration(text);
      if (length !== undefined) return length;
      throw usageError(`--timeout: "${text}" is not a duration; write it like 90s, 10m or 2h`);
    })
    .default(600_000 as Duration, '10m');
