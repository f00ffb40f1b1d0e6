import { statusOf } from '@handover/engine';
import { configMaps, events, type KubeObject, pods, secrets } from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { OperatorWorld } from '../../test/world.ts';
import { RESOURCE_KINDS } from '../resources/declared.ts';
import { openView } from './view.ts';

/** Labels decide which namespaces get certificates. */
const SERVED = { team: 'pay' } as const;
const TO_PAY = { namespaceSelector: { matchLabels: SERVED } } as const;
const FAST = { reloadWithin: '1s' } as const;
/** It reads its files when it starts, and no controller starts it again. */
const RESTART = { 'handover.dev/reload': 'restart' } as const;
const MESH = { namespace: 'prod', name: 'mesh' } as const;

let world: OperatorWorld;
beforeEach(async () => {
  world = await OperatorWorld.open();
  await world.namespace('pay', SERVED);
});

/** A restart-only pod pay/api with its first certificate of Authority prod/mesh. */
const presenting = async (issueTo: object): Promise<void> => {
  await world.authority({ issueTo, rotation: FAST });
  await world.leaf('pay/api', { authority: 'prod/mesh' });
  world.operate();
  await world.issued('pay/api');
  await world.pod('pay/api', 'api', RESTART);
};

const trusted = async (): Promise<number> => {
  const { data } = (await world.kube.get(configMaps, { namespace: 'prod', name: 'mesh-trust' })) ?? {};
  return parseCertificates(data?.['ca.crt'] ?? '').certificates.length;
};

/** The message of a condition of the Authority that is true. */
const condition = async (type: string): Promise<string | undefined> => {
  const { conditions = [] } = (await world.status()) as {
    conditions?: readonly { readonly type: string; readonly status: string; readonly message: string }[];
  };
  return conditions.find((one) => one.type === type && one.status === 'True')?.message;
};

test.each([
  ['', false],
  [', also when its Secret is gone', true],
])(
  'a namespace that issueTo selects no longer keeps the CA of its certificates trusted, without the key%s',
  async (_also, isGone) => {
    await presenting(TO_PAY);
    const isRefused = async (): Promise<true | undefined> => {
      const leaf = await world.kube.get(RESOURCE_KINDS.Leaf, { namespace: 'pay', name: 'api' });
      return JSON.stringify(leaf).includes('namespaceSelector of the Authority does not allow') || undefined;
    };
    const merge = { spec: { issueTo: { namespaceSelector: null } } };
    await world.kube.patch(RESOURCE_KINDS.Authority, MESH, { merge });
    await world.until(isRefused, 'the refusal of the Leaf');
    if (isGone) await world.kube.delete(secrets, { namespace: 'pay', name: 'api' });
    await world.rotate();
    await world.retained('pay/secrets/api (holds no newer leaf)');
    expect(await world.blockers()).toEqual([]);
    expect(await trusted()).toBe(2);
    // Its pod still shows that certificate: the CA is not dropped while it lives.
    await world.clock.advance(600_000);
    expect(await trusted()).toBe(2);
  },
);

test('issueTo.patience drops a retained CA, and who is overtaken is named before in the status and after in an Event', async () => {
  await presenting({ ...TO_PAY, patience: '3m' });
  await world.rotate();
  await world.retained('Pod pay/api (restart pending)');
  expect(await condition('Retained')).toMatch(
    /^CA generation 1: stays trusted, its key destroyed, for 1 workload elsewhere: Pod pay\/api \(restart pending\), until .* at most; then issueTo\.patience has passed, and certificates that they still use are refused$/,
  );
  expect(await trusted()).toBe(2);
  await world.retired(2, 300_000);
  expect(await trusted()).toBe(1);
  expect(await condition('Retained')).toBeUndefined();
  const dropped = await world.until(async () => {
    const { items } = await world.kube.list(events, { namespace: 'prod' });
    return items.find((event) => event.reason === 'GenerationDropped');
  }, 'the Event');
  expect(dropped).toMatchObject({
    type: 'Warning',
    message: expect.stringContaining(
      'issueTo.patience has passed, although Pod pay/api (restart pending) may still use a leaf of it',
    ),
  });
});

test('a pod of another namespace that mounts a target of a TrustBundle there is found, and shown as a consumer', async () => {
  await world.authority({ rotation: FAST });
  await world.ask('TrustBundle', 'mesh', {
    sources: [{ authority: 'prod/mesh' }],
    targets: [{ configMap: { name: 'mesh-ca', namespaceSelector: { matchLabels: SERVED } } }],
  });
  world.operate();
  const target = { namespace: 'pay', name: 'mesh-ca' };
  await world.until(() => world.kube.get(configMaps, target), 'the target');
  await world.kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'pay', name: 'reader', annotations: RESTART },
    spec: {
      containers: [{ name: 'main', volumeMounts: [{ name: 'ca', mountPath: '/ca' }] }],
      volumes: [{ name: 'ca', configMap: { name: 'mesh-ca' } }],
    },
  } as KubeObject);
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await world.kube.patch(
    pods,
    { namespace: 'pay', name: 'reader', subresource: 'status' },
    { merge: { status } },
  );
  const view = await openView({ kube: world.kube, namespace: 'handover-system', signal: world.signal });
  const shown = async () => (await statusOf(view.read, 'prod/mesh')).authorities[0]?.consumers ?? [];
  const reader = await world.until(
    async () => (await shown()).find(({ name }) => name === 'Pod pay/reader'),
    'the reader',
  );
  expect(reader).toMatchObject({ kind: 'restart' });
  await world.rotate();
  await world.retired(2);
  // It delays nothing; before another rotation would overtake it, status says so.
  await world.until(async () => {
    const said = await condition('BehindElsewhere');
    return said?.includes('Pod pay/reader in other namespaces has not loaded it; another rotation would');
  }, 'the warning');
});
