import { type KubeObject, pods } from '@handover/kube';
import { expect, test } from 'vitest';
import { ClusterWorld } from '../../test/cluster-world.ts';

/** A pod that reads its Secret when it starts, and that no controller starts again. */
const restartOnlyPod = async ({ kube }: ClusterWorld, namespace: string, name: string): Promise<void> => {
  const metadata = { namespace, name, annotations: { 'handover.dev/reload': 'restart' } };
  await kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: {
      containers: [{ name: 'main', volumeMounts: [{ name: 'tls', mountPath: '/tls' }] }],
      volumes: [{ name: 'tls', secret: { secretName: name } }],
    },
  } as KubeObject);
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await kube.patch(pods, { namespace, name, subresource: 'status' }, { merge: { status } });
};

/** Authority shop/mesh, and a pod of namespace pay that will show its first certificate for ever. */
const meshOf = async (): Promise<ClusterWorld> => {
  const world = await ClusterWorld.open({
    namespace: 'handover-system',
    namespaces: ['shop', 'pay', 'handover-system'],
  });
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': 'pay' } };
  await world.authority('shop/mesh', { issueTo: { namespaceSelector }, rotation: { reloadWithin: '1s' } });
  await world.leaf('pay/api', 'shop/mesh');
  world.operate();
  await world.soon(async () => expect((await world.runs('status')).stdout).toContain('    pay/api  CA gen'));
  await restartOnlyPod(world, 'pay', 'api');
  // A pod that comes in the second in which the old CA stops signing does not speak for other programs that read its Secret.
  await world.clock.advance(10_000);
  return world;
};

const WAIT = ['--wait', '--timeout', '5m'] as const;

test('a CA that stays trusted for a workload of another namespace is named by rotate --wait, status and distrust', async () => {
  const world = await meshOf();
  const first = await world.runs('rotate', 'shop/mesh', '--id', 'one', ...WAIT);
  expect(first).toMatchObject({ code: 0 });
  expect(first.stderr).not.toContain('another rotation');
  expect(first.stdout).toMatch(
    /^rotation one of shop\/mesh is complete\nCA generation 1 stays trusted, its key destroyed, for 1 workload elsewhere: .*pay\/.*api \(.+\), until \d{4}-\d\d-\d\d at most\n$/,
  );
  const line =
    /^ {2}CA generation 1: stays trusted, its key destroyed, for 1 workload elsewhere: Pod pay\/api \(restart pending\), until \d{4}-\d\d-\d\d at most$/m;
  await world.soon(async () => expect((await world.runs('status')).stdout).toMatch(line));
  const [authority] = JSON.parse((await world.runs('status', '--json')).stdout).authorities;
  expect(authority.generations).toMatchObject([
    { generation: 2, role: 'current' },
    {
      generation: 1,
      role: 'retained',
      trustedFor: ['Pod pay/api (restart pending)'],
      trustedUntil: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    },
  ]);
  expect(authority.generations[0]).not.toHaveProperty('trustedUntil');

  const dry = await world.runs('distrust', 'shop/mesh', '--generation', '1');
  expect(dry.stdout).toBe(
    'fails until it shows a newer certificate: Pod pay/api (restart pending)\nnothing was changed; add --yes to distrust CA generation 1\n',
  );
  const asJson = await world.runs('distrust', 'shop/mesh', '--generation', '1', '--json');
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    done: false,
    wouldFailElsewhere: ['Pod pay/api (restart pending)'],
  });
  // The retained CA has vouched for the current one: whoever distrusts that one distrusts both.
  const both = await world.runs('distrust', 'shop/mesh', '--generation', '2');
  expect(both.stdout).toContain('fails until it shows a newer certificate: Pod pay/api (restart pending)\n');
});

test('rotate names the verifiers of other namespaces that it overtakes before it asks for the rotation', async () => {
  const world = await meshOf();
  await world.runs('rotate', 'shop/mesh', '--id', 'one', ...WAIT);
  const note =
    'note: CA generation 2: Pod pay/api in other namespaces has not loaded it; another rotation would make it refuse new certificates\n';
  const second = await world.runs('rotate', 'shop/mesh', '--id', 'two');
  expect(second).toMatchObject({ code: 0, stderr: note });
  expect(second.stdout).toMatch(/^rotation two of shop\/mesh /);
  // It is asked for already: nothing is new.
  expect((await world.runs('rotate', 'shop/mesh', '--id', 'one')).stderr).toBe('');
});
