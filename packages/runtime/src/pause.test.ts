import { expect, test } from 'vitest';
import { pause } from './pause.ts';

test('a pause ends when its signal aborts, before or during it, and does not throw', async () => {
  await pause(3_600_000, AbortSignal.abort());
  const stop = new AbortController();
  const paused = pause(3_600_000, stop.signal);
  stop.abort(new Error('stopped'));
  expect(await paused).toBeUndefined();
});

test('a pause of no length, or less, ends at once', async () => {
  await pause(-1, new AbortController().signal);
});
