import type { Instant } from '@handover/material';
import type { Command } from 'commander';

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** Everything a command may touch of the process it runs in. */
export interface Context {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Whether stdout is a terminal whose owner has nothing against colours. */
  readonly colours: boolean;
  readonly now: () => Instant;
  /** Milliseconds since the machine was started: shows when somebody sets the clock. */
  readonly sinceBoot: () => number;
  /**
   * For commands that end well when asked to: the first SIGINT or SIGTERM aborts this instead of ending the process, which ends
   * nevertheless `graceMs` later (default: it takes the time that it needs).
   */
  readonly untilStopped: (graceMs?: number) => AbortSignal;
  /** For commands whose work matters more than what they print: a closed pipe or a full disk behind stdout ends them not. */
  readonly goOnUnheard: () => void;
  /** 1: the command did its work and the answer is bad. Errors are thrown instead. */
  exitCode: 0 | 1;
}

/** What a command's file exports as `define`: its arguments, options, examples and action. */
export type Define = (command: Command, context: Context) => void;
