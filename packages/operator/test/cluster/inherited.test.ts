import { pods } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { authoritySeen, Kubelet, leaf, mounted, rotate, workload } from './pods.ts';
import { resource, type Stage, setStage, until } from './stage.ts';

let stage: Stage;
let kubelet: Kubelet;
beforeAll(async () => {
  stage = await setStage({ controllerManager: true, installed: {} });
  kubelet = new Kubelet(stage);
}, 300_000);
afterAll(async () => {
  kubelet.stop();
  await stage.stop();
});

const nudges = async (): Promise<readonly (string | undefined)[]> => {
  const { items } = await stage.kube.list(pods, { namespace: 'default' });
  return items.map(({ metadata }) => metadata.annotations?.['handover.dev/nudge']);
};

test('whoever takes over in the middle of a rotation nudges the pods that nobody has nudged', async () => {
  // As if it had died each time between a write and its nudges.
  const first = stage.start('first', { nudge: false });
  await stage.cluster.apply(resource('Authority', 'mesh', { rotation: { settle: '1h' } }), leaf('quiet'));
  const ready = ['wait', '--for=condition=Ready', 'authority/mesh', 'leaf/quiet', '--timeout=60s'];
  await stage.cluster.kubectl(...ready);
  await stage.cluster.apply(workload('quiet', { pod: mounted('quiet') }));
  const running = async (): Promise<boolean> => {
    const { items } = await stage.kube.list(pods, { namespace: 'default' });
    return items.filter(({ status }) => (status as { phase?: string }).phase === 'Running').length === 2;
  };
  await until(running, 'two pods');
  await rotate(stage, 'mesh', 'one');
  const isAwaited = async (): Promise<boolean> => {
    const { phase, blockedBy = [] } = await authoritySeen(stage, 'mesh');
    return phase === 'Introducing' && blockedBy.some(({ consumer }) => consumer.endsWith('/quiet'));
  };
  await until(isAwaited, 'it to be waited for');
  expect(await nudges()).toEqual([undefined, undefined]);
  await first.stop();
  stage.start('second');
  await until(async () => (await nudges()).every((nudge) => nudge !== undefined), 'both to be nudged');
}, 300_000);
