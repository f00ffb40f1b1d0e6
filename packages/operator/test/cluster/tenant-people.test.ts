// People with the roles that `handover install` prints: what they see and may ask for, without a right to read a Secret.
import { connect, type Kube, loadKubeConfig, secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { start } from './certgen-stage.ts';
import { resource, until } from './stage.ts';
import { OPERATOR_NAMESPACE, put, setTenantStage, type TenantStage } from './tenant-stage.ts';

const MESH = { namespace: 'people', name: 'mesh' } as const;
const RBAC = 'rbac.authorization.k8s.io';

let stage: TenantStage;
const end = new AbortController();
beforeAll(async () => {
  stage = await setTenantStage();
  await stage.namespace(MESH.namespace);
  await put(
    stage.admin,
    resource('Authority', MESH.name, { rotation: { reloadWithin: '1s' } }, MESH.namespace),
  );
  for (const role of ['viewer', 'rotator'])
    await stage.cluster.apply({
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata: { name: role, namespace: MESH.namespace },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: `handover-${role}` },
      subjects: [{ apiGroup: RBAC, kind: 'User', name: role }],
    });
}, 300_000);
afterAll(async () => {
  end.abort();
  await stage?.stop();
});

const as = (user: string, ...args: readonly string[]) =>
  start([...args, '--home', 'kube', '--kubeconfig', stage.cluster.kubeconfigFor(user)]).ended;
const kubeOf = async (user: string): Promise<Kube> =>
  connect(await loadKubeConfig({ kubeconfig: stage.cluster.kubeconfigFor(user) }), {
    signal: end.signal,
    rate: false,
  });

test('a viewer sees the status of an Authority, reads no Secret and asks for nothing', async () => {
  const { stdout } = await until(async () => {
    const shown = await as('viewer', 'status', 'people/mesh');
    return shown.code === 0 && shown.stdout.includes('people/mesh  Stable') && shown;
  }, 'a status');
  expect(stdout).toContain('CA generation 1  current');
  expect((await as('viewer', 'plan', 'people/mesh')).code).toBe(0);
  const kube = await kubeOf('viewer');
  for (const namespace of [MESH.namespace, OPERATOR_NAMESPACE])
    await expect(kube.list(secrets, { namespace })).rejects.toThrow(/forbidden/i);
  const asked = await as('viewer', 'rotate', 'people/mesh', '--id', 'no');
  expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining('KUBE_FORBIDDEN') });
});

test('a rotator asks for a rotation and sees its end, and changes nothing else of the Authority', async () => {
  const asked = await as('rotator', 'rotate', 'people/mesh', '--id', 'first', '--wait');
  expect(asked).toMatchObject({ code: 0, stdout: 'rotation first of people/mesh is complete\n' });
  const kube = await kubeOf('rotator');
  const patch = (merge: object) => kube.patch(RESOURCE_KINDS.Authority, MESH, { merge });
  for (const merge of [
    { spec: { issueTo: { namespaceSelector: {} } } },
    { metadata: { annotations: { 'handover.dev/other': 'x' } } },
    { metadata: { labels: { team: 'x' } } },
    { metadata: { annotations: { 'handover.dev/rotate': 'second' } }, spec: { lifetime: '2y' } },
  ])
    await expect(patch(merge)).rejects.toThrow(/without the right to update authorities/);
  const distrusted = await as('rotator', 'distrust', 'people/mesh', '--generation', '2', '--yes');
  expect(distrusted).toMatchObject({ code: 0, stdout: expect.stringContaining('is distrusted') });
  await expect(kube.list(secrets, { namespace: MESH.namespace })).rejects.toThrow(/forbidden/i);
  const found = await stage.admin.get(RESOURCE_KINDS.Authority, MESH);
  await expect(kube.update(RESOURCE_KINDS.Authority, found ?? expect.fail('no Authority'))).rejects.toThrow(
    /forbidden/i,
  );
});

test('an administrator of the namespace changes its Authority as ever', async () => {
  await stage.admin.patch(RESOURCE_KINDS.Authority, MESH, { merge: { metadata: { labels: { team: 'x' } } } });
});
