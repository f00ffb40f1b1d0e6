import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiServices, connect, type Kube, type KubeObject, namespaces, secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { handover, type Ran } from '../../test/capture.ts';
import { goOn, type Live } from '../../test/live.ts';

let root: string;
let server: FakeApiServer;
let end: AbortController;
let kube: Kube;
let operator: Live;

const resource = (kind: 'Authority' | 'Leaf', namespace: string, name: string, spec: object): KubeObject =>
  ({ apiVersion: 'handover.dev/v1alpha1', kind, metadata: { name, namespace }, spec }) as KubeObject;
const authority = (namespace: string, name: string, spec: object = {}): Promise<KubeObject> =>
  kube.create(RESOURCE_KINDS.Authority, resource('Authority', namespace, name, spec));
const leaf = (namespace: string, name: string, of: string): Promise<KubeObject> =>
  kube.create(
    RESOURCE_KINDS.Leaf,
    resource('Leaf', namespace, name, { authority: of, dnsNames: [`${name}.${namespace}.svc`] }),
  );
const soon = <T>(look: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(look, { timeout: 60_000, interval: 50 });
const kubeconfig = (): string => join(root, 'kubeconfig');
const runs = (...args: readonly string[]): Promise<Ran> =>
  handover([
    ...args,
    ...['--home', 'kube', '--kubeconfig', kubeconfig(), '--operator-namespace', 'handover-system'],
  ]);
const readyOf = async (kind: 'Authority' | 'Leaf', namespace: string, name: string) => {
  const { status } = (await kube.get(RESOURCE_KINDS[kind], { namespace, name })) as {
    status?: { conditions?: readonly { type: string; status: string; message?: string }[] };
  };
  return status?.conditions?.find(({ type }) => type === 'Ready');
};
const isReady = (...of: Parameters<typeof readyOf>): Promise<void> =>
  soon(async () => expect(await readyOf(...of)).toMatchObject({ status: 'True' }));

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'handover-unusable-'));
  server = await FakeApiServer.start();
  for (const kind of Object.values(RESOURCE_KINDS)) server.serve(kind);
  end = new AbortController();
  kube = connect(server.config, { signal: end.signal });
  writeFileSync(
    kubeconfig(),
    JSON.stringify({
      clusters: [{ name: 'x', cluster: { server: server.url } }],
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
      users: [{ name: 'x', user: {} }],
      'current-context': 'x',
    }),
  );
  for (const name of ['shop', 'tenant', 'handover-system'])
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await authority('shop', 'mesh');
  await leaf('shop', 'web', 'mesh');
  operator = goOn([
    ...['operator', '--kubeconfig', kubeconfig(), '--namespace', 'handover-system'],
    ...['--health-address', '127.0.0.1:0', '--dashboard-address', '0'],
  ]);
  await isReady('Leaf', 'shop', 'web');
});
afterEach(async () => {
  await operator.stop();
  end.abort();
  await server.stop();
  rmSync(root, { recursive: true, force: true });
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

describe('One Authority that cannot be used hides no other', () => {
  const AT = { namespace: 'tenant', name: 'mesh' };
  beforeEach(async () => {
    await authority('tenant', 'mesh');
    await isReady('Authority', 'tenant', 'mesh');
  });
  const state = async (): Promise<{ readonly namespace: string; readonly name: string }> => {
    const { items } = await kube.list(secrets, { namespace: 'handover-system' });
    const found = items.find(
      ({ metadata }) => metadata.annotations?.['handover.dev/authority'] === 'tenant/mesh',
    );
    return { namespace: 'handover-system', name: found?.metadata.name ?? '' };
  };
  const spoil = async (text: string): Promise<void> => {
    const data = { 'authority.json': Buffer.from(text).toString('base64') };
    await kube.patch(secrets, await state(), { merge: { data } });
  };

  test('its state belongs to the Authority that had its name before', async () => {
    await kube.delete(RESOURCE_KINDS.Authority, AT);
    await authority('tenant', 'mesh');
    await expectNamed('tenant/mesh', 'STATE_OF_ANOTHER', /kubectl -n handover-system annotate secret /);
  });

  test('its state belongs to no Authority by UID, and is older than it', async () => {
    const at = await state();
    const annotations = { 'handover.dev/authority-uid': null };
    await kube.patch(secrets, at, { merge: { metadata: { annotations } } });
    expect(await runs('status', 'tenant/mesh')).toMatchObject({ code: 0 });
    await kube.delete(RESOURCE_KINDS.Authority, AT);
    // Dates of the API server have whole seconds.
    const { metadata } = (await kube.get(secrets, at)) ?? {};
    const made = Date.parse(metadata?.creationTimestamp ?? '');
    await vi.waitUntil(() => Date.now() >= made + 1_000, { timeout: 5_000 });
    await authority('tenant', 'mesh');
    await expectNamed('tenant/mesh', 'STATE_OF_ANOTHER', /kubectl -n handover-system annotate secret /);
  });

  test('its state is no JSON', async () => {
    await spoil('{');
    await expectNamed('tenant/mesh', 'STATE_UNREADABLE', /restore it from a backup/);
  });

  test('its state lacks the key', async () => {
    await kube.patch(secrets, await state(), { merge: { data: { 'authority.json': null } } });
    await expectNamed('tenant/mesh', 'STATE_UNREADABLE', /lacks the key authority\.json/);
  });

  test('the CA that it is to adopt cannot be used', async () => {
    await kube.delete(RESOURCE_KINDS.Authority, AT);
    await kube.delete(secrets, await state());
    const made = await kube.get(secrets, { namespace: 'shop', name: 'web' });
    await kube.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'tenant', name: 'theirs' },
      // A CA beside a key of another certificate.
      data: { 'tls.crt': made?.data?.['ca.crt'] ?? '', 'tls.key': made?.data?.['tls.key'] ?? '' },
    });
    await authority('tenant', 'mesh', {
      adopt: { secret: 'theirs' },
      bundle: { configMapName: 'another' },
    });
    await expectNamed('tenant/mesh', 'ADOPT_REFUSED', /tls\.key is not the key of the CA/);
  });
});

describe('An Authority that is invalid', () => {
  beforeEach(async () => {
    await authority('default', 'oldy', { rotation: { settle: '3m' } });
  });

  test('is named by every command that looks, with the reason', async () => {
    await expectNamed(
      'default/oldy',
      'RESOURCE_INVALID',
      /spec\.rotation\.settle: is now called reloadWithin/,
    );
  });

  test('is no Authority that does not exist, for commands that work on it and Leaves that name it', async () => {
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
    await leaf('default', 'web', 'oldy');
    await soon(async () =>
      expect(await readyOf('Leaf', 'default', 'web')).toMatchObject({
        status: 'False',
        message: expect.stringContaining('Authority default/oldy is invalid'),
      }),
    );
    await kube.create(apiServices, {
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

  test('has objects that no command advises to remove', async () => {
    const settle = { rotation: { settle: '3m' } };
    await kube.patch(
      RESOURCE_KINDS.Authority,
      { namespace: 'shop', name: 'mesh' },
      { merge: { spec: settle } },
    );
    for (const command of ['status', 'verify']) {
      const { stdout } = await runs(command);
      expect(stdout).toMatch(/^Authority shop\/mesh: RESOURCE_INVALID: /m);
      expect(stdout).not.toContain('remove it');
    }
    await kube.delete(RESOURCE_KINDS.Authority, { namespace: 'shop', name: 'mesh' });
    expect((await runs('verify')).stdout).toMatch(
      /^shop\/configmaps\/mesh-trust\/ca\.crt: .* remove it once/m,
    );
  });

  test('a Leaf that is invalid is named too', async () => {
    await kube.delete(RESOURCE_KINDS.Authority, { namespace: 'default', name: 'oldy' });
    await kube.create(
      RESOURCE_KINDS.Leaf,
      resource('Leaf', 'shop', 'bad', { authority: 'mesh', dnsName: 'x' }),
    );
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
    kube.patch(
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
