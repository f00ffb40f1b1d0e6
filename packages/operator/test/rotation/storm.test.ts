import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { isWrite, Relay } from '../cluster/relay.ts';
import { resource, until } from '../cluster/stage.ts';
import { ForeignCa } from './foreign-ca.ts';
import { revisionOf, secretOf } from './looks.ts';
import { AUTHORITY, fields, leaf, MEMBERS, NAMESPACE, services, trustBundle } from './mesh.ts';
import { LONG, MeshStage, RESTART_ONLY, say, type Traffic } from './mesh-stage.ts';
import { Moves } from './moves.ts';
import { type RotationStage, type RunningOperator, setRotationStage } from './stage.ts';
import { MOMENTS, Strikes } from './strikes.ts';

// One mesh runs through all tests below under load. Every operator reaches the API server through a relay, which sees each write in
// advance: so it strikes in the middle of a step because of what the operator did, not because of the time.
let stage: RotationStage;
let mesh: MeshStage;
let relay: Relay;
let relayPort: number;
let strikes: Strikes;
let moves: Moves;
const end = new AbortController();
const operators = new Map<string, RunningOperator>();

/** An operator with its own name, by which the relay knows it, and the rights of its installation. */
const startOperator = (): string => {
  const name = `operator-${operators.size + 1}`;
  const kubeconfig = join(stage.cluster.directory, `${name}.kubeconfig`);
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:handover-system', 'system:authenticated'];
  const as = { as: 'system:serviceaccount:handover-system:handover', 'as-groups': groups };
  const server = `http://${stage.cluster.node.address}:${relayPort}`;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user: { token: name, ...as } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const ports = ['--health-address', '127.0.0.1:0', '--dashboard-address', '127.0.0.1:0'];
  const operator = stage.startOperator('--kubeconfig', kubeconfig, '--log-level', 'debug', ...ports);
  operators.set(name, operator);
  strikes.follow(name, operator);
  return name;
};
const said = (name: string, event: string): boolean =>
  operators
    .get(name)
    ?.log()
    .some((line) => line.event === event) === true;

beforeAll(async () => {
  stage = await setRotationStage();
  relay = await Relay.start(stage.cluster);
  relayPort = Number(new URL(relay.url).port);
  await stage.cluster.node.expose(relayPort);
  strikes = new Strikes(relay);
  startOperator();
  await stage.cluster.kubectl('create', 'namespace', NAMESPACE);
  const unknown = await ForeignCa.named('unknown');
  await stage.cluster.apply(
    ...services(),
    ...fields(Buffer.from(unknown.pem).toString('base64')),
    resource('Authority', 'mesh', {}, NAMESPACE),
    ...MEMBERS.map((member) => leaf(member)),
    trustBundle(),
  );
  for (const { name } of MEMBERS)
    await until(async () => (await secretOf(stage.kube, name)).cert !== '', `Secret ${name}`, LONG);
  // On a busy machine Services forget a pod late.
  mesh = new MeshStage(stage, { linger: 5 });
  await mesh.start();
  moves = new Moves(stage.kube);
  await moves.start(end.signal);
}, LONG);
afterAll(async () => {
  end.abort();
  await (mesh ?? stage)?.stop();
  await relay?.stop();
});

let rolled: ReadonlyMap<string, number>;
const revisions = async (): Promise<ReadonlyMap<string, number>> =>
  new Map(
    await Promise.all(MEMBERS.map(async ({ name }) => [name, await revisionOf(stage.kube, name)] as const)),
  );
/** How often each was rolled out since this test began. */
const rollouts = async (): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries([...(await revisions())].map(([name, is]) => [name, is - (rolled.get(name) ?? 0)]));
const each = (times: number): Readonly<Record<string, number>> =>
  Object.fromEntries(MEMBERS.map(({ name }) => [name, RESTART_ONLY.includes(name) ? times : 0]));

beforeEach(async () => {
  await mesh.settled();
  rolled = await revisions();
  await until(async () => moves.isOver(), 'rest', LONG);
});
afterEach(() => strikes.plan([], async () => 'goes on'));

const ended = async (...ids: readonly string[]): Promise<void> => {
  await until(async () => moves.isOver(...ids), `the end of ${ids.join(', ')}`, LONG);
  await until(async () => (await mesh.status()).phase === 'Stable', 'Stable', LONG);
};
const nothingFailed = (traffic: Traffic): void => {
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
  expect(moves.backwards).toEqual([]);
};

test('when an operator is killed at any moment of a rotation, another continues, and no handshake fails', async () => {
  const { lastGeneration } = moves.state;
  const killed = new Set<string>();
  strikes.plan(MOMENTS, async (_, by) => {
    operators.get(by)?.signal('SIGKILL');
    killed.add(by);
    startOperator();
    return 'is lost';
  });
  const traffic = await mesh.during('operator killed at every moment', async () => {
    await mesh.ask('kills');
    await ended('kills');
  });
  say(`  ${strikes.struck.length} kills: ${strikes.struck.join(', ')}`);
  nothingFailed(traffic);
  expect([...strikes.struck].sort()).toEqual([...MOMENTS].sort());
  expect(killed.size).toBe(MOMENTS.length);
  expect(moves.state.lastGeneration).toBe(lastGeneration + 1);
  expect(await rollouts()).toEqual(each(1));
});

test('when the API server is killed in each phase, the rotation and all its webhooks and APIs continue', async () => {
  const { lastGeneration } = moves.state;
  const phases = ['Introducing', 'Activating', 'Retiring'].map((phase) => `write in ${phase} landed`);
  const seconds: number[] = [];
  const startAgain = async (): Promise<void> => {
    const from = performance.now();
    await stage.cluster.apiServer.start();
    mesh.calls.up();
    seconds.push((performance.now() - from) / 1000);
  };
  strikes.plan(phases, async () => {
    mesh.calls.down();
    await stage.cluster.apiServer.stop('SIGKILL');
    void startAgain();
    // The API server is not there yet.
    return 'goes on';
  });
  const { webhook, api, notMade } = mesh.calls.totals();
  const traffic = await mesh.during('API server killed in each phase', async () => {
    await mesh.ask('outages');
    await ended('outages');
  });
  say(`  down for ${seconds.map((one) => one.toFixed(1)).join(', ')} s`);
  nothingFailed(traffic);
  expect(strikes.struck).toEqual(phases);
  expect(seconds.length).toBe(3);
  const after = mesh.calls.totals();
  expect(after.notMade).toBeGreaterThan(notMade);
  expect(after.webhook).toBeGreaterThan(webhook);
  expect(after.api).toBeGreaterThan(api);
  expect(moves.state.lastGeneration).toBe(lastGeneration + 1);
  expect(await rollouts()).toEqual(each(1));
});

test('rotations requested at once, twice, or during others happen once each, one at a time', async () => {
  const { lastGeneration, ids } = moves.state;
  const spec = (rotation: object): object => resource('Authority', 'mesh', { rotation }, NAMESPACE);
  const traffic = await mesh.during('overlapping requests', async () => {
    // Two terminals, one id; then other ids, while that rotation is in progress.
    await Promise.all([mesh.ask('first'), mesh.ask('first')]);
    await until(async () => moves.state.ids.includes('first'), 'the first to begin', LONG);
    await Promise.all([mesh.ask('second'), mesh.ask('third'), mesh.ask('first')]);
    const [hot] = MEMBERS;
    if (hot !== undefined) {
      const more = leaf(hot) as { spec: { dnsNames: readonly string[] } };
      const dnsNames = [...more.spec.dnsNames, 'hot.example'];
      await stage.cluster.apply({ ...more, spec: { ...more.spec, dnsNames } });
    }
    await until(async () => moves.state.ids.length === ids.length + 2, 'the next to begin', LONG);
    // Ended by now, and requested once more.
    await mesh.ask('first');
    // The last rotation is held before its CA signs, and that CA is distrusted.
    await until(async () => moves.state.ids.length === ids.length + 3, 'the last to begin', LONG);
    await stage.cluster.apply(spec({ paused: true }));
    const next = moves.state.generations.find(({ role }) => role === 'next');
    const wish = ['--generation', String(next?.number), '--yes', '--home', 'kube'];
    expect(await stage.handover('distrust', AUTHORITY, ...wish)).toContain('no connection would fail');
    await stage.cluster.apply(spec({ paused: false }));
    await ended('first', 'second', 'third');
  });
  nothingFailed(traffic);
  expect(moves.state.lastGeneration).toBe(lastGeneration + 3);
  expect(moves.state.generations.map(({ number }) => number)).toEqual([lastGeneration + 2]);
  expect([...moves.state.ids.slice(ids.length)].sort()).toEqual(['first', 'second', 'third']);
  // Two for the activated CA generations, and one for the distrusted one.
  expect(await rollouts()).toEqual(each(3));
});

test('an operator that was stopped while another took over changes nothing when it resumes', async () => {
  const { lastGeneration } = moves.state;
  let still = '';
  let [goOn, sentBefore] = [(): void => {}, 0];
  const untilGoesOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  strikes.plan(['write in Introducing landed'], async (_, by) => {
    operators.get(by)?.signal('SIGSTOP');
    still = by;
    startOperator();
    await untilGoesOn;
    return 'goes on';
  });
  // Some requests of an earlier storm were never answered.
  const before = relay.log.length;
  const writesOfIts = () =>
    relay.log.slice(before).filter((passed) => passed.by === still && isWrite(passed));
  const traffic = await mesh.during('operator paused for longer than its lease', async () => {
    await mesh.ask('paused');
    await ended('paused');
    // Writes still on their way: the old leaf, and its bundle.
    const late = writesOfIts().filter(({ status }) => status === 0);
    expect(late.length).toBeGreaterThan(0);
    sentBefore = writesOfIts().length;
    goOn();
    await until(async () => late.every(({ status }) => status !== 0), 'its late writes to be answered', LONG);
    say(`  late writes: ${late.map(({ path, status }) => `${path.split('/').at(-1)} ${status}`).join(', ')}`);
    expect(new Set(late.map(({ status }) => status))).toEqual(new Set([409]));
    operators.get(still)?.signal('SIGCONT');
    await until(async () => said(still, 'no longer leads'), 'it to notice', LONG);
  });
  nothingFailed(traffic);
  expect(writesOfIts().slice(sentBefore)).toEqual([]);
  expect(moves.isOver('paused')).toBe(true);
  expect(moves.state.lastGeneration).toBe(lastGeneration + 1);
  expect(await rollouts()).toEqual(each(1));
});
