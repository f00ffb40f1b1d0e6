/** Waits until `what` is true. The limit only makes sure that a failing test ends. */
export async function eventually(what: () => unknown, limitMs = 20_000): Promise<void> {
  const began = performance.now();
  for (;;) {
    let last: unknown;
    try {
      if (await what()) return;
    } catch (error) {
      last = error;
    }
    if (performance.now() - began > limitMs) {
      throw new Error(`still not true after ${limitMs} ms: ${what.toString()}`, { cause: last });
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error: { code?: string }) => error.code ?? String(error),
  );
