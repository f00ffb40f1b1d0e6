import { crds } from '@handover/install';
import {
  connect,
  customResourceDefinitions,
  type Kube,
  type KubeObject,
  namespaces,
  secrets,
} from '@handover/kube';
import { FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RESOURCE_KINDS } from '../resources/kinds.ts';
import { Operator } from './operator.ts';

let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
let ended: Promise<void>;
let passes: number;
beforeEach(async () => {
  server = await FakeApiServer.start();
  end = new AbortController();
  kube = connect(server.config, { signal: new AbortController().signal, rate: false });
  for (const crd of crds()) await kube.create(customResourceDefinitions, crd as unknown as KubeObject);
  for (const name of ['handover-system', 'prod', 'evil'])
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  passes = 0;
  const operator = new Operator({
    kube,
    namespace: 'handover-system',
    identity: 'one',
    on: (event) => {
      if (event.kind === 'rested' && event.authority === 'prod/mesh') passes += 1;
    },
  });
  ended = operator.run(end.signal);
});
afterEach(async () => {
  end.abort();
  await ended;
  await server.stop();
});

const ask = (kind: 'Authority' | 'Leaf', namespace: string, name: string, spec: object): Promise<unknown> =>
  kube.create(RESOURCE_KINDS[kind], {
    apiVersion: 'handover.dev/v1alpha1',
    kind,
    metadata: { namespace, name },
    spec,
  } as KubeObject);
const keystores = (secretNames: readonly string[]): readonly object[] =>
  secretNames.map((name, index) => ({
    name: `o${index}.jks`,
    format: 'jks',
    passwordFrom: { secret: { name } },
  }));
const issued = (namespace: string, name: string): Promise<void> =>
  expect
    .poll(async () => (await kube.get(secrets, { namespace, name }))?.data?.['tls.crt'], { timeout: 15_000 })
    .toBeDefined();
const meshFor = (namespaceSelector: object | undefined): Promise<unknown> =>
  ask('Authority', 'prod', 'mesh', namespaceSelector === undefined ? {} : { issueTo: { namespaceSelector } });
const prodLeaf = async (name: string): Promise<void> => {
  await ask('Leaf', 'prod', name, { authority: 'mesh', dnsNames: [`${name}.prod.svc`] });
  await issued('prod', name);
};
const namedPasswords = (): readonly string[] => [
  ...new Set(
    server.requests.flatMap(({ path, query }) => {
      const name = query.get('fieldSelector') ?? path.split('/').at(-1) ?? '';
      return path.includes('/namespaces/evil/secrets') && name.includes('pw') ? [name] : [];
    }),
  ),
];
/** Writes to a Secret of evil, thirty times a second. */
const churn = async (name: string): Promise<number> => {
  const began = performance.now();
  for (let n = 0; n < 60; n++) {
    const merge = { metadata: { annotations: { n: `${n}` } } };
    await kube.patch(secrets, { namespace: 'evil', name }, { merge, fieldManager: 'evil' });
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  return (performance.now() - began) / 1_000;
};

test('passwords of Leaves that nobody issues are not looked at', async () => {
  await meshFor(undefined);
  for (const [index, authority] of ['nobody', 'prod/mesh', 'prod/nobody'].entries()) {
    const names = Array.from({ length: 16 }, (_, each) => `pw-${index}-${each}`);
    await ask('Leaf', 'evil', `e${index}`, {
      authority,
      dnsNames: ['x.evil.svc'],
      outputs: keystores(names),
    });
  }
  await prodLeaf('web');
  expect(namedPasswords()).toEqual([]);
}, 30_000);

test('passwords that do not come hold up the Leaf that needs them, and no other', async () => {
  server.faults.add({
    when: ({ path, query }) =>
      path.includes('/namespaces/evil/secrets') && (query.get('fieldSelector') ?? '').includes('pw'),
    times: 1_000,
    does: 'hang',
  });
  await meshFor({});
  const outputs = keystores(['pw-a', 'pw-b']);
  await ask('Leaf', 'evil', 'e', { authority: 'prod/mesh', dnsNames: ['x.evil.svc'], outputs });
  await ask('Leaf', 'evil', 'plain', { authority: 'prod/mesh', dnsNames: ['y.evil.svc'] });
  await prodLeaf('web');
  await issued('evil', 'plain');
  expect(namedPasswords()).not.toEqual([]);
  expect(await kube.get(secrets, { namespace: 'evil', name: 'e' })).toBeUndefined();
}, 30_000);

test('writes to objects of another namespace cost an authority a pass a second at most, and none where it refuses the Leaf', async () => {
  await meshFor({});
  await prodLeaf('web');
  const refused = { authority: 'prod/mesh', dnsNames: ['x.prod.svc'], outputs: keystores(['pw']) };
  await ask('Leaf', 'evil', 'refused', { ...refused, secretName: 'pw' });
  await kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'evil', name: 'pw', labels: { 'handover.dev/managed': 'true' } },
  } as KubeObject);
  await prodLeaf('web2');
  const before = passes;
  await churn('pw');
  // The pass that the last Leaf calls for may still be coming.
  expect(passes - before).toBeLessThanOrEqual(3);

  await ask('Leaf', 'evil', 'allowed', { authority: 'prod/mesh', dnsNames: ['x.evil.svc'] });
  await issued('evil', 'allowed');
  const then = passes;
  const seconds = await churn('allowed');
  expect(passes - then).toBeLessThanOrEqual(Math.ceil(seconds) + 3);
  expect(passes).toBeGreaterThan(then);
}, 60_000);

test('a Leaf gets its keystore once its password is there, and another one with another password', async () => {
  await meshFor({});
  const outputs = keystores(['pw']);
  await ask('Leaf', 'evil', 'java', { authority: 'prod/mesh', dnsNames: ['x.evil.svc'], outputs });
  const ready = async (): Promise<string> =>
    JSON.stringify(await kube.get(RESOURCE_KINDS.Leaf, { namespace: 'evil', name: 'java' }));
  await expect
    .poll(ready, { timeout: 10_000 })
    .toContain('Secret evil/pw does not exist; write the password there');
  const keystore = async (): Promise<string | undefined> =>
    (await kube.get(secrets, { namespace: 'evil', name: 'java' }))?.data?.['o0.jks'];
  const password = (text: string) => ({ password: Buffer.from(text).toString('base64') });
  await kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'evil', name: 'pw' },
    data: password('first password'),
  });
  // Sooner than the next look that nothing calls for.
  await expect.poll(keystore, { timeout: 10_000 }).toBeDefined();
  const first = await keystore();
  const merge = { data: password('second password') };
  await kube.patch(secrets, { namespace: 'evil', name: 'pw' }, { merge, fieldManager: 'test' });
  await expect.poll(keystore, { timeout: 10_000 }).not.toBe(first);
}, 40_000);
