// Trust that another namespace plants, and state that outlives its Authority.
import { secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { namespaceObject } from '@handover/test-api-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from './stage.ts';
import { EVIL, OPERATOR_NAMESPACE, put, secret, setTenantStage, type TenantStage } from './tenant-stage.ts';
import { attackersCa, Victim, victim, withAnnotations } from './tenant-victim.ts';

let stage: TenantStage;
beforeAll(async () => {
  stage = await setTenantStage();
}, 300_000);
afterAll(() => stage?.stop());

const AUTHORITY = 'handover.dev/authority';

const stateOf = async (id: string): Promise<string | undefined> => {
  const { items } = await stage.admin.list(secrets, { namespace: OPERATOR_NAMESPACE });
  return items.find(({ metadata }) => metadata.annotations?.[AUTHORITY] === id)?.metadata.name;
};

/** A Leaf of evil that names the authority, and the Secret it asks for, which is there already. */
const plant = async (
  target: string,
  name: string,
  marks: { readonly adopt?: boolean; readonly labelled?: boolean },
): Promise<string> => {
  const { pem, certificate } = await attackersCa(name);
  const labels = marks.labelled === true ? { 'handover.dev/managed': 'true' } : {};
  await put(stage.evil, secret(EVIL, name, { 'ca.crt': pem }, { labels }));
  const leaf = resource(
    'Leaf',
    name,
    { authority: target, secretName: name, dnsNames: [`${name}.evil.svc`] },
    EVIL,
  );
  await put(stage.evil, withAnnotations(leaf, marks.adopt === true ? { 'handover.dev/adopt': 'true' } : {}));
  return certificate.fingerprint;
};

const among = (planted: readonly string[], held: readonly { readonly fingerprint: string }[]): number =>
  held.filter(({ fingerprint }) => planted.includes(fingerprint)).length;

/** The bundle holds the authority's own CAs, all of them and no other, from its first moment on. */
const holdsOnlyItsOwn = async (attacked: Victim, planted: readonly string[]): Promise<void> => {
  const first = await until(() => attacked.bundle(), `a bundle of ${attacked.id}`, 30_000);
  expect({ plantedInBundle: among(planted, first) }).toEqual({ plantedInBundle: 0 });
  const { anchors } = await attacked.served();
  const own = await until(async () => {
    const listed = await attacked.ownCas();
    return listed.length > 0 && listed;
  }, `the CAs of ${attacked.id} in its status`);
  expect(anchors.map(({ fingerprint }) => fingerprint)).toEqual(own);
  expect(own).toHaveLength(1);
  expect(attacked.lies).toEqual([]);
};

test('the attacker is admin of the namespace evil and can do nothing elsewhere', async () => {
  await stage.namespace('other');
  await expect(stage.evil.list(secrets, { namespace: 'other' })).rejects.toThrow(/forbidden/i);
  await expect(stage.evil.list(secrets, {})).rejects.toThrow(/forbidden/i);
  await expect(put(stage.evil, secret('other', 'x', { a: 'b' }))).rejects.toThrow(/forbidden/i);
  await expect(put(stage.evil, resource('Leaf', 'x', { authority: 'y' }, 'other'))).rejects.toThrow(
    /forbidden/i,
  );
  const bundle = { sources: [{ authority: 'other/mesh' }], targets: [{ configMap: { name: 'x' } }] };
  await expect(put(stage.evil, resource('TrustBundle', 'x', bundle))).rejects.toThrow(/forbidden/i);
  await put(stage.evil, secret(EVIL, 'mine', { a: 'b' }));
});

test('a labelled Secret in another namespace that is there before the Authority adds nothing to its bundle', async () => {
  const planted = await plant('prod-a/mesh', 'planted-a', { labelled: true });
  const attacked = await victim(stage, 'prod-a');
  await holdsOnlyItsOwn(attacked, [planted]);
});

test('adopt on a Leaf of another namespace adds nothing to the bundle of its Authority', async () => {
  const planted = await plant('prod-b/mesh', 'planted-b', { adopt: true });
  const both = await plant('prod-b/mesh', 'planted-c', { adopt: true, labelled: true });
  const attacked = await victim(stage, 'prod-b');
  await holdsOnlyItsOwn(attacked, [planted, both]);
});

test('a CA in another namespace is not trusted when the state of an Authority is lost', async () => {
  const attacked = await victim(stage, 'prod-c');
  const [before] = (await attacked.served()).anchors;
  const planted = [
    await plant('prod-c/mesh', 'planted-d', { labelled: true }),
    await plant('prod-c/mesh', 'planted-e', { adopt: true, labelled: true }),
  ];
  const name = await stateOf('prod-c/mesh');
  expect(name).toBeDefined();
  await stage.admin.delete(secrets, { namespace: OPERATOR_NAMESPACE, name: name ?? '' });
  // The operator begins anew or asks for consent; in neither case may it take what evil offers.
  const noticed = async (): Promise<boolean> =>
    (await stateOf('prod-c/mesh')) !== undefined ||
    /adopt|consent|state/i.test(JSON.stringify((await attacked.status()).conditions));
  await until(noticed, 'the operator to have noticed that the state is gone', 60_000);
  const end = Date.now() + 5_000;
  while (Date.now() < end) {
    const held = (await attacked.bundle()) ?? [];
    expect({ plantedInBundle: among(planted, held) }).toEqual({ plantedInBundle: 0 });
    // Its own objects may bring its own old CA back; nothing else may be there.
    const own = [before?.fingerprint ?? '', ...(await attacked.ownCas())];
    expect({ own: among(own, held) }).toEqual({ own: held.length });
  }
  await attacked.served();
  expect(attacked.lies).toEqual([]);
});

test('spec.adopt of an Authority is the consent that lets an existing CA of its own namespace in, and no other', async () => {
  await stage.namespace('prod-d');
  const old = await attackersCa('old-mesh');
  await put(
    stage.admin,
    secret('prod-d', 'old', { 'ca.crt': old.pem }, { labels: { 'handover.dev/managed': 'true' } }),
  );
  const planted = await plant('prod-d/mesh', 'planted-f', { labelled: true, adopt: true });
  const attacked = new Victim(stage, 'prod-d');
  await attacked.declare({ adopt: { secret: 'old' } });
  await until(async () => {
    const held = ((await attacked.bundle()) ?? []).map(({ fingerprint }) => fingerprint);
    return held.includes(old.certificate.fingerprint);
  }, 'the adopted CA in the bundle');
  const held = ((await attacked.bundle()) ?? []).map(({ fingerprint }) => fingerprint);
  expect(held).not.toContain(planted);
});

/** What a namespace controller does once everything in a namespace is gone. */
const finishNamespace = async (name: string): Promise<void> => {
  const body = { ...namespaceObject(name), spec: { finalizers: [] } };
  await stage.admin.raw('PUT', `/api/v1/namespaces/${name}/finalize`, { body: JSON.stringify(body) });
};

const isOldKeyUsed = async (
  attacked: Victim,
  before: string,
  keyId: string | undefined,
): Promise<boolean> => {
  const held = (await attacked.bundle()) ?? [];
  const now = await attacked.leaf();
  return (
    held.some(({ fingerprint }) => fingerprint === before) ||
    (keyId !== undefined && now?.chain[0]?.authorityKeyId === keyId)
  );
};

test.each([
  ['an Authority that is deleted and made again', false, 'annotate'],
  ['an Authority in a namespace that is deleted and made again', true, 'delete'],
] as const)(
  '%s does not sign with the key of the one before, until an administrator decides',
  async (_, wholeNamespace, command) => {
    const namespace = wholeNamespace ? 'prod-f' : 'prod-e';
    const first = await victim(stage, namespace);
    const [ca] = (await first.served()).anchors;
    first.unwatch();
    const authority = { namespace, name: 'mesh' };
    await stage.admin.delete(RESOURCE_KINDS.Leaf, { namespace, name: 'web' });
    await stage.admin.delete(RESOURCE_KINDS.Authority, authority);
    await stage.admin.delete(secrets, { namespace, name: 'web' });
    await stage.cluster.kubectl('delete', 'configmap', 'mesh-trust', '--namespace', namespace);
    if (wholeNamespace) {
      await stage.cluster.kubectl('delete', 'namespace', namespace, '--wait=false');
      await finishNamespace(namespace);
      await stage.cluster.kubectl('wait', '--for=delete', `namespace/${namespace}`, '--timeout=30s');
    }
    const second = await victim(stage, namespace);
    const seen = await until(
      async () => {
        const ready = await second.condition('Ready');
        const issued = ((await second.leaf())?.chain.length ?? 0) > 0;
        return (issued || ready?.status === 'False') && ready;
      },
      'an answer of the operator',
      30_000,
    );
    const reused = await isOldKeyUsed(second, ca?.fingerprint ?? '', ca?.subjectKeyId);
    expect({ reused, said: seen.message }).toMatchObject({ reused: false });
    // Either command of its message decides, as it stands there.
    const [, words = ''] = new RegExp(`kubectl (-n \\S+ ${command} secret [^;]+)`).exec(seen.message) ?? [];
    await stage.cluster.kubectl(...words.split(' '));
    const { anchors } = await second.served(60_000);
    const isOld = anchors.map(({ fingerprint }) => fingerprint === ca?.fingerprint);
    expect(isOld).toEqual([command === 'annotate']);
  },
);
