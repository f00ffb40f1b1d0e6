import { TestClock } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { goOn, handover, NOW, turning } from '../../test/capture.ts';
import { authority, homeOn, homeWith, leaf } from '../../test/home.ts';

const waiting = `waiting for process ${process.pid} to finish its work on this directory\n`;

test('run waits for another command on the directory to end, and says so', async () => {
  const dir = homeWith(authority('web'), leaf('web'));
  const clock = new TestClock(NOW);
  const lock = await homeOn(dir, clock).lock();
  const live = goOn(['run', dir], { clock });
  await clock.until(() => live.said() === waiting);
  await clock.advance(60_000);
  expect(live.said()).toBe(waiting);
  await lock.release();
  await clock.until(() => live.said().includes('Issue a leaf'), 10_000);
  expect(await live.stop()).toBe(0);
});

test('run --once waits half a minute for another command on the directory to end', async () => {
  const dir = homeWith(authority('web'), leaf('web'));
  const clock = new TestClock(NOW);
  const home = homeOn(dir, clock);
  const once = ['run', dir, '--once'];
  await handover(once);
  const lock = await home.lock();
  const patient = handover(once, { clock });
  await clock.until(() => clock.next !== undefined);
  await clock.advance(29_000);
  await lock.release();
  expect(await turning(clock, patient)).toMatchObject({ code: 0, stdout: expect.stringContaining(waiting) });
  const again = await home.lock();
  const refused = await turning(clock, handover(once, { clock }));
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^HOME_LOCKED: /) });
  await again.release();
});
