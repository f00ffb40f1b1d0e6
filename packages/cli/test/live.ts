import { uptime } from 'node:os';
import { instant } from '@handover/material';
import { onTestFinished } from 'vitest';
import { run } from '../src/run.ts';

export interface Live {
  /** Everything the command has written so far, to either stream. */
  said(): string;
  stop(): Promise<number>;
}

/** A command that runs until it is stopped, in this process, with the real clock. */
export const goOn = (args: readonly string[]): Live => {
  const stopping = new AbortController();
  let said = '';
  const stream = {
    write: (text: string) => {
      said += text;
    },
  };
  const ended = run(args, {
    stdin: (async function* () {})(),
    stdout: stream,
    stderr: stream,
    colours: false,
    now: () => instant(Date.now()),
    sinceBoot: () => uptime() * 1000,
    untilStopped: () => stopping.signal,
    goOnUnheard: () => {},
    exitCode: 0,
  });
  const stop = (): Promise<number> => {
    stopping.abort();
    return ended;
  };
  onTestFinished(async () => void (await stop()));
  return { said: () => said, stop };
};
