import type { Clock, Timer } from '@handover/material';

/** How long one look at an authority reads what others keep. What was not read by then counts as unread, and the next look asks again. */
export const LOOK_LASTS = { passwordsMs: 10_000, consumersMs: 25_000 } as const;

/** What `work` comes to, or `late` if it takes until `ms` from now. The work itself goes on, and is heard no more. */
export const within = async <T>(clock: Clock, ms: number, work: Promise<T>, late: () => T): Promise<T> => {
  let timer: Timer | undefined;
  const over = new Promise<void>((resolve) => {
    timer = clock.after(ms, resolve);
  });
  work.catch(() => {}); // it may fail later
  try {
    return await Promise.race([work, over.then(late)]);
  } finally {
    timer?.cancel();
  }
};
