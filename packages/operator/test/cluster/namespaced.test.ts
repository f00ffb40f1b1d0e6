import { secrets } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, type Stage, setStage, until } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage({ installed: { namespaced: ['default'] } });
}, 300_000);
afterAll(() => stage.stop());

test('without cluster-wide rights the operator manages the namespaces it can see, and makes no request that is refused', async () => {
  const { operator } = stage.start('one', { scope: { namespaces: ['default'] } });
  const leaf = { authority: 'mesh', secretName: 'web', dnsNames: ['web.default.svc'] };
  await stage.cluster.apply(resource('Authority', 'mesh'), resource('Leaf', 'web', leaf));
  await stage.cluster.kubectl(
    'wait',
    '--for=condition=Ready',
    'authority/mesh',
    'leaf/web',
    '--timeout=120s',
  );
  await until(async () => operator.waitingFor().length === 0, 'ready');
  await stage.kube.delete(secrets, { namespace: 'default', name: 'web' });
  await until(
    () => stage.kube.get(secrets, { namespace: 'default', name: 'web' }),
    'the Secret to come back',
  );
  expect(stage.requests.filter(({ status }) => status === 403)).toEqual([]);
});
