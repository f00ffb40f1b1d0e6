import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Directories } from '../../../test/directories.ts';
import { diskFiles, SteadyClock } from '../../index.ts';

const directories = new Directories();

test('after a clock was set forward, also between two processes, no promise to reload counts as older than that', async () => {
  const state = directories.make();
  let wall = 1_000_000;
  let boot = 50_000;
  const clock = () =>
    new SteadyClock(
      diskFiles,
      state,
      () => wall,
      () => boot,
    );
  const first = clock();
  expect(first.steadySince()).toBeUndefined();
  await first.save();
  wall += 60_000;
  boot += 60_000;
  expect(clock().steadySince()).toBeUndefined();
  wall += 3_600_000;
  const jumped = clock();
  expect(jumped.steadySince()).toBe(wall);
  await jumped.save();
  const at = wall;
  wall += 10_000;
  boot += 10_000;
  expect(clock().steadySince()).toBe(at);
  writeFileSync(join(state, 'clock.json'), 'garbage');
  expect(clock().steadySince()).toBe(wall);
});

test('passes that run side by side save the clock one after the other', async () => {
  const clock = new SteadyClock(diskFiles, directories.make(), () => directories.now);
  await expect(Promise.all([clock.save(), clock.save(), clock.save()])).resolves.toHaveLength(3);
});
