import { pods } from '@handover/kube';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { authoritySeen, Kubelet, leaf, mounted, rotate, workload } from './pods.ts';
import { Relay } from './relay.ts';
import { type Running, resource, type Stage, setStage, until } from './stage.ts';

let stage: Stage;
let kubelet: Kubelet;
let relay: Relay;
let leader: Running | undefined;
const end = new AbortController();
beforeAll(async () => {
  stage = await setStage({ controllerManager: true, installed: {} });
  kubelet = new Kubelet(stage);
  relay = await Relay.start(stage.cluster);
}, 300_000);
afterEach(async () => {
  await leader?.stop();
  relay.fate = () => 'pass';
  relay.done = () => 'pass';
});
afterAll(async () => {
  kubelet?.stop();
  await stage?.stop();
  end.abort();
  await relay?.stop();
});

const nudges = async (name: string): Promise<readonly (string | undefined)[]> => {
  const { items } = await stage.kube.list(pods, { namespace: 'default', labelSelector: `app=${name}` });
  return items.map(({ metadata }) => metadata.annotations?.['handover.dev/nudge']);
};
const bothNudged = (name: string): Promise<true> =>
  until(async () => (await nudges(name)).every((nudge) => nudge !== undefined), 'both to be nudged', 60_000);

/** An authority, and two pods without evidence, so that a rotation waits for them. */
const quiet = async (name: string): Promise<void> => {
  await stage.cluster.apply(
    resource('Authority', name, { rotation: { reloadWithin: '1h' } }),
    leaf(`${name}-leaf`, name),
  );
  const ready = ['wait', '--for=condition=Ready', `authority/${name}`, `leaf/${name}-leaf`, '--timeout=60s'];
  await stage.cluster.kubectl(...ready);
  await stage.cluster.apply(workload(name, { pod: mounted(`${name}-leaf`) }));
  const running = async (): Promise<boolean> => {
    const { items } = await stage.kube.list(pods, { namespace: 'default', labelSelector: `app=${name}` });
    return items.filter(({ status }) => (status as { phase?: string }).phase === 'Running').length === 2;
  };
  await until(running, 'two pods');
};

test('an operator that takes over in the middle of a rotation nudges the pods that were not nudged yet', async () => {
  // As if the first operator had died each time between a write and its nudges.
  const first = stage.start('first', { pods: { nudge: false } });
  await quiet('taken-over');
  await rotate(stage, 'taken-over', 'one');
  const isAwaited = async (): Promise<boolean> => {
    const { phase, blockedBy = [] } = await authoritySeen(stage, 'taken-over');
    return phase === 'Introducing' && blockedBy.some(({ consumer }) => consumer.endsWith('/taken-over'));
  };
  await until(isAwaited, 'it to be waited for');
  expect(await nudges('taken-over')).toEqual([undefined, undefined]);
  await first.stop();
  leader = stage.start('second');
  await bothNudged('taken-over');
}, 300_000);

test('a nudge that the API server refuses at first is retried', async () => {
  leader = stage.start('third', { kube: relay.connect(end.signal) });
  await quiet('refused');
  const refusals = [403, 503, 403];
  relay.fate = ({ method, path }) => {
    const isNudge = method === 'PATCH' && path.includes('/pods/refused-') && path.endsWith('/status');
    const status = isNudge ? refusals.shift() : undefined;
    return status === undefined ? 'pass' : { status };
  };
  await rotate(stage, 'refused', 'one');
  await bothNudged('refused');
  expect(refusals).toEqual([]);
}, 300_000);

test('pods are nudged after a write whose answer was lost', async () => {
  leader = stage.start('fourth', { kube: relay.connect(end.signal) });
  await quiet('unheard');
  let unheard = 0;
  relay.done = ({ method, path, status }) => {
    const isWrite = method === 'PATCH' && path.endsWith('/secrets/unheard-leaf') && status < 300;
    return isWrite && unheard++ === 0 ? 'drop' : 'pass';
  };
  await rotate(stage, 'unheard', 'one');
  await bothNudged('unheard');
  expect(unheard).toBe(1);
}, 300_000);
