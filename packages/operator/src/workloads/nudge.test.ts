import { type Kube, pods } from '@handover/kube';
import { HandoverError } from '@handover/material';
import { apiServer, type TestClock } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { Nudges } from './nudge.ts';
import { type Pod, podOf } from './pods.ts';
import type { Workloads } from './workload-cache.ts';

let end: AbortController;
let clock: TestClock;
let kube: Kube;
let seen: Pod[];
const place = { plural: 'secrets', namespace: 'default', name: 'web', part: '' } as const;

beforeEach(async () => {
  ({ kube, clock, stop: end } = await apiServer());
  seen = [];
  for (const name of ['one', 'two']) {
    const spec = {
      containers: [{ name: 'main', volumeMounts: [{ name: 'tls', mountPath: '/tls' }] }],
      volumes: [{ name: 'tls', secret: { secretName: 'web' } }],
    };
    const made = await kube.create(
      pods,
      { metadata: { name, namespace: 'default' }, spec, status: { phase: 'Running' } },
      { namespace: 'default' },
    );
    const pod = podOf(made);
    if (pod !== undefined) seen.push({ ...pod, running: true });
  }
});

const nudged = async (): Promise<number> =>
  (await kube.list(pods, { namespace: 'default' })).items.filter(
    ({ metadata }) => metadata.annotations?.['handover.dev/nudge'] !== undefined,
  ).length;

test('without the lease no pod is nudged, no failure is reported, and nothing is left over', async () => {
  const errors: unknown[] = [];
  let term: number | undefined;
  let asked = 0;
  const fence = {
    get term() {
      asked++;
      return term;
    },
  };
  const residents = { pods: () => seen } as unknown as Workloads;
  const nudges = new Nudges(kube.fenced(fence), residents, end.signal, (error) => errors.push(error));
  nudges.written(place, 'a');
  await clock.advance(25);
  expect(asked).toBe(1);
  term = 1;
  seen = seen.slice(0, 1);
  nudges.written(place, 'b');
  await clock.advance(25);
  expect(await nudged()).toBe(1);
  await clock.advance(60_000);
  expect(await nudged()).toBe(1);
  expect(errors).toEqual([]);
});

test('pods that refuse the annotation hold up those of their own namespace only', async () => {
  const [pod] = seen;
  if (pod === undefined) throw new Error('no pod');
  const theirs = Array.from({ length: 40 }, (_, index) => ({
    ...pod,
    namespace: 'evil',
    uid: `evil-${index}`,
  }));
  const asked: string[] = [];
  const refusing = {
    clock,
    patch: async (_kind: unknown, { namespace }: { readonly namespace: string }) => {
      asked.push(namespace);
      if (namespace === 'evil') throw new HandoverError('KUBE_UNAVAILABLE', 'not now');
    },
  };
  const residents = { pods: () => [...theirs, pod] };
  const nudges = new Nudges(refusing as never, residents as never, end.signal, () => {});
  nudges.written({ ...place, namespace: 'evil' }, 'a');
  nudges.written(place, 'b');
  await clock.until(() => asked.includes('default'), 900);
  expect(asked.filter((namespace) => namespace === 'evil')).toHaveLength(1);
});
