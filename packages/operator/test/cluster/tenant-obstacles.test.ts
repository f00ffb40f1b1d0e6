// What another namespace puts in the way of objects that an Authority keeps there: it is reported there, and holds nothing up.
import { configMaps, pods, secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from './stage.ts';
import { EVIL, put, secret, setTenantStage, type TenantStage } from './tenant-stage.ts';
import { type Victim, victim, withAnnotations } from './tenant-victim.ts';

let stage: TenantStage;
beforeAll(async () => {
  stage = await setTenantStage();
}, 300_000);
afterAll(() => stage?.stop());

const inEvil = { matchLabels: { 'kubernetes.io/metadata.name': EVIL } };

/** The administrator wants the bundle in evil. */
const spread = (attacked: Victim, name: string): Promise<unknown> =>
  put(
    stage.admin,
    resource('TrustBundle', name, {
      sources: [{ authority: attacked.id }],
      targets: [{ configMap: { name, namespaceSelector: inEvil } }],
    }),
  );

interface Status {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly message: string;
  }[];
  readonly failing?: readonly { readonly target: string; readonly why: string }[];
}

const failingOf = async (name: string): Promise<Status['failing']> => {
  const found = await stage.admin.get(RESOURCE_KINDS.TrustBundle, { name });
  return (found?.status as Status | undefined)?.failing;
};

const readyOf = async (name: string): Promise<{ status: string; message: string } | undefined> => {
  const found = await stage.evil.get(RESOURCE_KINDS.Leaf, { namespace: EVIL, name });
  return (found?.status as Status | undefined)?.conditions?.find(({ type }) => type === 'Ready');
};

const evilLeaf = (
  attacked: Victim,
  name: string,
  more: object = {},
  annotations: Readonly<Record<string, string>> = {},
): Promise<unknown> => {
  const spec = { authority: attacked.id, secretName: name, dnsNames: [`${name}.evil.svc`], ...more };
  return put(stage.evil, withAnnotations(resource('Leaf', name, spec, EVIL), annotations));
};

/** A rotation ends, and nothing of evil is waited for afterwards. */
const rotates = async (attacked: Victim): Promise<void> => {
  await attacked.rotated(2, 60_000);
  const { blockedBy = [] } = await attacked.status();
  expect(blockedBy.filter(({ consumer }) => consumer.includes('evil/'))).toEqual([]);
  await attacked.served();
  attacked.unwatch();
  expect(attacked.lies).toEqual([]);
};

test.concurrent.each([
  ['a ConfigMap', 'prod-1', false],
  ['an immutable ConfigMap', 'prod-2', true],
])(
  '%s of another namespace under the name of a bundle is reported there and holds no rotation up',
  async (_, namespace, immutable) => {
    const name = `taken-${namespace}`;
    await put(stage.evil, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: EVIL },
      data: { 'ca.crt': 'mine' },
      immutable,
    });
    const attacked = await victim(stage, namespace);
    await attacked.served();
    await spread(attacked, name);
    await rotates(attacked);
    const failing = await until(() => failingOf(name), `the status of TrustBundle ${name}`);
    expect(failing.map(({ target }) => target)).toEqual([`evil/configmaps/${name}/ca.crt`]);
    const kept = await stage.evil.get(configMaps, { namespace: EVIL, name });
    expect(kept?.data).toEqual({ 'ca.crt': 'mine' });
  },
);

test.concurrent.each([
  ['a Secret', 'prod-3', false],
  ['an immutable Secret', 'prod-4', true],
])(
  '%s of another namespace under the name of its Leaf is reported there and holds no rotation up',
  async (_, namespace, immutable) => {
    const name = `taken-${namespace}`;
    await put(stage.evil, secret(EVIL, name, { 'tls.key': 'mine' }, { immutable }));
    const attacked = await victim(stage, namespace);
    await attacked.served();
    await evilLeaf(attacked, name);
    await rotates(attacked);
    const ready = await until(() => readyOf(name), `a condition on Leaf ${name}`);
    expect(ready).toMatchObject({ status: 'False', message: expect.stringContaining(name) });
  },
);

test.concurrent('a managed object of another namespace that turns immutable holds no rotation up', async () => {
  const attacked = await victim(stage, 'prod-5');
  await attacked.served();
  await spread(attacked, 'frozen');
  await evilLeaf(attacked, 'frozen-leaf');
  const which = { namespace: EVIL, name: 'frozen' };
  await until(() => stage.evil.get(configMaps, which), 'the bundle in evil');
  await until(async () => (await readyOf('frozen-leaf'))?.status === 'True', 'the leaf in evil');
  await stage.evil.patch(configMaps, which, { merge: { immutable: true } });
  await stage.evil.patch(secrets, { namespace: EVIL, name: 'frozen-leaf' }, { merge: { immutable: true } });
  await rotates(attacked);
  const failing = await until(() => failingOf('frozen'), 'the status of the TrustBundle');
  expect(failing.map(({ target }) => target)).toEqual(['evil/configmaps/frozen/ca.crt']);
});

test.concurrent('a namespace that keeps rewriting its copy of the bundle holds no rotation up', async () => {
  const attacked = await victim(stage, 'prod-6');
  await attacked.served();
  await spread(attacked, 'rewritten');
  const which = { namespace: EVIL, name: 'rewritten' };
  await until(() => stage.evil.get(configMaps, which), 'the bundle in evil');
  let turn = 0;
  const rewriting = setInterval(() => {
    const data = { 'ca.crt': `mine ${++turn}` };
    void stage.evil.patch(configMaps, which, { merge: { data } }).catch(() => {});
  }, 500);
  await rotates(attacked).finally(() => clearInterval(rewriting));
});

const mounting = (name: string, volume: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: EVIL },
  spec: {
    automountServiceAccountToken: false,
    containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'trust', mountPath: '/trust' }] }],
    volumes: [{ name: 'trust', ...volume }],
  },
});

test.concurrent('pods of another namespace that mount the bundle and never get ready hold no rotation up', async () => {
  const attacked = await victim(stage, 'prod-7');
  await attacked.served();
  await spread(attacked, 'mounted');
  await evilLeaf(attacked, 'mounted-leaf');
  await until(async () => (await readyOf('mounted-leaf'))?.status === 'True', 'the leaf in evil');
  const lastTransitionTime = new Date().toISOString();
  const makePod = async (name: string, volume: object, ready: 'True' | 'False'): Promise<void> => {
    await put(stage.evil, mounting(name, volume));
    const conditions = ['Ready', 'ContainersReady', 'PodScheduled', 'Initialized'].map((type) => ({
      type,
      status: type.endsWith('Ready') ? ready : 'True',
      lastTransitionTime,
    }));
    await stage.evil.patch(
      pods,
      { namespace: EVIL, name, subresource: 'status' },
      { merge: { status: { phase: 'Running', conditions } } },
    );
  };
  await makePod('sick-trust', { configMap: { name: 'mounted' } }, 'False');
  await makePod('sick-leaf', { secret: { secretName: 'mounted-leaf' } }, 'False');
  await makePod('mute-leaf', { secret: { secretName: 'mounted-leaf' } }, 'True');
  await rotates(attacked);
});

test.concurrent.each<[string, string, object, Readonly<Record<string, string>>]>([
  ['that no pod reads', 'prod-8', {}, {}],
  ['that lives for ten years', 'prod-9', { lifetime: '3650d' }, {}],
  ['that is renewed every second', 'prod-10', { lifetime: '10s', renew: { at: '10%' } }, {}],
  ['whose owner says that it is read hot', 'prod-11', {}, { 'handover.dev/reload': 'hot' }],
  ['whose owner says that its readers restart', 'prod-12', {}, { 'handover.dev/reload': 'restart' }],
])('a Leaf of another namespace %s holds no rotation up', async (_, namespace, spec, annotations) => {
  const name = `leaf-${namespace}`;
  const attacked = await victim(stage, namespace);
  await attacked.served();
  await evilLeaf(attacked, name, spec, annotations);
  await until(async () => {
    const ready = await readyOf(name);
    return ready !== undefined && !ready.message.includes('no leaf has been issued yet');
  }, `an answer to Leaf ${name}`);
  await rotates(attacked);
});
