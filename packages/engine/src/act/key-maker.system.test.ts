// Two real keys of 4,096 bits, which take seconds.
import { expect, test } from 'vitest';
import { keyMaker } from '../index.ts';

test('a key of 4,096 bits is made while the process does other things', async () => {
  let done = 0;
  const other = setInterval(() => done++, 5);
  const keys = keyMaker();
  await Promise.all([keys('RSA-4096', 'a'), keys('RSA-4096', 'b')]);
  clearInterval(other);
  // Made on the event loop, they leave it no turn in between.
  expect(done).toBeGreaterThan(3);
});
