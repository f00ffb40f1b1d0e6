import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { TestClock } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { goOn, handover, NOW } from '../test/capture.ts';
import { authority, homeWith, leaf } from '../test/home.ts';

/** A server that does not run yet, and its probe. */
const beforeItsServer = (): string =>
  homeWith(
    authority('internal', {
      consumers: '[{name: web, presents: true, leaf: web, probe: {address: "127.0.0.1:1"}}]',
    }),
    leaf('web', { authority: 'internal', reload: '{signal: {pidFile: /none, signal: SIGHUP}}' }),
  );
const running = (...args: readonly string[]) => {
  const clock = new TestClock(NOW);
  return { ...goOn(['run', ...args], { clock }), clock };
};

test('run reports once that every certificate is in place', async () => {
  const home = beforeItsServer();
  const ready = 'ready: 1 authority and 1 leaf in place; running until stopped\n';
  const live = running(home);
  await live.clock.until(() => live.said().includes(ready));
  expect(await live.stop()).toBe(0);
  expect(live.said().split(ready)).toHaveLength(2);
  expect(live.said().indexOf('Issue a leaf')).toBeLessThan(live.said().indexOf(ready));
  const json = running(home, '--json');
  await json.clock.until(() => json.said().includes('"event":"ready","authorities":1,"leaves":1'));
});

test('run is not ready while an Authority cannot start', async () => {
  const home = beforeItsServer();
  await handover(['run', home, '--once']);
  rmSync(join(home, 'state/authorities'), { recursive: true });
  const live = running(home);
  await live.clock.until(() => live.said().includes('default/internal: Pending'));
  expect(await live.stop()).toBe(0);
  expect(live.said()).not.toContain('ready: ');
});
