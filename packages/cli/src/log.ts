import { iso } from '@handover/material';
import { type Logger, pino } from 'pino';
import { usageError } from './error-line.ts';

export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof LEVELS)[number];

/** For `--log-level`. */
export const levelIn = (text: string): Level => {
  const known = LEVELS.find((level) => level === text);
  if (known !== undefined) return known;
  throw usageError(`unknown value "${text.slice(0, 80)}" for --log-level; known: ${LEVELS.join(', ')}`);
};

const KEY_BLOCK =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----END )[^"])*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g;

/**
 * The last guard against a key in a log. The first: keys live in `PrivateKey`, and events carry only names, dates and reasons.
 */
export const withoutKeys = (text: string): string => text.replace(KEY_BLOCK, '[private key]');

export interface LogOptions {
  readonly level: Level;
  readonly write: (line: string) => unknown;
  readonly now: () => number;
}

/** One JSON document per line: `level`, `at`, `event`, and the event's own fields. */
export const createLog = ({ level, write, now }: LogOptions): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: () => `,"at":"${iso(now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => void write(withoutKeys(line)) },
  );
