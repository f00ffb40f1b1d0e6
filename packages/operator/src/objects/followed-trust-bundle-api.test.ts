import type { KubeReader } from '@handover/kube';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

const waits: (() => void)[] = [];
vi.mock('@handover/runtime/pause', () => ({
  pause: () => new Promise<void>((resolve) => waits.push(resolve)),
}));
const { FollowedTrustBundleApi } = await import('./followed-trust-bundle-api.ts');

let end: AbortController;
let served: readonly string[];
let answers: boolean;
beforeEach(() => {
  end = new AbortController();
  served = [];
  answers = true;
});
afterEach(() => {
  end.abort();
  waits.length = 0;
});

const kube = {
  serves: async (_group: string, version: string) => {
    if (!answers) throw new Error('no answer');
    return served.includes(version);
  },
} as unknown as KubeReader;

const follow = (version: string | undefined) => {
  const changed = vi.fn(async () => {});
  return { api: new FollowedTrustBundleApi(kube, version, end.signal, changed), changed };
};
/** A minute passes, and whatever it sets off. */
const minute = async (): Promise<void> => {
  for (const go of waits.splice(0)) go();
  await new Promise((resolve) => setImmediate(resolve));
};

test('while there are none, the API server is asked each minute, once for all targets', async () => {
  const { api, changed } = follow(undefined);
  expect([api.isServed(), api.isServed()]).toEqual([false, false]);
  expect(waits).toHaveLength(1);
  await minute();
  expect(waits).toHaveLength(1);
  served = ['v1beta1'];
  await minute();
  expect(api.version).toBe('v1beta1');
  expect(changed).toHaveBeenCalledTimes(1);
  expect([api.isServed(), waits.length]).toEqual([true, 0]);
});

test('v1 comes before v1beta1', async () => {
  const { api } = follow(undefined);
  api.isServed();
  served = ['v1beta1', 'v1'];
  await minute();
  expect(api.version).toBe('v1');
});

test('what is served is not asked about again without a reason, and a false alarm changes nothing', async () => {
  served = ['v1'];
  const { api, changed } = follow('v1');
  expect([api.isServed(), waits.length]).toEqual([true, 0]);
  api.askAgain();
  await minute();
  expect([api.version, changed.mock.calls.length, waits.length]).toEqual(['v1', 0, 0]);
});

test('a version that is gone is followed to the one that is there, or to none', async () => {
  served = ['v1beta1'];
  const { api, changed } = follow('v1');
  api.askAgain();
  await minute();
  expect(api.version).toBe('v1beta1');
  served = [];
  api.askAgain();
  await minute();
  expect([api.isServed(), changed.mock.calls.length]).toEqual([false, 2]);
});

test('an API server that does not answer serves what it did', async () => {
  const { api, changed } = follow('v1');
  answers = false;
  api.askAgain();
  await minute();
  expect([api.version, changed.mock.calls.length]).toEqual(['v1', 0]);
});
