import { connect, type Kube, pods } from '@handover/kube';
import { HandoverError } from '@handover/material';
import { FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Nudges } from './nudge.ts';
import { type Pod, podOf } from './pods.ts';
import type { Workloads } from './workload-cache.ts';

let server: FakeApiServer;
let end: AbortController;
let kube: Kube;
let seen: Pod[];
/** A busy machine is no reason to fail. */
const PATIENT = { timeout: 20_000 };
const place = { plural: 'secrets', namespace: 'default', name: 'web', part: '' } as const;

beforeEach(async () => {
  server = await FakeApiServer.start();
  end = new AbortController();
  kube = connect(server.config, { signal: end.signal });
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
afterEach(async () => {
  end.abort();
  await server.stop();
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
  await vi.waitFor(() => expect(asked).toBe(1), PATIENT);
  term = 1;
  seen = seen.slice(0, 1);
  nudges.written(place, 'b');
  await vi.waitFor(async () => expect(await nudged()).toBe(1), PATIENT);
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
    patch: async (_kind: unknown, { namespace }: { readonly namespace: string }) => {
      asked.push(namespace);
      if (namespace === 'evil') throw new HandoverError('KUBE_UNAVAILABLE', 'not now');
    },
  };
  const residents = { pods: () => [...theirs, pod] };
  const nudges = new Nudges(refusing as never, residents as never, end.signal, () => {});
  nudges.written({ ...place, namespace: 'evil' }, 'a');
  nudges.written(place, 'b');
  await vi.waitFor(() => expect(asked).toContain('default'), PATIENT);
  expect(asked.filter((namespace) => namespace === 'evil')).toHaveLength(1);
});
