import { setMaxListeners } from 'node:events';
import { aborted } from './error.ts';

/** Waits, or throws KUBE_ABORTED when the signal says so first. Holds the process open no longer than asked. */
export function wait(ms: number, signal: AbortSignal | undefined, about: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(aborted(about, signal.reason));
    const stop = () => {
      clearTimeout(timer);
      reject(aborted(about, signal?.reason));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** One signal out of several that leaves no listener behind once `done` is called. */
export function anyOf(...signals: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
  readonly done: () => void;
} {
  const controller = new AbortController();
  const given = signals.filter((signal) => signal !== undefined);
  // One signal may end hundreds of things here: Node would take that for a leak.
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
