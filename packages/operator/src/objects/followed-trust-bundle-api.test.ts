import type { KubeReader } from '@handover/kube';
import { TestClock } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FollowedTrustBundleApi } from './followed-trust-bundle-api.ts';

let end: AbortController;
let clock: TestClock;
let served: readonly string[];
let asked: number;
let answers: boolean;
beforeEach(() => {
  end = new AbortController();
  clock = new TestClock();
  served = [];
  asked = 0;
  answers = true;
});
afterEach(() => end.abort());

const follow = (version: string | undefined) => {
  const kube = {
    clock,
    serves: async (_group: string, version: string) => {
      if (version === 'v1') asked++;
      if (!answers) throw new Error('no answer');
      return served.includes(version);
    },
  } as unknown as KubeReader;
  const changed = vi.fn(async () => {});
  return { api: new FollowedTrustBundleApi(kube, version, end.signal, changed), changed };
};
/** A little longer than a minute: the client remembers for one what the API server serves. */
const minute = (): Promise<void> => clock.advance(61_000);

test('while ClusterTrustBundles are not served, the API server is asked once a minute for all targets', async () => {
  const { api, changed } = follow(undefined);
  expect([api.isServed(), api.isServed()]).toEqual([false, false]);
  await clock.advance(60_999);
  expect(asked).toBe(0);
  await clock.advance(1);
  expect(asked).toBe(1);
  await minute();
  expect(asked).toBe(2);
  served = ['v1beta1'];
  await minute();
  expect(api.version).toBe('v1beta1');
  expect(changed).toHaveBeenCalledTimes(1);
  expect([api.isServed(), clock.next]).toEqual([true, undefined]);
});

test('v1 of ClusterTrustBundle is preferred to v1beta1', async () => {
  const { api } = follow(undefined);
  api.isServed();
  served = ['v1beta1', 'v1'];
  await minute();
  expect(api.version).toBe('v1');
});

test('a served version of ClusterTrustBundle is not asked about again without a reason, and a false alarm changes nothing', async () => {
  served = ['v1'];
  const { api, changed } = follow('v1');
  expect([api.isServed(), clock.next]).toEqual([true, undefined]);
  api.askAgain();
  await minute();
  expect([api.version, changed.mock.calls.length, clock.next]).toEqual(['v1', 0, undefined]);
});

test('when a version of ClusterTrustBundle is gone, the version that is served is used, or none', async () => {
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

test('an API server that does not answer counts as serving the same version of ClusterTrustBundle as before', async () => {
  const { api, changed } = follow('v1');
  answers = false;
  api.askAgain();
  await minute();
  expect([api.version, changed.mock.calls.length]).toEqual(['v1', 0]);
});
