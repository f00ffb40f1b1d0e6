import type { AddressInfo } from 'node:net';
import { loadavg } from 'node:os';
import { createServer } from 'node:tls';
import type { AuthorityStatus, Status } from '@handover/engine';
import { secrets } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { ApiCalls } from './api-calls.ts';
import { ForeignCa } from './foreign-ca.ts';
import { bundles, isSettled, livePods, revisionOf, secretOf } from './looks.ts';
import {
  API,
  AUTHORITY,
  deployment,
  fields,
  leaf,
  MEMBERS,
  type Member,
  NAMESPACE,
  services,
  trustBundle,
  WEBHOOK,
} from './mesh.ts';
import { type RotationStage, type RunningOperator, setRotationStage } from './stage.ts';

// One mesh lives through everything below, in this order, under load from its first second to its last.
let stage: RotationStage;
let calls: ApiCalls;
let operator: RunningOperator;
/** Calls per second of each of the ten pods. */
const RATE = 11;
const LONG = 900_000;
const RESTART_ONLY = ['frozen', 'once'];
const HOT = MEMBERS.map(({ name }) => name).filter((name) => !RESTART_ONLY.includes(name));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const apply = (...members: readonly Member[]): Promise<void> =>
  stage.cluster.apply(
    ...members.map((member) =>
      deployment(member, { image: stage.image, collector: stage.collectorUrl, rate: RATE }),
    ),
  );

const status = async (): Promise<AuthorityStatus> => {
  const told = await stage.handover('status', AUTHORITY, '--home', 'kube', '--json');
  const [authority] = (JSON.parse(told) as Status).authorities;
  if (authority === undefined) throw new Error('no status');
  return authority;
};

interface Traffic {
  readonly seconds: number;
  readonly handshakes: number;
  readonly failed: number;
  /** Directions in which nothing was called meanwhile. */
  readonly silent: readonly string[];
}

/** What the mesh did meanwhile, said, with every failure. */
const during = async (what: string, work: () => Promise<unknown>): Promise<Traffic> => {
  const [before, apiBefore, from] = [stage.collector.totals(), calls.totals(), performance.now()];
  await work();
  // The last calls come in.
  await pause(3_000);
  const seconds = (performance.now() - from) / 1000;
  const [after, api] = [stage.collector.totals(), calls.totals()];
  const byApi = api.webhook - apiBefore.webhook + (api.api - apiBefore.api);
  const handshakes = after.handshakes - before.handshakes + byApi;
  const apiFailures = api.failures.slice(apiBefore.failures.length);
  const failed = after.failed - before.failed + apiFailures.length;
  say(
    `${what}: ${handshakes} handshakes in ${seconds.toFixed(0)} s (${(handshakes / seconds).toFixed(0)}/s, ${byApi} of them by the API server), ` +
      `${failed} failed, ${after.skipped - before.skipped} left out, load ${loadavg()[0]?.toFixed(0)}`,
  );
  const fresh = after.failures.slice(before.failures.length).slice(0, 10);
  for (const failure of [...fresh, ...apiFailures.slice(0, 5)]) say(`  ${JSON.stringify(failure)}`);
  const silent = [...after.directions].filter(
    ([key, { ok }]) => ok === (before.directions.get(key)?.ok ?? 0),
  );
  return { seconds, handshakes, failed, silent: silent.map(([key]) => key) };
};

/** Asks for a rotation and waits for its end; seconds by the operator's own log, from the first step to Stable. */
const rotate = async (id: string): Promise<number> => {
  const seen = operator.log().length;
  await stage.handover('rotate', AUTHORITY, '--home', 'kube', '--id', id, '--wait', '--timeout', '14m');
  return until(async () => {
    const lines = operator.log().slice(seen);
    const begun = lines.find(
      ({ event, did }) => event === 'acted' && String(did).includes(`rotation ${id} `),
    );
    const ended = lines.findLast(({ event, phase }) => event === 'rests' && phase === 'Stable');
    if (begun === undefined || ended === undefined || ended.at < begun.at) return undefined;
    return (Date.parse(ended.at) - Date.parse(begun.at)) / 1000;
  }, 'the end of the rotation in the log');
};

beforeAll(async () => {
  stage = await setRotationStage();
  await stage.cluster.kubectl('create', 'namespace', NAMESPACE);
  // What was there before Handover: Secrets from a CA whose key nobody has kept.
  const theirs = new ForeignCa('somebody');
  await stage.cluster.apply(
    ...services(),
    ...MEMBERS.map(({ name }) => theirs.secret(name)),
    ...fields(Buffer.from(theirs.pem).toString('base64')),
  );
  await apply(...MEMBERS);
  await until(() => isSettled(stage.kube), 'every pod of the mesh to be ready', LONG);
  calls = new ApiCalls(stage.cluster);
  await until(() => calls.ready(), 'the aggregated API to answer', LONG);
  stage.collector.go();
  calls.start(300);
}, LONG);
afterAll(async () => {
  await calls?.stop();
  await stage?.stop();
});

test('the mesh makes at least 100 handshakes a second, in every direction, before anything is changed', async () => {
  await pause(5_000);
  const traffic = await during('at rest', () => pause(10_000));
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  // Each to each, and gRPC.
  expect(stage.collector.totals().directions.size).toBe(MEMBERS.length * (MEMBERS.length - 1) + 1);
  expect(traffic.handshakes / traffic.seconds).toBeGreaterThan(100);
});

test('takes over Secrets made without a kept CA key, and no handshake fails', async () => {
  operator = stage.startOperator();
  const traffic = await during('takeover', async () => {
    await stage.cluster.apply(
      resource('Authority', 'mesh', {}, NAMESPACE),
      ...MEMBERS.map((member) => leaf(member, { 'handover.dev/adopt': 'true' })),
      trustBundle(),
    );
    await until(
      async () => {
        const { phase, generations } = await status();
        return phase === 'Stable' && generations.length === 1 && generations[0]?.generation === 1;
      },
      'the takeover to end',
      LONG,
    );
  });
  expect(traffic.failed).toBe(0);
});

const seconds: number[] = [];

test.each([1, 2, 3])(
  'rotation %i fails no handshake, restarts the restart-only once, and gets rid of the old CA',
  async (n) => {
    await until(() => isSettled(stage.kube), 'the mesh to be at rest', LONG);
    const { generations } = await status();
    const old = { fingerprint: generations[0]?.fingerprint ?? '', number: generations[0]?.generation };
    const oldPair = await secretOf(stage.kube, 'hot');
    const revisions = new Map<string, number>();
    for (const { name } of MEMBERS) revisions.set(name, await revisionOf(stage.kube, name));

    const traffic = await during(`rotation ${n}`, async () => seconds.push(await rotate(`rotation-${n}`)));
    say(`  from the first step to Stable: ${seconds.at(-1)?.toFixed(1)} s`);
    expect(traffic.failed).toBe(0);
    expect(traffic.silent).toEqual([]);
    expect(traffic.handshakes / traffic.seconds).toBeGreaterThan(100);

    for (const { name } of MEMBERS) {
      const rolled = (await revisionOf(stage.kube, name)) - (revisions.get(name) ?? 0);
      expect([name, rolled]).toEqual([name, RESTART_ONLY.includes(name) ? 1 : 0]);
    }
    for (const [name, held] of await bundles(stage.kube)) {
      expect([name, held.length]).toEqual([name, 1]);
      expect([name, held.includes(old.fingerprint)]).toEqual([name, false]);
    }

    // With an old leaf, and no X that could help it: as a client of every server, and as a server for every client.
    await until(() => isSettled(stage.kube), 'the mesh to be at rest', LONG);
    const live = await livePods(stage.kube);
    const hot = live.filter(({ app }) => HOT.includes(app));
    const frozen = live.filter(({ app }) => RESTART_ONLY.includes(app));
    const targets = [...hot, ...frozen].map(({ app, ip }) => ({ name: app, address: `${ip}:8443` }));
    await until(
      async () => {
        const verdicts = await stage.tryFromInside(targets.slice(0, hot.length), oldPair);
        return verdicts.every((verdict) => !verdict.ok && verdict.kind === 'handshake');
      },
      'every hot server to refuse an old leaf',
      LONG,
    );
    const stillTrusting = await stage.tryFromInside(targets.slice(hot.length), oldPair);
    expect(stillTrusting.map(({ ok }) => ok)).toEqual(frozen.map(() => true));
    const impostor = createServer({ cert: oldPair.cert, key: oldPair.key }, (socket) => {
      socket.on('error', () => {});
      socket.once('data', (data) => socket.end(data));
    });
    impostor.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve));
    const { port } = impostor.address() as AddressInfo;
    await stage.cluster.node.expose(port);
    const there = { name: 'hot', address: `${stage.cluster.node.address}:${port}` };
    const answers = async (): Promise<boolean> =>
      (await stage.tryFromInside([there], oldPair))[0]?.ok === true;
    await until(answers, 'the impostor to be reachable from inside', 120_000);
    const id = `impostor-${n}`;
    stage.collector.ask({ id, ...there });
    const verdictOf = async (pod: string): Promise<string> =>
      until(async () => stage.collector.tried(id, pod), `what ${pod} says to an old leaf`, 120_000);
    for (const { name } of hot) expect(await verdictOf(name)).toMatch(/VERIFY|SELF_SIGNED|ISSUER/);
    for (const { name } of frozen) expect(await verdictOf(name)).toBe('accepted');
    impostor.close();

    const { consumers } = await status();
    const named = new Map(consumers.map(({ name, evidence, remark }) => [name, [evidence, remark]]));
    for (const name of RESTART_ONLY)
      expect(named.get(`Deployment mesh/${name}`)).toEqual([
        'restarted',
        `trusts ${old.number} until restarted`,
      ]);
    expect(named.get('Deployment mesh/hot')).toEqual(['acknowledged', undefined]);
    expect(named.get('Deployment mesh/polling')).toEqual(['probed', undefined]);
    expect(named.get('validatingwebhookconfigurations/mesh-check')).toEqual(['written', undefined]);
  },
);

test('the same rotation without nudges fails none either, and takes as long as the kubelet does', async () => {
  await operator.stop();
  operator = stage.startOperator('--no-nudge');
  let alone = 0;
  const traffic = await during('rotation without nudges', async () => {
    alone = await rotate('alone');
  });
  const nudged = [...seconds].sort((a, b) => a - b)[1] ?? Number.NaN;
  say(
    `  ${alone.toFixed(1)} s without nudges, ${nudged.toFixed(1)} s with (median of 3): ${(alone / nudged).toFixed(1)} times`,
  );
  expect(traffic.failed).toBe(0);
  await operator.stop();
  operator = stage.startOperator();
});

test('a workload that never confirms keeps the old CA, is named, and is freed by a restart', async () => {
  const silent: Member = { name: 'silent', manner: 'frozen', replicas: 1 };
  await stage.cluster.apply(leaf(silent));
  await stage.cluster.apply(resource('Authority', 'mesh', { rotation: { settle: '30s' } }, NAMESPACE));
  await until(async () => (await secretOf(stage.kube, 'silent')).cert !== '', 'its Secret');
  await apply(silent);
  await until(() => isSettled(stage.kube, [...MEMBERS, silent]), 'it to be ready', LONG);
  const [old] = (await status()).generations;
  const traffic = await during('rotation that one does not confirm', async () => {
    await stage.handover('rotate', AUTHORITY, '--home', 'kube', '--id', 'held-up');
    await until(
      async () => {
        const { phase, blockedBy } = await status();
        const names = new Set(blockedBy.map(({ consumer }) => consumer));
        return phase === 'Activating' && names.size === 1 && names.has('Deployment mesh/silent');
      },
      'only the silent one to be waited for',
      LONG,
    );
    // Longer than settle: time does not stand for its word.
    await pause(45_000);
    const held = await status();
    expect(new Set(held.blockedBy.map(({ consumer }) => consumer))).toEqual(
      new Set(['Deployment mesh/silent']),
    );
    expect(held.generations.map(({ role }) => role)).toEqual(['current', 'previous']);
    for (const [name, anchors] of await bundles(stage.kube))
      expect([name, anchors.includes(old?.fingerprint ?? '')]).toEqual([name, true]);
    say(`  ${JSON.stringify(held.blockedBy)}`);
    await stage.cluster.kubectl('-n', NAMESPACE, 'rollout', 'restart', 'deployment/silent');
    await until(async () => (await status()).phase === 'Stable', 'the rotation to end', LONG);
  });
  expect(traffic.failed).toBe(0);
  for (const [name, held] of await bundles(stage.kube))
    expect([name, held.includes(old?.fingerprint ?? '')]).toEqual([name, false]);
});

test('the same traffic fails when everything is replaced at once, so that it would have shown', async () => {
  await operator.stop();
  const other = new ForeignCa('another');
  const traffic = await during('everything replaced at once', async () => {
    const caBundle = Buffer.from(other.pem).toString('base64');
    const put = (path: string): string => JSON.stringify([{ op: 'replace', path, value: caBundle }]);
    await Promise.all([
      ...MEMBERS.map(({ name }) => {
        const { stringData } = other.secret(name);
        return stage.kube.patch(secrets, { namespace: NAMESPACE, name }, { merge: { stringData } });
      }),
      stage.cluster.kubectl('patch', 'apiservice', API, '--type=json', '-p', put('/spec/caBundle')),
      stage.cluster.kubectl(
        ...['patch', 'validatingwebhookconfiguration', WEBHOOK, '--type=json', '-p'],
        put('/webhooks/0/clientConfig/caBundle'),
      ),
    ]);
    // As fast as it can be done by hand: kubelets are nudged, and who needs it is restarted.
    await stage.cluster.kubectl('-n', NAMESPACE, 'annotate', 'pods', '--all', 'replaced=now');
    for (const name of RESTART_ONLY)
      await stage.cluster.kubectl('-n', NAMESPACE, 'rollout', 'restart', `deployment/${name}`);
    await pause(30_000);
  });
  expect(traffic.failed).toBeGreaterThan(0);
});
