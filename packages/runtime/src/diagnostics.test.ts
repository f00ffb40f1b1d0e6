import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, expect, test } from 'vitest';
import { next, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';

const scope = new Scope();
afterEach(() => scope.end());

test('channels carry every change and every failure of a process, and no hash of what is loaded', async () => {
  const seen: unknown[] = [];
  const listener = (message: unknown) => seen.push(message);
  for (const name of ['handover:reloaded', 'handover:kept']) {
    subscribe(name, listener);
    scope.after(() => unsubscribe(name, listener));
  }
  const volume = scope.volume({ 'ca.crt': new MockCa('one').pem });
  const trust = await scope.trust(volume);
  const path = volume.path('ca.crt');
  volume.write({ 'ca.crt': new MockCa('two').pem });
  const { at } = await next(trust, 'reloaded');
  expect(seen).toEqual([{ path, loads: 2, at }]);
  volume.write({ 'ca.crt': '' });
  const failure = await next(trust, 'kept');
  expect(seen[1]).toEqual({ path, reason: 'empty', code: 'FILE_EMPTY', at: failure.at });
});
