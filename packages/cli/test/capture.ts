import { type Instant, instant } from '@handover/material';
import type { Context } from '../src/context.ts';
import { run } from '../src/run.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Around {
  readonly stdin?: string | undefined;
  readonly terminal?: boolean | undefined;
  readonly now?: Instant | undefined;
  /** Time since boot: if it does not move with `now`, the clock has been set. */
  readonly sinceBoot?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** The present time of the tests: 2030-06-01. */
export const NOW = instant(Date.UTC(2030, 5, 1));

/** Boot time of the tests' machine. */
const BOOT = NOW - 1_000_000_000;

/** Runs `handover` once in this process and captures its output. */
export const handover = async (args: readonly string[], around: Around = {}): Promise<Ran> => {
  let stdout = '';
  let stderr = '';
  const context: Context = {
    stdin: bytesOf(around.stdin ?? ''),
    stdout: {
      write: (text: string) => {
        stdout += text;
      },
      isTTY: around.terminal === true,
    },
    stderr: {
      write: (text: string) => {
        stderr += text;
      },
      isTTY: around.terminal === true,
    },
    colours: false,
    now: () => around.now ?? NOW,
    sinceBoot: () => around.sinceBoot ?? (around.now ?? NOW) - BOOT,
    untilStopped: () => around.signal ?? new AbortController().signal,
    goOnUnheard: () => {},
    exitCode: 0,
  };
  const code = await run(args, context);
  return { code, stdout, stderr };
};

/** `CODE: what; …`, on one line. */
export const ERROR_LINE = /^[A-Z][A-Z_]+: [^\n]+\n$/;
