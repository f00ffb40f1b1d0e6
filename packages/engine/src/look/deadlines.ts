import { setTimeout as pause } from 'node:timers/promises';

/** How long one look at an authority reads what others keep. What was not read by then counts as unread, and the next look asks again. */
export const LOOK_LASTS = { passwordsMs: 10_000, consumersMs: 25_000 } as const;

/** What `work` comes to, or `late` if it takes until `ms` from now. The work itself goes on, and is heard no more. */
export const within = async <T>(ms: number, work: Promise<T>, late: () => T): Promise<T> => {
  const stop = new AbortController();
  work.catch(() => {}); // it may fail later
  try {
    return await Promise.race([work, pause(ms, undefined, { signal: stop.signal }).then(late)]);
  } finally {
    stop.abort();
  }
};
