// S0: one server that manages its own caBundle, on a real API server, without custom resources.
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import type { ControllerEvent } from '@handover/engine';
import { apiServices, configMaps, type Kube, secrets } from '@handover/kube';
import { Operator, type OperatorOptions, serveHealth } from '@handover/operator';
import { boundOf, mustTakeAtMost } from '@handover/test-api-server';
import { type Cluster, makeCa, startCluster } from '@handover/test-cluster';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  API,
  caBundle,
  declarations,
  FIELD_NAMES,
  FIELDS,
  type FieldName,
  installPackaging,
  NAMESPACE,
  OLD_POD,
  PLACEHOLDER,
  spoil,
} from './packaging.ts';
import { type Fate, isWrite, Relay } from './relay.ts';
import { connectTo, until } from './stage.ts';

const NEVER = 3_600_000;
const anotherCa = (): string =>
  Buffer.from(makeCa(join(cluster.directory, 'another'), 'ca', 'another').pem).toString('base64');
let cluster: Cluster;
let kube: Kube;
let relay: Relay;
const end = new AbortController();

beforeAll(async () => {
  cluster = await startCluster();
  kube = connectTo(cluster, end.signal);
  relay = await Relay.start(cluster);
  await installPackaging(cluster, 1);
});
afterAll(async () => {
  await Promise.all(running.map((one) => one.stop()));
  end.abort();
  await relay.stop();
  await cluster.stop();
});

interface Started {
  readonly operator: Operator;
  readonly events: ControllerEvent[];
  stop(): Promise<void>;
}
const running: Started[] = [];

const start = (options: Partial<OperatorOptions> = {}): Started => {
  const stop = new AbortController();
  const close = new AbortController();
  const events: ControllerEvent[] = [];
  const operator = new Operator({
    kube: relay.connect(close.signal),
    namespace: NAMESPACE,
    identity: `one-${running.length}`,
    scope: { declarations: declarations(FIELD_NAMES) },
    on: (event) => events.push(event),
    ...options,
  });
  const ended = operator.run(stop.signal).finally(() => close.abort());
  const started = {
    operator,
    events,
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
  running.push(started);
  return started;
};

const isReady = ({ operator }: Started): Promise<true> =>
  until(async () => operator.waitingFor().length === 0 && true, 'ready', 120_000);

/** Waits until no write has passed the relay for a while. */
const settled = async (): Promise<void> => {
  for (let seen = -1; seen !== relay.writes().length; ) {
    seen = relay.writes().length;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  }
};
const kinds = ({ events }: Started, kind: ControllerEvent['kind']): number =>
  events.filter((event) => event.kind === kind).length;

afterEach(async () => {
  relay.fate = () => 'pass';
  for (const one of running.splice(0)) await one.stop();
});

const pathOf = (kind: FieldName): string => {
  const { group, version, plural } = FIELDS[kind].kind;
  return `/apis/${group}/${version}/${plural}/${FIELDS[kind].name}`;
};
const on =
  (method: string, kind: FieldName, fate: Fate): Relay['fate'] =>
  (request) =>
    request.method === method && request.path === pathOf(kind) ? fate : 'pass';

test('S0.1 a synced bundle and ten resyncs: reads, no write, no repair reported', async () => {
  const one = start({ resync: 1_000 });
  await isReady(one);
  await settled();
  const since = relay.log.length;
  const looks = (): number =>
    relay.log.slice(since).filter(({ method, path }) => method === 'GET' && path === pathOf('APIService'))
      .length;
  await until(async () => looks() >= 10, 'ten looks');
  expect(relay.writes(since)).toEqual([]);
  expect(kinds(one, 'repaired')).toBe(0);
  expect(kinds(one, 'failed')).toBe(0);
});

test('75 s without changes, with the default resync: no write', async () => {
  const one = start();
  await isReady(one);
  await settled();
  const since = relay.log.length;
  await new Promise((resolve) => setTimeout(resolve, 75_000));
  const looks = relay.log
    .slice(since)
    .filter(({ method, path }) => method === 'GET' && path === pathOf('APIService'));
  expect(looks.length).toBeGreaterThanOrEqual(1);
  expect(kinds(one, 'rested')).toBeGreaterThanOrEqual(3);
  expect(relay.writes(since)).toEqual([]);
}, 300_000);

/** The same for each kind; S0.2 and S0.3 are about the APIService. */
const DRIFTS: readonly (readonly [name: string, elsewhere: string, value: string | undefined])[] = [
  ['S0.2 the CA of another issuer', 'S0.13 the CA of another issuer', 'another'],
  ['S0.2 the CA of an old pod', 'S0.13 the CA of an old pod', OLD_POD],
  ['S0.3 an empty line', 'S0.13 an empty line', PLACEHOLDER],
  ['S0.3 nothing at all', 'S0.13 nothing at all', undefined],
  ['S0.3 an empty text', 'S0.13 an empty text', ''],
];

describe('within 10 s a watch notices drift, and exactly one write repairs it, unless the API server refuses the drift', () => {
  for (const kind of FIELD_NAMES) {
    for (const [name, elsewhere, value] of DRIFTS) {
      const what = kind === 'APIService' ? name : elsewhere;
      test(`${what} in ${kind}`, async () => {
        // No resync could do it within this test.
        const one = start({ resync: NEVER });
        await isReady(one);
        await settled();
        const right = await caBundle(kube, kind);
        expect(right ?? '').toMatch(/^LS0t/);
        const since = relay.log.length;
        const began = performance.now();
        const refused = await spoil(kube, kind, value === 'another' ? anotherCa() : value).then(
          () => false,
          (error: unknown) => {
            // What the API server itself refuses cannot drift.
            expect(error).toMatchObject({ code: 'KUBE_INVALID' });
            return true;
          },
        );
        await until(async () => (await caBundle(kube, kind)) === right, 'the repair', boundOf('S0.2'));
        const ms = performance.now() - began;
        // What the API server refuses was never there to be put right.
        if (kind === 'APIService') mustTakeAtMost(name.startsWith('S0.3') ? 'S0.3' : 'S0.2', ms);
        console.log(`${what} in ${kind}: ${refused ? 'refused' : `put right after ${Math.round(ms)} ms`}`);
        // Longer than a status or a second try would take.
        await settled();
        expect(relay.writes(since).map(({ method, path, status }) => [method, path, status])).toEqual(
          refused ? [] : [['PATCH', pathOf(kind), 200]],
        );
        expect(kinds(one, 'repaired')).toBe(refused ? 0 : 1);
        // An APIService takes them all: there the scenario is never vacuous.
        if (kind === 'APIService') expect(refused).toBe(false);
      });
    }
  }
});

test('S0.4 three conflicts: read again after each, then written', async () => {
  const one = start({ resync: NEVER });
  await isReady(one);
  await settled();
  const right = await caBundle(kube, 'APIService');
  const since = relay.log.length;
  let conflicts = 3;
  relay.fate = (request) =>
    request.method === 'PATCH' && request.path === pathOf('APIService') && conflicts-- > 0
      ? { status: 409 }
      : 'pass';
  await spoil(kube, 'APIService', OLD_POD);
  await until(async () => (await caBundle(kube, 'APIService')) === right, 'the repair');
  const turns = relay.log
    .slice(since)
    .filter(({ path, query }) => path === pathOf('APIService') && !query.includes('watch'))
    .map(({ method, status }) => `${method} ${status}`);
  expect(turns).toEqual([
    'PATCH 409',
    'GET 200',
    'PATCH 409',
    'GET 200',
    'PATCH 409',
    'GET 200',
    'PATCH 200',
  ]);
  expect(kinds(one, 'failed')).toBe(0);
});

test('S0.4 a permanent conflict: an error, a live process, and another try', async () => {
  const one = start({ resync: NEVER });
  await isReady(one);
  await settled();
  const right = await caBundle(kube, 'APIService');
  relay.fate = on('PATCH', 'APIService', { status: 409 });
  await spoil(kube, 'APIService', OLD_POD);
  const failed = await until(async () => one.events.find((event) => event.kind === 'failed'), 'an error');
  expect(failed).toMatchObject({ what: `Authority ${NAMESPACE}/packaging`, error: { code: 'CONFLICT' } });
  const tries = relay.log.length;
  await until(async () => relay.writes(tries).length >= 2, 'more tries');
  relay.fate = () => 'pass';
  await until(async () => (await caBundle(kube, 'APIService')) === right, 'the repair');
});

test('a silent watch does not hide a drift: the resync finds it', async () => {
  const right = await caBundle(kube, 'APIService');
  relay.fate = ({ watch, path }) => (watch && path.includes('/apiservices') ? 'mute' : 'pass');
  // Its informer falls back to a list, and then watches a stream that stays silent.
  const one = start({ resync: 2_000 });
  await until(async () => one.operator.waitingFor().length === 0, 'ready', 120_000);
  await settled();
  const since = relay.log.length;
  await spoil(kube, 'APIService', OLD_POD);
  await until(async () => (await caBundle(kube, 'APIService')) === right, 'the repair');
  expect(relay.writes(since).filter(({ path }) => path === pathOf('APIService'))).toHaveLength(1);
}, 300_000);

test('S0.6 not ready before the first sync, ready after it', async () => {
  let open: () => void = () => {};
  const hold = new Promise<void>((resolve) => {
    open = resolve;
  });
  relay.fate = ({ path }) => (path.includes('/apiservices') ? { hold } : 'pass');
  const since = relay.log.length;
  const one = start();
  const health = await serveHealth({
    host: '127.0.0.1',
    port: 0,
    waitingFor: () => one.operator.waitingFor(),
  });
  const ask = async (page: string): Promise<readonly [number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${health.port}${page}`);
    return [answer.status, await answer.text()];
  };
  await until(
    async () => relay.log.slice(since).some(({ path }) => path.includes('/apiservices')),
    'the first sync',
  );
  expect(await ask('/readyz')).toEqual([503, expect.stringContaining('caches are not synced')]);
  expect(await ask('/livez')).toEqual([200, 'ok\n']);
  open();
  await until(async () => (await ask('/readyz'))[0] === 200, 'ready');
  expect(await caBundle(kube, 'APIService')).toMatch(/^LS0t/);
  await health.close();
});

test('S0.6 from an empty cluster: not ready while the field still holds another CA', async () => {
  for (const { metadata } of (await kube.list(secrets, { namespace: NAMESPACE })).items)
    await kube.delete(secrets, { namespace: NAMESPACE, name: metadata.name ?? '' });
  // The operator would ask about a leftover bundle: its CA may still be in use.
  for (const { metadata } of (await kube.list(configMaps, { namespace: NAMESPACE })).items)
    if (metadata.labels?.['handover.dev/managed'] === 'true')
      await kube.delete(configMaps, { namespace: NAMESPACE, name: metadata.name ?? '' });
  const before = await caBundle(kube, 'APIService');
  let open: () => void = () => {};
  const hold = new Promise<void>((resolve) => {
    open = resolve;
  });
  const isRepair = (request: { method: string; path: string }): boolean =>
    isWrite(request) && request.path.includes('/apiservices');
  relay.fate = (request) => (isRepair(request) ? { hold } : 'pass');
  const since = relay.log.length;
  const one = start();
  await until(async () => relay.log.slice(since).some(isRepair), 'the write that is held up');
  expect(one.operator.waitingFor()).toEqual([expect.stringContaining('is not reconciled yet')]);
  open();
  await isReady(one);
  const after = await caBundle(kube, 'APIService');
  expect(after).toMatch(/^LS0t/);
  expect(after).not.toBe(before);
});

test('S0.9 after the signal nothing is written, not even a planned write, and the process ends at once', async () => {
  const one = start({ resync: 100 });
  await isReady(one);
  await settled();
  let release: () => void = () => {};
  const hold = new Promise<void>((resolve) => {
    release = resolve;
  });
  // In the middle of a repair: one write is on its way, the drifts of the other fields are still to come.
  relay.fate = on('PATCH', 'APIService', { hold });
  const held = relay.log.length;
  await spoil(kube, 'APIService', OLD_POD);
  await until(async () => relay.writes(held).length === 1, 'a write on its way');
  await spoil(kube, 'ValidatingWebhookConfiguration', OLD_POD);
  await spoil(kube, 'MutatingWebhookConfiguration', OLD_POD);
  const since = relay.log.length;
  const began = performance.now();
  await one.stop();
  const ms = performance.now() - began;
  console.log(`ended ${Math.round(ms)} ms after the signal, with a write that hung`);
  mustTakeAtMost('S0.9', ms);
  release();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(relay.writes(since)).toEqual([]);
});

test('S0.11 a pair that expired while no operator ran is replaced at boot', async () => {
  const given = () =>
    declarations(['APIService'], {
      authority: 'lifetime: 1m, rotation: {reloadWithin: 1s, at: 95%}, bundle: {configMapName: short}',
      leaf: 'lifetime: 10s\n  secretName: short',
    });
  await kube.delete(secrets, { namespace: NAMESPACE, name: await stateName() });
  const first = start({ scope: { declarations: given() } });
  await until(
    async () => (await kube.get(secrets, { namespace: NAMESPACE, name: 'short' })) !== undefined,
    'the pair',
  );
  await isReady(first);
  await first.stop();
  const pair = async (): Promise<readonly [X509Certificate, X509Certificate]> => {
    const { data = {} } = (await kube.get(secrets, { namespace: NAMESPACE, name: 'short' })) ?? {};
    const certificate = (name: string): X509Certificate =>
      new X509Certificate(Buffer.from(data[name] ?? '', 'base64'));
    return [certificate('tls.crt'), certificate('ca.crt')];
  };
  const [oldLeaf, oldCa] = await pair();
  const end = Date.parse(oldCa.validTo);
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, end - Date.now()) + 1_500));
  expect(Date.parse(oldLeaf.validTo)).toBeLessThan(Date.now());
  start({ scope: { declarations: given() } });
  const [leaf, ca] = await until(async () => {
    const found = await pair();
    return Date.parse(found[0].validTo) > Date.now() && found;
  }, 'a new pair');
  expect(leaf.fingerprint256).not.toBe(oldLeaf.fingerprint256);
  expect(leaf.checkIssued(ca)).toBe(true);
  expect(Date.parse(ca.validTo)).toBeGreaterThan(Date.now());
  const held = Buffer.from((await caBundle(kube, 'APIService')) ?? '', 'base64').toString('utf8');
  expect(held).toContain(ca.toString().trim());
}, 300_000);

const stateName = async (): Promise<string> => {
  const { items } = await kube.list(secrets, {
    namespace: NAMESPACE,
    labelSelector: 'handover.dev/authority-state=true',
  });
  return items[0]?.metadata.name ?? '';
};

test("S0.12 another manager's edits of a neighbouring field survive, every one of them", async () => {
  const one = start({ resync: NEVER });
  await isReady(one);
  const right = await caBundle(kube, 'APIService');
  const priority = async (): Promise<unknown> =>
    ((await kube.get(apiServices, { name: API })) as { spec?: { versionPriority?: number } } | undefined)
      ?.spec?.versionPriority;
  for (let round = 1; round <= 25; round++) {
    // Each round uses another manager: this tests concurrent edits, not a fight.
    await Promise.all([
      spoil(kube, 'APIService', OLD_POD, `hands-${round}`),
      kube.patch(
        apiServices,
        { name: API },
        { merge: { spec: { versionPriority: round } }, fieldManager: 'tuner' },
      ),
    ]);
    await until(async () => (await caBundle(kube, 'APIService')) === right, `repair ${round}`);
    expect(await priority()).toBe(round);
  }
});
