import { setMaxListeners } from 'node:events';
import type { Clock } from '@handover/material';
import { aborted } from './api-error.ts';

/** Waits; throws KUBE_ABORTED when the signal aborts first. */
export async function wait(clock: Clock, ms: number, signal: AbortSignal, about: string): Promise<void> {
  await clock.sleep(ms, signal);
  if (signal.aborted) throw aborted(about, signal.reason);
}

/** One signal out of several. `done` removes its listeners from them. */
export function anyOf(...signals: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
  readonly done: () => void;
} {
  const controller = new AbortController();
  const given = signals.filter((signal) => signal !== undefined);
  // Hundreds of requests may listen to one signal: Node would warn of a leak.
  setMaxListeners(0, controller.signal, ...given);
  const listeners = given.map((signal) => {
    const listener = () => controller.abort(signal.reason);
    if (signal.aborted) listener();
    else signal.addEventListener('abort', listener, { once: true });
    return listener;
  });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    done: () => {
      given.forEach((signal, index) => {
        const listener = listeners[index];
        if (listener !== undefined) signal.removeEventListener('abort', listener);
      });
    },
  };
}
