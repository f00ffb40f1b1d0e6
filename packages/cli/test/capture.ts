import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, type Instant, instant } from '@handover/material';
import { systemClock } from '@handover/runtime/clock';
import { atRest, TestClock } from '@handover/test-api-server';
import { onTestFinished } from 'vitest';
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
  /** When the command starts; default: {@link NOW}. */
  readonly now?: Instant | undefined;
  /** Time since boot when the command starts: if it does not move with `now`, the clock has been set. */
  readonly sinceBoot?: number | undefined;
  /** A clock that the test turns, or `systemClock`. Default: one of the command's own, which moves on whenever the command waits. */
  readonly clock?: Clock | undefined;
  readonly signal?: AbortSignal | undefined;
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** The present time of the tests: 2030-06-01. */
export const NOW = instant(Date.UTC(2030, 5, 1));

/** Boot time of the tests' machine. */
const BOOT = NOW - 1_000_000_000;

type Stream = 'stdout' | 'stderr';

const contextOf = (
  around: Around,
  clock: Clock,
  write: (stream: Stream, text: string) => void,
  signal: AbortSignal,
): Context => {
  const began = clock.monotonic();
  const sinceBoot = around.sinceBoot ?? clock.now() - BOOT;
  const stream = (name: Stream) => ({
    write: (text: string) => write(name, text),
    isTTY: around.terminal === true,
  });
  return {
    stdin: Object.assign(bytesOf(around.stdin ?? ''), { isTTY: around.terminal === true }),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    colours: false,
    clock,
    sinceBoot: () => sinceBoot + clock.monotonic() - began,
    untilStopped: () => signal,
    goOnUnheard: () => {},
    exitCode: 0,
  };
};

/** A hook takes real time: no deadline passes meanwhile. */
const hasChildren = (): boolean => process.getActiveResourcesInfo().includes('ProcessWrap');

/** The result of `work`, for which time moves on whenever the process has nothing else to do. */
export const turning = async <T>(clock: TestClock, work: Promise<T>): Promise<T> => {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  work.then(over, over);
  while (!isOver) {
    if (!hasChildren()) await atRest();
    if (!isOver && (hasChildren() || !clock.step())) await pause(2);
  }
  return work;
};

/** Runs `handover` once in this process and captures its output. */
export const handover = async (args: readonly string[], around: Around = {}): Promise<Ran> => {
  const said = { stdout: '', stderr: '' };
  const signal = around.signal ?? new AbortController().signal;
  const own = around.clock === undefined ? new TestClock(around.now ?? NOW) : undefined;
  const clock = around.clock ?? (own as Clock);
  const write = (stream: Stream, text: string): void => {
    said[stream] += text;
  };
  const ran = run(args, contextOf(around, clock, write, signal));
  return { code: await (own === undefined ? ran : turning(own, ran)), ...said };
};

export interface Live {
  /** Everything the command has written so far, to either stream. */
  said(): string;
  stop(): Promise<number>;
}

/** A command that runs until it is stopped, in this process; default: with this machine's clock. */
export const goOn = (args: readonly string[], around: Around = {}): Live => {
  const stopping = new AbortController();
  let said = '';
  const write = (_: Stream, text: string): void => {
    said += text;
  };
  const context = contextOf(around, around.clock ?? systemClock, write, stopping.signal);
  const ended = run(args, context);
  const stop = (): Promise<number> => {
    stopping.abort();
    return ended;
  };
  onTestFinished(async () => void (await stop()));
  return { said: () => said, stop };
};

/** `CODE: what; …`, on one line. */
export const ERROR_LINE = /^[A-Z][A-Z_]+: [^\n]+\n$/;
