// Consent to overwrite an object covers the objects of the resource that gave it, and no other.
import { type Secret, secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from './stage.ts';
import { put, secret, setTenantStage, type TenantStage } from './tenant-stage.ts';
import { attackersCa, type Victim, victim, withAnnotations } from './tenant-victim.ts';

let stage: TenantStage;
let prod: Victim;
beforeAll(async () => {
  stage = await setTenantStage();
  prod = await victim(stage, 'prod');
  await prod.served();
}, 300_000);
afterAll(() => stage?.stop());

const ADOPT = { 'handover.dev/adopt': 'true' };
const KEY = 'the only copy of a key';

const INGRESS = await attackersCa('ingress');

const ingress = (namespace: string, marks: object = {}): object =>
  secret(
    namespace,
    'ingress-tls',
    { 'tls.crt': INGRESS.pem, 'tls.key': KEY },
    { type: 'kubernetes.io/tls', ...marks },
  );

const leaf = (namespace: string, name: string, secretName: string, annotations = {}): object =>
  withAnnotations(
    resource(
      'Leaf',
      name,
      { authority: 'prod/mesh', secretName, dnsNames: [`x.${namespace}.svc`] },
      namespace,
    ),
    annotations,
  );

/** Never the key itself: what a test compares, it prints. */
const keyIn = async (namespace: string): Promise<'as it was' | 'overwritten'> => {
  const found: Secret | undefined = await stage.admin.get(secrets, { namespace, name: 'ingress-tls' });
  return found?.data?.['tls.key'] === Buffer.from(KEY).toString('base64') ? 'as it was' : 'overwritten';
};

const readyOf = async (
  namespace: string,
  name: string,
): Promise<{ readonly status: string; readonly message: string } | undefined> => {
  const found = await stage.admin.get(RESOURCE_KINDS.Leaf, { namespace, name });
  const { conditions = [] } = (found?.status ?? {}) as {
    conditions?: readonly { type: string; status: string; message: string }[];
  };
  return conditions.find(({ type }) => type === 'Ready');
};

/** The Leaf is refused, and the key is what it was. */
const leavesKeyAlone = async (namespace: string, name: string): Promise<void> => {
  const ready = await until(
    async () => {
      const said = await readyOf(namespace, name);
      return said !== undefined && !said.message.includes('no leaf has been issued yet') && said;
    },
    `a condition on Leaf ${namespace}/${name}`,
    45_000,
  );
  expect({ key: await keyIn(namespace), ready: ready.status }).toEqual({ key: 'as it was', ready: 'False' });
  expect(ready.message).toContain('ingress-tls');
};

test('adopt on a TrustBundle does not let a Leaf overwrite a Secret', async () => {
  await stage.namespace('b');
  await put(stage.admin, ingress('b'));
  await put(
    stage.admin,
    withAnnotations(
      resource('TrustBundle', 'other', {
        sources: [{ authority: 'prod/mesh' }],
        targets: [
          {
            configMap: {
              name: 'other',
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'prod' } },
            },
          },
        ],
      }),
      ADOPT,
    ),
  );
  await put(stage.admin, leaf('b', 'ingress', 'ingress-tls'));
  await leavesKeyAlone('b', 'ingress').finally(() =>
    // Else what it lets in would be in the next tests too.
    stage.admin.delete(RESOURCE_KINDS.TrustBundle, { name: 'other' }),
  );
});

test('adopt on one Leaf does not let another Leaf overwrite a Secret', async () => {
  await stage.namespace('c');
  await put(stage.admin, ingress('c'));
  await put(stage.admin, leaf('c', 'willing', 'willing', ADOPT));
  await put(stage.admin, leaf('c', 'ingress', 'ingress-tls'));
  await leavesKeyAlone('c', 'ingress');
});

test('adopt on an Authority, of its own or of another namespace, does not let a Leaf overwrite a Secret', async () => {
  await stage.namespace('d');
  await put(stage.admin, ingress('d'));
  for (const namespace of ['d', 'prod'])
    await put(stage.admin, withAnnotations(resource('Authority', 'willing', {}, namespace), ADOPT));
  await put(stage.admin, leaf('d', 'ingress', 'ingress-tls'));
  await leavesKeyAlone('d', 'ingress');
});

test('where the admission policies are installed, a Leaf with adopt overwrites no Secret that does not say so itself', async () => {
  await stage.namespace('e');
  await put(stage.admin, ingress('e'));
  await put(stage.admin, leaf('e', 'ingress', 'ingress-tls', ADOPT));
  await leavesKeyAlone('e', 'ingress');
});

test('a Leaf with adopt takes over a Secret that says so itself', async () => {
  await stage.namespace('f');
  await put(stage.admin, ingress('f', { labels: ADOPT }));
  await put(stage.admin, leaf('f', 'ingress', 'ingress-tls', ADOPT));
  await until(async () => (await readyOf('f', 'ingress'))?.status === 'True', 'the Secret to be taken over');
  expect(await keyIn('f')).toBe('overwritten');
  // What was in it before is trusted by none of them.
  expect((await prod.served()).anchors).toHaveLength(1);
  expect(prod.lies).toEqual([]);
});
