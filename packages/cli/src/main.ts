import { uptime } from 'node:os';
import { withoutControls } from '@handover/material';
import { systemClock } from '@handover/runtime/clock';
import type { OutputStream } from './context.ts';
import { asksJson, errorJson } from './error-line.ts';
import { type Program, run } from './run.ts';

/** EX_SOFTWARE of sysexits.h. */
const UNFINISHED = {
  exitCode: 70,
  code: 'UNFINISHED',
  message:
    'the command stopped waiting before it had ended; this is a bug in handover; please report it with the command you ran',
} as const;

/** Without its answer `check` has no verdict: 3 is UNKNOWN, and 0 or 1 would be one. */
const unheard = (code: string | undefined): number => {
  if (process.argv[2] === 'check') return 3;
  // As a program that SIGPIPE ends: 0 would say that it had done its work.
  return code === 'EPIPE' ? 141 : 1;
};

/** Whatever a command lets through: what others wrote controls no terminal. */
const cleaned = (stream: NodeJS.WriteStream): OutputStream => ({
  write: (text) => stream.write(withoutControls(text, stream.isTTY === true)),
  get isTTY() {
    return stream.isTTY;
  },
  get columns() {
    return stream.columns;
  },
});

/** The process around {@link run}: its streams, its signals, its exit code. */
export const main = (name: Program = 'handover'): void => {
  const { stdin, stdout, stderr, env } = process;
  let goesOn = false;
  let hasEnded = false;
  let isTold = false;
  // The reader of a pipe may stop (`| head`): that is no error, and nothing is left to tell.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!goesOn) {
        if (error.code !== 'EPIPE' && stream === stdout)
          stderr.write(`standard output is lost (${error.code})\n`);
        process.exit(unheard(error.code));
      }
      if (isTold || stream === stderr) return;
      isTold = true;
      stderr.write(`standard output is lost (${error.code}); handover continues without it\n`);
    });
  }
  const stopping = new AbortController();
  let isGraceful = false;
  let grace: number | undefined;
  const stop = (code: number) => (): void => {
    if (!isGraceful || stopping.signal.aborted) process.exit(code);
    stopping.abort();
    if (grace !== undefined) systemClock.after(grace, () => process.exit(code)).unref();
  };
  // 128 + the signal's number, as shells have it.
  process.on('SIGINT', stop(130));
  process.on('SIGTERM', stop(143));
  const context = {
    stdin,
    stdout: cleaned(stdout),
    stderr: cleaned(stderr),
    colours: stdout.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb',
    clock: systemClock,
    sinceBoot: () => uptime() * 1000,
    untilStopped: (graceMs?: number) => {
      isGraceful = true;
      grace = graceMs;
      return stopping.signal;
    },
    goOnUnheard: () => {
      goesOn = true;
    },
    exitCode: 0 as const,
  };
  // Until the command has ended nothing says that it went well, not even an empty event loop.
  process.exitCode = UNFINISHED.exitCode;
  process.once('exit', (exitCode) => {
    if (exitCode !== UNFINISHED.exitCode || hasEnded) return;
    const { code, message } = UNFINISHED;
    stderr.write(`${asksJson(process.argv) ? errorJson(code, message) : `${code}: ${message}`}\n`);
  });
  run(process.argv.slice(2), context, name).then((code) => {
    hasEnded = true;
    // Not process.exit: a pipe must still be drained.
    process.exitCode = code;
  });
};
