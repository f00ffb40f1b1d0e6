import type { Clock } from '@handover/material';
import type { Command } from 'commander';

export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** Everything a command may use of its process. */
export interface Context {
  readonly stdin: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean | undefined };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Whether stdout is a terminal and colours are not turned off. */
  readonly colours: boolean;
  readonly clock: Clock;
  /** Milliseconds since boot: shows when the clock is set. */
  readonly sinceBoot: () => number;
  /**
   * For commands that stop gracefully: the first SIGINT or SIGTERM aborts this signal instead of ending the process, which ends
   * `graceMs` later at the latest (default: no limit).
   */
  readonly untilStopped: (graceMs?: number) => AbortSignal;
  /** For commands whose work matters more than their output: a closed pipe or a full disk behind stdout does not end them. */
  readonly goOnUnheard: () => void;
  /** 1: the command worked, and its answer is bad. Errors are thrown instead. */
  exitCode: 0 | 1 | 2 | 3;
}

/** What a command's file exports as `define`: its arguments, options, examples and action. */
export type Define = (command: Command, context: Context) => void;
