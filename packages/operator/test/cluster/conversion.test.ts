// S0.13: a CRD whose objects are stored in one version and read in another, through calls of the API server to our server.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Kube, secrets } from '@handover/kube';
import { embed, type Own } from '@handover/operator';
import { type Cluster, makeCa, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Backend } from './backend.ts';
import { caBundle, FIELDS, installPackaging, NAMESPACE, OLD_POD, spoil } from './packaging.ts';
import { Relay } from './relay.ts';
import { type Answer, type Requests, requestsTo } from './requests.ts';
import { connectTo, until } from './stage.ts';

const KIND = 'CustomResourceDefinition';
const things = (version: string): string =>
  `/apis/packaging.example.com/${version}/namespaces/${NAMESPACE}/things`;

let cluster: Cluster;
let kube: Kube;
let send: Requests;
let close: () => void;
let own: Own;
let relay: Relay;
const backend = new Backend();
const end = new AbortController();

beforeAll(async () => {
  cluster = await startCluster();
  kube = connectTo(cluster, end.signal);
  ({ send, close } = requestsTo(cluster));
  await installPackaging(cluster, await backend.listen());
  relay = await Relay.start(cluster);
  const kubeconfig = join(cluster.directory, 'relay.kubeconfig');
  writeFileSync(kubeconfig, relay.kubeconfig);
  own = await embed(
    {
      authority: { name: 'packaging', namespace: NAMESPACE, rotation: { reloadWithin: '2s' } },
      leaf: { name: 'packaging-api', dnsNames: [`packaging-api.${NAMESPACE}.svc`] },
      inject: [{ kind: KIND, name: FIELDS[KIND].name }],
    },
    { signal: end.signal, kubeconfig, on: () => undefined },
  );
  own.identity.serve(backend.server);
  await own.ready;
  for (const name of ['small', 'large']) {
    const { code, message } = await send('POST', things('v1'), {
      body: {
        apiVersion: 'packaging.example.com/v1',
        kind: 'Thing',
        metadata: { name },
        spec: { size: name === 'small' ? '1 m' : '40 m' },
      },
    });
    expect([code, message]).toEqual([201, '']);
  }
});
afterAll(async () => {
  end.abort();
  await own?.ended;
  await backend.close();
  await relay?.stop();
  close?.();
  await cluster?.stop();
});

const metresIn = ({ body }: Answer): unknown => (body.spec as { metres?: number } | undefined)?.metres;
const readLarge = (): Promise<Answer> => send('GET', `${things('v2')}/large`);

test('S0.13 an object stored as v1 is read, listed and written as v2', async () => {
  await until(async () => (await readLarge()).code === 200, 'the first conversion');
  const before = backend.handshakes;
  expect(metresIn(await readLarge())).toBe(40);
  const { body } = await send('GET', things('v2'));
  expect((body.items as { spec: object }[]).map(({ spec }) => spec)).toEqual([{ metres: 40 }, { metres: 1 }]);
  const added = await send('POST', things('v2'), {
    body: {
      apiVersion: 'packaging.example.com/v2',
      kind: 'Thing',
      metadata: { name: 'middling' },
      spec: { metres: 7 },
    },
  });
  expect(added.code).toBe(201);
  expect((await send('GET', `${things('v1')}/middling`)).body.spec).toEqual({ size: '7 m' });
  expect(backend.handshakes - before).toBeGreaterThanOrEqual(3);
});

test('S0.13 conversions are refused while caBundle holds the CA of an old pod, and work again within seconds', async () => {
  const right = await caBundle(kube, KIND);
  // A certificate of another CA; the API server itself refuses OLD_POD, which is none, in a CRD.
  await expect(spoil(kube, KIND, OLD_POD)).rejects.toMatchObject({ code: 'KUBE_INVALID' });
  const other = Buffer.from(makeCa(join(cluster.directory, 'other'), 'ca', 'other').pem).toString('base64');
  for (const wrong of [other, undefined, other]) {
    // The repair waits, so that the refusal is seen.
    let release = (): void => {};
    const hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    relay.fate = ({ method, path }) =>
      method === 'PATCH' && path.endsWith(`/${FIELDS[KIND].name}`) ? { hold } : 'pass';
    await spoil(kube, KIND, wrong);
    const refused = await until(
      async () => {
        const answer = await readLarge();
        return answer.code !== 200 && answer;
      },
      'a refused conversion',
      10_000,
    );
    expect(refused.message).toMatch(/conversion webhook .* failed: .*certificate/);
    relay.fate = () => 'pass';
    release();
    const began = performance.now();
    await until(async () => (await caBundle(kube, KIND)) === right, 'the repair', 10_000);
    await until(async () => (await readLarge()).code === 200, 'a conversion', 10_000);
    console.log(`converts again after ${Math.round(performance.now() - began)} ms`);
    for (let turn = 0; turn < 20; turn++)
      expect([(await readLarge()).message, metresIn(await readLarge())]).toEqual(['', 40]);
  }
});

const rotate = async (id: string): Promise<void> => {
  const { items } = await kube.list(secrets, {
    namespace: NAMESPACE,
    labelSelector: 'handover.dev/authority-state=true',
  });
  await kube.patch(
    secrets,
    { namespace: NAMESPACE, name: items[0]?.metadata.name ?? '' },
    { merge: { metadata: { annotations: { 'handover.dev/rotate': id } } }, fieldManager: 'test' },
  );
};

const certificates = (bundle: string | undefined): number =>
  Buffer.from(bundle ?? '', 'base64')
    .toString('utf8')
    .split('BEGIN CERTIFICATE').length - 1;

test('S0.13 the CA rotates twice, another manager adds its CA meanwhile, and none of 500 conversions fails', async () => {
  const failures: string[] = [];
  let calls = 0;
  let going = true;
  const load = (async () => {
    while (going) {
      const answer = await readLarge().catch((error: Error) => ({
        code: 0,
        message: error.message,
        body: {},
      }));
      calls++;
      if (answer.code !== 200 || metresIn(answer) !== 40) failures.push(`${answer.code} ${answer.message}`);
    }
  })();
  const before = backend.handshakes;
  const other = Buffer.from(makeCa(join(cluster.directory, 'added'), 'ca', 'added').pem);
  for (const id of ['one', 'two']) {
    const first = await caBundle(kube, KIND);
    await rotate(id);
    await until(async () => certificates(await caBundle(kube, KIND)) === 2, 'both CAs', 120_000);
    const both = Buffer.from((await caBundle(kube, KIND)) ?? '', 'base64');
    await spoil(kube, KIND, Buffer.concat([other, both]).toString('base64'), `adds-${id}`);
    await until(
      async () => {
        const now = await caBundle(kube, KIND);
        return certificates(now) === 1 && now !== first;
      },
      'the new CA alone',
      240_000,
    );
  }
  await until(async () => calls >= 500, '500 conversions', 240_000);
  going = false;
  await load;
  console.log(
    `${calls} reads in v2, ${backend.handshakes - before} handshakes, ${failures.length} failed; 2 rotations`,
  );
  expect(failures).toEqual([]);
  expect(backend.handshakes - before).toBeGreaterThanOrEqual(calls);
}, 900_000);
