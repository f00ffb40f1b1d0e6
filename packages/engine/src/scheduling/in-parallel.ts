import { HandoverError } from '@handover/material';

/** `each` for all items, a few at a time. */
export const inParallel = async <T>(
  items: readonly T[],
  limit: number,
  each: (item: T) => Promise<void>,
): Promise<void> => {
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) await each(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
};

/** The same, where one that fails holds up no other: the first failure is thrown when all have been tried. */
export const tryAll = async <T>(
  items: readonly T[],
  limit: number,
  each: (item: T) => Promise<void>,
): Promise<void> => {
  let first: HandoverError | undefined;
  await inParallel(items, limit, async (item) => {
    try {
      await each(item);
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      first ??= error;
    }
  });
  if (first !== undefined) throw first;
};
