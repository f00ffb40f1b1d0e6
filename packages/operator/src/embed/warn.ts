import { type Clock, HandoverError } from '@handover/material';
import type { EmbedEvent } from './events.ts';

const AGAIN_MS = 60_000;

/** Without a listener, failures become warnings of the process; the same one at most once a minute. */
export const warnOfFailures = (
  clock: Pick<Clock, 'monotonic'>,
  warn: (message: string, code: string) => void = (message, code) =>
    process.emitWarning(message, { type: 'HandoverWarning', code }),
): ((event: EmbedEvent) => void) => {
  const said = new Map<string, number>();
  return (event) => {
    if (event.kind !== 'failed') return;
    const { what, error } = event;
    const code = error instanceof HandoverError ? error.code : 'INTERNAL';
    const key = `${what} ${code}`;
    const last = said.get(key);
    if (last !== undefined && clock.monotonic() - last < AGAIN_MS) return;
    said.set(key, clock.monotonic());
    warn(`${what}: ${error instanceof Error ? error.message : String(error)}; trying again`, code);
  };
};
