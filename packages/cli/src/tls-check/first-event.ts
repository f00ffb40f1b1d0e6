import type { Socket } from 'node:net';
import type { Clock } from '@handover/material';

/** How long to wait, and by which clock. */
export interface Deadline {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

type Listener = (...args: never[]) => void;

/**
 * Waits for the first decisive event of a socket, or for the time to pass. It removes only its own listeners: without those of Node a
 * socket would not notice that the other side has closed.
 */
export function firstEvent<Result>(
  socket: Socket,
  { clock, timeoutMs }: Deadline,
  late: () => Result,
  begin: (on: (event: string, listener: Listener) => void, end: (result: Result) => void) => void,
): Promise<Result> {
  return new Promise((resolve) => {
    const taken: (readonly [string, Listener])[] = [];
    const end = (result: Result): void => {
      timer.cancel();
      socket.on('error', () => {}); // a late error no longer matters
      for (const [event, listener] of taken) socket.off(event, listener as () => void);
      resolve(result);
    };
    const timer = clock.after(timeoutMs, () => end(late()));
    begin((event, listener) => {
      taken.push([event, listener]);
      socket.on(event, listener as () => void);
    }, end);
  });
}
