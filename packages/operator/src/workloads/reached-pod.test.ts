import { expect, test } from 'vitest';
import { reachedPodOf } from './reached-pod.ts';

test.each([
  ['in the same spelling', 'fd12::1', 'fd12::1'],
  ['in another spelling', 'fd12:0:0:0:0:0:0:1', 'FD12::1'],
])('a pod with the address of its node %s is on its node', (_how, podIP, hostIP) => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, status: { podIP, hostIP } };
  expect(reachedPodOf(pod)).toMatchObject({ onNode: true, ips: ['fd12::1'] });
});

test('an invalid pod IP is kept, so that the refusal names it', () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, status: { podIP: 'web' } };
  expect(reachedPodOf(pod)).toMatchObject({ onNode: false, ips: ['web'] });
});
