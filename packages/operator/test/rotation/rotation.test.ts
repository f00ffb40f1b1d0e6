import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { secrets } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { ForeignCa } from './foreign-ca.ts';
import { bundles, livePods, revisionOf, secretOf } from './looks.ts';
import {
  API,
  fields,
  leaf,
  MEMBERS,
  type Member,
  NAMESPACE,
  services,
  trustBundle,
  WEBHOOK,
} from './mesh.ts';
import { LONG, MeshStage, pause, RESTART_ONLY, say } from './mesh-stage.ts';
import { type RotationStage, type RunningOperator, setRotationStage } from './stage.ts';

// One mesh runs through all tests below, in this order, under load all the time.
let stage: RotationStage;
let mesh: MeshStage;
let operator: RunningOperator;
const HOT = MEMBERS.map(({ name }) => name).filter((name) => !RESTART_ONLY.includes(name));
beforeAll(async () => {
  stage = await setRotationStage();
  await stage.cluster.kubectl('create', 'namespace', NAMESPACE);
  // The state before Handover: Secrets from a CA whose key was not kept.
  const theirs = await ForeignCa.named('another issuer');
  await stage.cluster.apply(
    ...services(),
    ...(await Promise.all(MEMBERS.map(({ name }) => theirs.secret(name)))),
    ...fields(Buffer.from(theirs.pem).toString('base64')),
  );
  mesh = new MeshStage(stage);
  await mesh.start();
}, LONG);
afterAll(async () => {
  await (mesh ?? stage)?.stop();
});

test('before any change the mesh makes at least 100 handshakes a second, in every direction', async () => {
  await pause(5_000);
  const traffic = await mesh.during('at rest', () => pause(10_000));
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  // Each to each, and gRPC.
  expect(stage.collector.totals().directions.size).toBe(MEMBERS.length * (MEMBERS.length - 1) + 1);
  expect(traffic.handshakes / traffic.seconds).toBeGreaterThan(100);
});

test('takes over Secrets made without a kept CA key, and no handshake fails', async () => {
  operator = stage.startOperator();
  const traffic = await mesh.during('takeover', async () => {
    await stage.cluster.apply(
      resource('Authority', 'mesh', { adopt: { secret: MEMBERS[0]?.name } }, NAMESPACE),
      ...MEMBERS.map((member) => leaf(member, { 'handover.dev/adopt': 'true' })),
      trustBundle(),
    );
    await until(
      async () => {
        const { phase, generations } = await mesh.status();
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
    await mesh.settled();
    const { generations } = await mesh.status();
    const old = { fingerprint: generations[0]?.fingerprint ?? '', number: generations[0]?.generation };
    const oldPair = await secretOf(stage.kube, 'hot');
    const revisions = new Map<string, number>();
    for (const { name } of MEMBERS) revisions.set(name, await revisionOf(stage.kube, name));

    const traffic = await mesh.during(`rotation ${n}`, async () =>
      seconds.push(await mesh.rotate(operator, `rotation-${n}`)),
    );
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

    // With an old leaf and no cross-certificate that could help: as a client of every server, and as a server for every client.
    await mesh.settled();
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

    const { consumers } = await mesh.status();
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

test('the same rotation without nudges fails no handshake either, and takes as long as the kubelet', async () => {
  await operator.stop();
  operator = stage.startOperator('--no-nudge');
  let alone = 0;
  const traffic = await mesh.during('rotation without nudges', async () => {
    alone = await mesh.rotate(operator, 'alone');
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
  await stage.cluster.apply(resource('Authority', 'mesh', { rotation: { reloadWithin: '30s' } }, NAMESPACE));
  await until(async () => (await secretOf(stage.kube, 'silent')).cert !== '', 'its Secret');
  await mesh.apply(silent);
  await mesh.settled([...MEMBERS, silent]);
  const [old] = (await mesh.status()).generations;
  const traffic = await mesh.during('rotation that one does not confirm', async () => {
    await mesh.ask('held-up');
    await until(
      async () => {
        const { phase, blockedBy } = await mesh.status();
        const names = new Set(blockedBy.map(({ consumer }) => consumer));
        return phase === 'Activating' && names.size === 1 && names.has('Deployment mesh/silent');
      },
      'only the silent one to be waited for',
      LONG,
    );
    // Longer than reloadWithin: elapsed time does not replace its evidence.
    await pause(45_000);
    const held = await mesh.status();
    expect(new Set(held.blockedBy.map(({ consumer }) => consumer))).toEqual(
      new Set(['Deployment mesh/silent']),
    );
    expect(held.generations.map(({ role }) => role)).toEqual(['current', 'previous']);
    for (const [name, anchors] of await bundles(stage.kube))
      expect([name, anchors.includes(old?.fingerprint ?? '')]).toEqual([name, true]);
    say(`  ${JSON.stringify(held.blockedBy)}`);
    await stage.cluster.kubectl('-n', NAMESPACE, 'rollout', 'restart', 'deployment/silent');
    await until(async () => (await mesh.status()).phase === 'Stable', 'the rotation to end', LONG);
  });
  expect(traffic.failed).toBe(0);
  for (const [name, held] of await bundles(stage.kube))
    expect([name, held.includes(old?.fingerprint ?? '')]).toEqual([name, false]);
});

test('the same traffic fails when everything is replaced at once: the test would have noticed failures', async () => {
  await operator.stop();
  const other = await ForeignCa.named('another');
  const traffic = await mesh.during('everything replaced at once', async () => {
    const caBundle = Buffer.from(other.pem).toString('base64');
    const put = (path: string): string => JSON.stringify([{ op: 'replace', path, value: caBundle }]);
    await Promise.all([
      ...MEMBERS.map(async ({ name }) => {
        const { stringData } = await other.secret(name);
        return stage.kube.patch(secrets, { namespace: NAMESPACE, name }, { merge: { stringData } });
      }),
      stage.cluster.kubectl('patch', 'apiservice', API, '--type=json', '-p', put('/spec/caBundle')),
      stage.cluster.kubectl(
        ...['patch', 'validatingwebhookconfiguration', WEBHOOK, '--type=json', '-p'],
        put('/webhooks/0/clientConfig/caBundle'),
      ),
    ]);
    // As fast as possible by hand: kubelets are nudged, and restart-only workloads restarted.
    await stage.cluster.kubectl('-n', NAMESPACE, 'annotate', 'pods', '--all', 'replaced=now');
    for (const name of RESTART_ONLY)
      await stage.cluster.kubectl('-n', NAMESPACE, 'rollout', 'restart', `deployment/${name}`);
    await pause(30_000);
  });
  expect(traffic.failed).toBeGreaterThan(0);
});
