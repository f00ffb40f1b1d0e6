import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { files, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';

const ours = vi.hoisted(() => ({ isBroken: false }));
vi.mock('./clients/client-source.ts', async (original) => {
  const real = await original<typeof import('./clients/client-source.ts')>();
  const contextOf: typeof real.contextOf = (...args) => {
    if (ours.isBroken) throw new TypeError('x is not a function');
    return real.contextOf(...args);
  };
  return { ...real, contextOf };
});

let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});
afterEach(() => {
  ours.isBroken = false;
});

test('a fault in our own code is not reported as a bad certificate', async () => {
  const ca = new MockCa('one');
  const volume = scope.volume(files(ca.leaf(), ca));
  const identity = await scope.identity(volume);
  identity.on('kept', () => undefined);
  ours.isBroken = true;
  volume.write(files(ca.leaf(), ca));
  expect(await identity.reload()).toMatchObject({
    reason: 'program_error',
    error: { code: 'LOAD_FAILED', message: expect.stringContaining('x is not a function') },
  });
});
