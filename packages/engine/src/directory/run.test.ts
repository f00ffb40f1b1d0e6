import { expect, test } from 'vitest';
import { loaded } from '../../test/directories.ts';
import { HookHomes, MESH } from '../../test/hook-home.ts';
import { reconcile } from '../controller/reconcile.ts';
import { converge } from '../index.ts';
import { againFor } from './run.ts';

const homes = new HookHomes();

test('a step that waits for a consumer is looked at each second at first, then after a tenth of its wait, at most every 10 s', async () => {
  const app = '{name: app, presents: true, verifies: true, leaf: web, probe: {address: "127.0.0.1:1"}}';
  const home = homes.with({ consumers: app });
  await converge(loaded(home), MESH);
  await home.requests.ask({ authority: MESH, rotate: 'r' });
  await converge(loaded(home), MESH);
  const waits: number[] = [];
  for (const seconds of [0, 5, 15, 40, 60, 3_600]) {
    homes.later(seconds * 1_000);
    const outcome = await reconcile(loaded(home), MESH);
    expect(outcome.plan.blockedBy).toContainEqual(expect.objectContaining({ consumer: 'app' }));
    waits.push((againFor(outcome) - outcome.observation.now) / 1_000);
  }
  expect(waits).toEqual([1, 1, 2, 6, 10, 10]);
});
