import { deployments, kindOf } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { authoritySeen, eventsOf, isStable, Kubelet, leaf, rotate, templateOf, workload } from './pods.ts';
import { resource, type Stage, setStage, until } from './stage.ts';

let stage: Stage;
let kubelet: Kubelet;
beforeAll(async () => {
  stage = await setStage({ controllerManager: true, installed: {} });
  stage.start('one');
  kubelet = new Kubelet(stage);
}, 300_000);
afterAll(async () => {
  kubelet.stop();
  await stage.stop();
});

const clusterRoles = kindOf('rbac.authorization.k8s.io/v1', 'clusterroles', 'ClusterRole', false);
interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

test('status and an Event report a forbidden restart; a retry does not rotate again', async () => {
  const found = await stage.kube.get(clusterRoles, { name: 'handover' });
  const rules = (found as unknown as { rules: readonly Rule[] }).rules;
  const without = rules.map((rule) =>
    rule.resources.includes('deployments')
      ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== 'patch') }
      : rule,
  );
  await stage.kube.patch(clusterRoles, { name: 'handover' }, { merge: { rules: without } });
  await stage.cluster.apply(resource('Authority', 'mesh', { rotation: { reloadWithin: '2s' } }), leaf('env'));
  await stage.cluster.kubectl('wait', '--for=condition=Ready', 'authority/mesh', 'leaf/env', '--timeout=60s');
  await stage.cluster.apply(workload('env'));
  await until(async () => kubelet.made('env') === 2, 'two pods');
  await rotate(stage, 'mesh', 'one');
  const degraded = await until(
    async () => {
      const { conditions = [] } = await authoritySeen(stage, 'mesh');
      return (
        conditions.find(({ type, reason }) => type === 'Degraded' && reason === 'CannotRestart') ?? false
      );
    },
    'a condition',
    120_000,
  );
  expect(degraded.message).toMatch(
    /^Deployment default\/env: the API server refused to restart it: .*forbidden/i,
  );
  const refused = () =>
    stage.requests.filter(({ status, resource: plural }) => status === 403 && plural === 'deployments')
      .length;
  await until(async () => refused() >= 2, 'another try', 120_000);
  const { generations = [], blockedBy = [] } = await authoritySeen(stage, 'mesh');
  expect(generations.map(({ generation, role }) => `${generation} ${role}`)).toEqual([
    '2 current',
    '1 previous',
  ]);
  expect(blockedBy[0]?.consumer).toBe('Deployment default/env');
  const said = (await eventsOf(stage, 'Authority', 'mesh')).filter(
    ({ reason }) => reason === 'CannotRestart',
  );
  expect(said).toHaveLength(1);
  expect(kubelet.made('env')).toBe(2);

  await stage.kube.patch(clusterRoles, { name: 'handover' }, { merge: { rules } });
  await until(isStable(stage, 'mesh', 2), 'the rotation to end', 180_000);
  expect(kubelet.made('env')).toBe(4);
  expect((await templateOf(stage, deployments, 'env'))['handover.dev/trust-hash']).toMatch(
    /^default\/mesh=2\./,
  );
}, 600_000);
