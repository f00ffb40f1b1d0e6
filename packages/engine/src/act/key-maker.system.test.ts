// Two real keys of 4,096 bits, which take seconds, and the loop's delay meanwhile.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { keyMaker } from '../index.ts';

test('a key of 4,096 bits is made while the process does other things', async () => {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  // It measures from one turn of the loop to the next, so there has to be one before and one after.
  const turned = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));
  await turned();
  const keys = keyMaker();
  await Promise.all([keys('RSA-4096', 'a'), keys('RSA-4096', 'b')]);
  await turned();
  delay.disable();
  // Made here, one after the other, they take seconds.
  expect(delay.max / 1e6).toBeLessThan(500);
});
