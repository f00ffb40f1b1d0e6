// kapp-controller's case: a server that signs for itself and writes its caBundle every 30 s becomes one that uses our certificates.
// Against: a Go server that signs for itself as kapp-controller does; kube-apiserver.
import { fileURLToPath } from 'node:url';
import { type Kube, secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../../packages/operator/test/cluster/stage.ts';
import { type RotationStage, setRotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import { buildGo } from '../clients/build.ts';
import { Calls } from './calls.ts';
import { Fields } from './fields.ts';
import { deployment, installed, NAMESPACE, rights, takenOver } from './scene.ts';

const LONG = 600_000;
/** A drift is repaired within 2 s on an idle machine. */
const MOST_LAPSE_MS = 10_000;

let stage: RotationStage;
let kube: Kube;
let image: string;
let calls: Calls;
let fields: Fields;
/** What the self-signing pod published. */
let published: string;
const end = new AbortController();

const rolledOut = (name = 'packaging-api'): Promise<string> =>
  stage.cluster.kubectl('-n', NAMESPACE, 'rollout', 'status', `deployment/${name}`, '--timeout=300s');

beforeAll(async () => {
  const program = fileURLToPath(new URL('program', import.meta.url));
  const programs = await buildGo(program, 'kapp', ['./selfsigned', './mounted']);
  stage = await setRotationStage();
  ({ kube } = stage);
  image = await stage.cluster.node.loadImage({
    name: 'localhost/packaging:1',
    base: 'empty',
    files: { '/app': programs },
  });
  await stage.cluster.kubectl('create', 'namespace', NAMESPACE);
  await stage.cluster.apply(rights('get', 'update'), ...installed(), deployment('selfsigned', image));
  await rolledOut();
  fields = new Fields(kube);
  await fields.start(end.signal);
  calls = new Calls(stage.cluster);
  await until(async () => (await calls.silent()) === undefined, 'webhook and API to answer', LONG);
  calls.start(100);
}, 1_800_000);
afterAll(async () => {
  end.abort();
  await calls?.stop();
  await stage?.stop();
});

const isContended = async (): Promise<boolean> => {
  const found = await kube.get(RESOURCE_KINDS.TrustBundle, { name: 'packaging' });
  const { conditions = [] } = (found?.status ?? {}) as { conditions?: readonly { type: string }[] };
  return conditions.some(({ type }) => type === 'Contended');
};

/** Waits for this many writes of a pod that publishes its own CA, each of them repaired. */
const undone = async (times: number): Promise<readonly number[]> => {
  const before = fields.lapses.length;
  await until(
    async () => {
      expect(await isContended()).toBe(false);
      return fields.lapses.length >= before + times;
    },
    `${times} writes of the old pod to be undone`,
    LONG,
  );
  return fields.lapses.slice(before).map(({ from, to }) => to - from);
};

test('S0.2, S0.8 a pod that signs for itself goes on writing for four minutes: no truce, no failed call', async () => {
  const [first = '', second] = fields.now();
  expect(second).toBe(first);
  published = first;
  const { calls: made, failed } = await calls.during('taken over, old pod serves', async () => {
    const operator = stage.startOperator();
    await stage.cluster.apply(...takenOver(published));
    const ours = await until(
      async () => {
        const found = await kube.get(secrets, { namespace: NAMESPACE, name: 'packaging-api' });
        return found?.data?.['ca.crt'];
      },
      'our Leaf',
      LONG,
    );
    const ca = Buffer.from(ours, 'base64').toString('utf8').trim();
    await until(
      async () => fields.now().every((bundle) => bundle.includes(ca)),
      'our CA in both fields',
      LONG,
    );
    fields.ours = ca;
    // Both fields, every 30 s. Six of the same field within five minutes once made the operator give it up.
    const lapses = await undone(16);
    console.log(`undone after ${Math.max(...lapses)} ms at most, ${lapses.join(', ')}`);
    expect(Math.max(...lapses)).toBeLessThan(MOST_LAPSE_MS);
    expect(operator.log().filter(({ event }) => event === 'obstructed')).toEqual([]);
  });
  expect(failed).toEqual([]);
  expect(made).toBeGreaterThan(300);
});

test('S0.8 a rolling upgrade to the build that uses our certificate, once the old one may not write any more: no failed call', async () => {
  let lapses = 0;
  const { calls: made, failed } = await calls.during('rolling upgrade', async () => {
    await stage.cluster.apply(rights('get'));
    // A write that was already under way is undone like those before it.
    const areOurs = async (): Promise<boolean> =>
      fields.now().every((bundle) => bundle.includes(fields.ours ?? ''));
    await until(areOurs, 'our CA in both fields', LONG);
    lapses = fields.lapses.length;
    await stage.cluster.apply(deployment('mounted', image));
    // While both serve, the old one tries to write, and is refused.
    await until(
      async () => {
        for (const bundle of fields.now()) expect(bundle).toContain(fields.ours);
        const log = stage.cluster.kubectl(
          ...['-n', NAMESPACE, 'logs', '-l', 'app=packaging-api', '--tail=200', '--prefix'],
        );
        // There is none of a container that is being created.
        return (await log.catch(() => '')).includes('not published');
      },
      'the old pod to be refused',
      LONG,
    );
    await rolledOut();
    await stage.cluster.apply(...takenOver(undefined));
    await until(
      async () => fields.now().every((bundle) => !bundle.includes(published.trim().split('\n').at(-2) ?? '')),
      'the old CA to leave the fields',
      LONG,
    );
  });
  expect(failed).toEqual([]);
  expect(made).toBeGreaterThan(100);
  expect(fields.lapses.slice(lapses)).toEqual([]);
});

test('S0.10 the next rotation of the CA fails no call', async () => {
  const { calls: made, failed } = await calls.during('rotation', () =>
    stage.handover(
      'rotate',
      `${NAMESPACE}/packaging`,
      '--home',
      'kube',
      '--id',
      'next',
      '--wait',
      '--timeout',
      '9m',
    ),
  );
  expect(failed).toEqual([]);
  expect(made).toBeGreaterThan(100);
  const found = await kube.get(secrets, { namespace: NAMESPACE, name: 'packaging-api' });
  fields.ours = Buffer.from(found?.data?.['ca.crt'] ?? '', 'base64')
    .toString('utf8')
    .trim();
});

test('S0.2 two old pods that come back and may write, each its own CA: each write is undone, for as long as they run, and calls fail only until then', async () => {
  const since = fields.lapses.length;
  const { calls: made, failed } = await calls.during('two old pods are back', async () => {
    await stage.cluster.apply(
      rights('get', 'update'),
      deployment('selfsigned', image, 'packaging-old', false),
    );
    const lapses = await undone(28);
    console.log(`undone after ${Math.max(...lapses)} ms at most, ${lapses.join(', ')}`);
    expect(Math.max(...lapses)).toBeLessThan(MOST_LAPSE_MS);
    await stage.cluster.kubectl('-n', NAMESPACE, 'delete', 'deployment/packaging-old', '--wait=true');
  });
  const lapses = fields.lapses.slice(since);
  // A moment more than the lapse itself: the API server, too, learns of the repair by a watch.
  const outside = failed.filter(
    (failure) => !lapses.some(({ from, to }) => failure.from <= to + 2_000 && failure.to >= from - 2_000),
  );
  expect(outside).toEqual([]);
  expect(made).toBeGreaterThan(300);
});
