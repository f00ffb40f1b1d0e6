import { apiServices, type KubeObject, secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Live, Ran } from '../../test/capture.ts';
import { ClusterWorld } from '../../test/cluster-world.ts';

let world: ClusterWorld;
let operator: Live;

const runs = (...args: readonly string[]): Promise<Ran> => world.runs(...args);
const soon = <T>(look: () => T | Promise<T>): Promise<T> => world.soon(look);
const readyOf = async (kind: 'Authority' | 'Leaf', namespace: string, name: string) => {
  const { status } = (await world.kube.get(RESOURCE_KINDS[kind], { namespace, name })) as {
    status?: { conditions?: readonly { type: string; status: string; message?: string }[] };
  };
  return status?.conditions?.find(({ type }) => type === 'Ready');
};
const isReady = (...of: Parameters<typeof readyOf>): Promise<void> =>
  soon(async () => expect(await readyOf(...of)).toMatchObject({ status: 'True' }));

beforeEach(async () => {
  world = await ClusterWorld.open({
    namespace: 'handover-system',
    namespaces: ['shop', 'tenant', 'handover-system'],
  });
  await world.authority('shop/mesh');
  await world.leaf('shop/web', 'mesh');
  operator = world.operate();
  await isReady('Leaf', 'shop', 'web');
});

/** How each way of spoiling one Authority looks in every command. */
const expectNamed = async (id: string, code: string, why: RegExp): Promise<void> => {
  const named = new RegExp(`^Authority ${id}: ${code}: .*${why.source}`, 'm');
  const entry = { kind: 'Authority', id, code, message: expect.stringMatching(why) };
  const status = await runs('status');
  expect(status).toMatchObject({ code: 1, stderr: '' });
  expect(status.stdout).toMatch(/^shop\/mesh {2}Stable$/m);
  expect(status.stdout).toMatch(named);
  const asJson = await runs('status', '--json');
  expect(asJson.code).toBe(1);
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    authorities: [{ namespace: 'shop', name: 'mesh', phase: 'Stable' }],
    unusable: [entry],
  });
  const check = await runs('check');
  expect(check).toMatchObject({ code: 2, stderr: '' });
  expect(check.stdout).toMatch(new RegExp(`^HANDOVER CRITICAL - ${id}: ${code}: .*${why.source}`));
  expect(check.stdout).toContain('leaves=1 ');
  expect(JSON.parse((await runs('check', '--json')).stdout)).toMatchObject({
    state: 'CRITICAL',
    leaves: 1,
    findings: [{ severity: 'critical', authority: id, text: expect.stringMatching(why) }],
  });
  expect(await runs('check', 'shop/mesh')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('OK - 1 authority, 1 leaf'),
  });
  expect(await runs('check', id)).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(/^HANDOVER CRITICAL - /),
  });
  const verify = await runs('verify');
  expect(verify).toMatchObject({ code: 1, stderr: '' });
  expect(verify.stdout).toMatch(/^shop\/mesh$/m);
  expect(verify.stdout).toMatch(named);
  expect(JSON.parse((await runs('verify', '--json')).stdout)).toMatchObject({
    ok: false,
    authorities: [{ authority: 'shop/mesh', failingCount: 0 }],
    unusable: [entry],
  });
  const plan = await runs('plan');
  expect(plan).toMatchObject({ code: 1, stderr: '' });
  expect(plan.stdout).toMatch(/^shop\/mesh: /m);
  expect(plan.stdout).toMatch(named);
  expect(JSON.parse((await runs('plan', '--json')).stdout)).toMatchObject({
    plans: [{ authority: 'shop/mesh' }],
    unusable: [entry],
  });
  for (const command of ['status', 'verify', 'plan'])
    expect(await runs(command, 'shop/mesh')).toMatchObject({ code: 0, stderr: '' });
};

describe('An Authority that cannot be used', () => {
  const AT = { namespace: 'tenant', name: 'mesh' };
  beforeEach(async () => {
    await world.authority('tenant/mesh');
    await isReady('Authority', 'tenant', 'mesh');
  });
  const state = async (): Promise<{ readonly namespace: string; readonly name: string }> => {
    const { items } = await world.kube.list(secrets, { namespace: 'handover-system' });
    const found = items.find(
      ({ metadata }) => metadata.annotations?.['handover.dev/authority'] === 'tenant/mesh',
    );
    return { namespace: 'handover-system', name: found?.metadata.name ?? '' };
  };
  const spoil = async (text: string): Promise<void> => {
    const data = { 'authority.json': Buffer.from(text).toString('base64') };
    await world.kube.patch(secrets, await state(), { merge: { data } });
  };

  test('An Authority whose state belongs to a deleted Authority of the same name hides no other', async () => {
    await world.kube.delete(RESOURCE_KINDS.Authority, AT);
    await world.authority('tenant/mesh');
    await expectNamed('tenant/mesh', 'STATE_OF_ANOTHER', /kubectl -n handover-system annotate secret /);
  });

  test('An Authority whose state has no UID and is older than the Authority hides no other', async () => {
    const at = await state();
    const annotations = { 'handover.dev/authority-uid': null };
    await world.kube.patch(secrets, at, { merge: { metadata: { annotations } } });
    expect(await runs('status', 'tenant/mesh')).toMatchObject({ code: 0 });
    await world.kube.delete(RESOURCE_KINDS.Authority, AT);
    // Dates of the API server have whole seconds.
    await world.clock.advance(1_000);
    await world.authority('tenant/mesh');
    await expectNamed('tenant/mesh', 'STATE_OF_ANOTHER', /kubectl -n handover-system annotate secret /);
  });

  test('An Authority whose state is no JSON hides no other', async () => {
    await spoil('{');
    await expectNamed('tenant/mesh', 'STATE_UNREADABLE', /restore it from a backup/);
  });

  test('An Authority whose state lacks the key hides no other', async () => {
    await world.kube.patch(secrets, await state(), { merge: { data: { 'authority.json': null } } });
    await expectNamed('tenant/mesh', 'STATE_UNREADABLE', /lacks the key authority\.json/);
  });

  test('An Authority with a CA to adopt that cannot be used hides no other', async () => {
    await world.kube.delete(RESOURCE_KINDS.Authority, AT);
    await world.kube.delete(secrets, await state());
    const made = await world.kube.get(secrets, { namespace: 'shop', name: 'web' });
    await world.kube.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'tenant', name: 'theirs' },
      // A CA beside a key of another certificate.
      data: { 'tls.crt': made?.data?.['ca.crt'] ?? '', 'tls.key': made?.data?.['tls.key'] ?? '' },
    });
    await world.authority('tenant/mesh', {
      adopt: { secret: 'theirs' },
      bundle: { configMapName: 'another' },
    });
    await expectNamed('tenant/mesh', 'ADOPT_REFUSED', /tls\.key is not the key of the CA/);
  });
});

describe('An Authority that is invalid', () => {
  beforeEach(async () => {
    await world.authority('default/oldy', { rotation: { settle: '3m' } });
  });

  test('An invalid Authority is named by every read-only command, with the reason', async () => {
    await expectNamed(
      'default/oldy',
      'RESOURCE_INVALID',
      /spec\.rotation\.settle: is now called reloadWithin/,
    );
  });

  test('An invalid Authority is not reported as missing, by commands that work on it and Leaves that name it', async () => {
    const says =
      /^RESOURCE_INVALID: Authority default\/oldy exists, but it is invalid: spec\.rotation\.settle: is now called reloadWithin; .*; correct it first/;
    for (const args of [['rotate'], ['distrust', '--generation', '1', '--yes']]) {
      const [command = '', ...more] = args;
      expect(await runs(command, 'default/oldy', ...more)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(says),
      });
    }
    for (const command of ['rotate', 'status'])
      expect((await runs(command, 'default/none')).stderr).toMatch(/^AUTHORITY_UNKNOWN: there is no /);
    await world.leaf('default/web', 'oldy');
    await soon(async () =>
      expect(await readyOf('Leaf', 'default', 'web')).toMatchObject({
        status: 'False',
        message: expect.stringContaining('Authority default/oldy is invalid'),
      }),
    );
    await world.kube.create(apiServices, {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1.example.com', annotations: { 'handover.dev/inject-ca-from': 'default/oldy' } },
      spec: { group: 'example.com', version: 'v1', service: { namespace: 'default', name: 'api' } },
    } as KubeObject);
    await soon(() => expect(operator.said()).toContain('Authority \\"default/oldy\\" is invalid'));
    expect((await runs('status')).stdout).toContain(
      'Leaf default/web: spec.authority oldy is invalid, so that no certificate is issued',
    );
  });

  test('An invalid Authority has objects that no command advises to remove', async () => {
    const settle = { rotation: { settle: '3m' } };
    await world.kube.patch(
      RESOURCE_KINDS.Authority,
      { namespace: 'shop', name: 'mesh' },
      { merge: { spec: settle } },
    );
    for (const command of ['status', 'verify']) {
      const { stdout } = await runs(command);
      expect(stdout).toMatch(/^Authority shop\/mesh: RESOURCE_INVALID: /m);
      expect(stdout).not.toContain('remove it');
    }
    await world.kube.delete(RESOURCE_KINDS.Authority, { namespace: 'shop', name: 'mesh' });
    expect((await runs('verify')).stdout).toMatch(
      /^shop\/configmaps\/mesh-trust\/ca\.crt: .* remove it once/m,
    );
  });

  test('A Leaf that is invalid is named too', async () => {
    await world.kube.delete(RESOURCE_KINDS.Authority, { namespace: 'default', name: 'oldy' });
    await world.ask('Leaf', 'shop/bad', { authority: 'mesh', dnsName: 'x' });
    for (const command of ['status', 'verify', 'plan'])
      expect(await runs(command)).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/^Leaf shop\/bad: RESOURCE_INVALID: spec\.dnsName: unknown field; /m),
      });
    expect(await runs('check')).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/^HANDOVER CRITICAL - Leaf shop\/bad: RESOURCE_INVALID: /),
    });
  });
});

test('A rotation that is requested during another says which one comes first', async () => {
  const rotation = (fields: object) =>
    world.kube.patch(
      RESOURCE_KINDS.Authority,
      { namespace: 'shop', name: 'mesh' },
      { merge: { spec: { rotation: fields } } },
    );
  await rotation({ reloadWithin: '1h' });
  await runs('rotate', 'shop/mesh', '--id', 'x1');
  await soon(async () => expect((await runs('status')).stdout).toMatch(/^shop\/mesh {2}(?!Stable)\w+/));
  await rotation({ paused: true });
  expect((await runs('rotate', 'shop/mesh', '--id', 'x1')).stdout).toMatch(
    /^rotation x1 of shop\/mesh is [A-Z]\w+; the operator is carrying it out\n$/,
  );
  expect(await runs('rotate', 'shop/mesh', '--id', 'x2')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^rotation x2 of shop\/mesh has been requested; rotation x1 comes first and is [A-Z]\w+; the operator is carrying it out\n$/,
    ),
  });
  expect(JSON.parse((await runs('rotate', 'shop/mesh', '--id', 'x2', '--json')).stdout)).toMatchObject({
    begun: false,
    after: 'x1',
  });
});
