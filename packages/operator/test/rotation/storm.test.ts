import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { isWrite } from '../cluster/relay.ts';
import { resource, until } from '../cluster/stage.ts';
import { ForeignCa } from './foreign-ca.ts';
import { secretOf } from './looks.ts';
import { AUTHORITY, fields, leaf, MEMBERS, NAMESPACE, services, trustBundle } from './mesh.ts';
import { LONG, MeshStage, say } from './mesh-stage.ts';
import { type RotationStage, setRotationStage } from './stage.ts';
import { Storms } from './storms.ts';
import { MOMENTS } from './strikes.ts';

// One mesh runs through all tests below under load.
let stage: RotationStage;
let mesh: MeshStage;
let storms: Storms;

const said = (name: string, event: string): boolean =>
  storms.operators
    .get(name)
    ?.log()
    .some((line) => line.event === event) === true;

beforeAll(async () => {
  stage = await setRotationStage();
  storms = await Storms.over(stage);
  storms.startOperator();
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
  await storms.watch();
}, LONG);
afterAll(async () => {
  await (mesh ?? stage)?.stop();
  await storms?.stop();
});

beforeEach(() => storms.calm(mesh));
afterEach(() => storms.strikes.plan([], async () => 'goes on'));

test('when an operator is killed at any moment of a rotation, another continues, and no handshake fails', async () => {
  const { lastGeneration } = storms.moves.state;
  const killed = new Set<string>();
  storms.strikes.plan(MOMENTS, async (_, by) => {
    storms.operators.get(by)?.signal('SIGKILL');
    killed.add(by);
    storms.startOperator();
    return 'is lost';
  });
  const traffic = await mesh.during('operator killed at every moment', async () => {
    await mesh.ask('kills');
    await storms.ended(mesh, 'kills');
  });
  say(`  ${storms.strikes.struck.length} kills: ${storms.strikes.struck.join(', ')}`);
  storms.nothingFailed(traffic);
  expect([...storms.strikes.struck].sort()).toEqual([...MOMENTS].sort());
  expect(killed.size).toBe(MOMENTS.length);
  expect(storms.moves.state.lastGeneration).toBe(lastGeneration + 1);
  await storms.expectRestarts(1);
});

test('when the API server is killed in each phase, the rotation and all its webhooks and APIs continue', () =>
  storms.killApiServer(mesh));

test('rotations requested at once, twice, or during others happen once each, one at a time', async () => {
  const { lastGeneration, ids } = storms.moves.state;
  const spec = (rotation: object): object => resource('Authority', 'mesh', { rotation }, NAMESPACE);
  const traffic = await mesh.during('overlapping requests', async () => {
    // Two terminals, one id; then other ids, while that rotation is in progress.
    await Promise.all([mesh.ask('first'), mesh.ask('first')]);
    await until(async () => storms.moves.state.ids.includes('first'), 'the first to begin', LONG);
    await Promise.all([mesh.ask('second'), mesh.ask('third'), mesh.ask('first')]);
    const [hot] = MEMBERS;
    if (hot !== undefined) {
      const more = leaf(hot) as { spec: { dnsNames: readonly string[] } };
      const dnsNames = [...more.spec.dnsNames, 'hot.example'];
      await stage.cluster.apply({ ...more, spec: { ...more.spec, dnsNames } });
    }
    await until(async () => storms.moves.state.ids.length === ids.length + 2, 'the next to begin', LONG);
    // Ended by now, and requested once more.
    await mesh.ask('first');
    // The last rotation is held before its CA signs, and that CA is distrusted.
    await until(async () => storms.moves.state.ids.length === ids.length + 3, 'the last to begin', LONG);
    await stage.cluster.apply(spec({ paused: true }));
    const next = storms.moves.state.generations.find(({ role }) => role === 'next');
    const wish = ['--generation', String(next?.number), '--yes', '--home', 'kube'];
    expect(await stage.handover('distrust', AUTHORITY, ...wish)).toContain('no connection would fail');
    await stage.cluster.apply(spec({ paused: false }));
    await storms.ended(mesh, 'first', 'second', 'third');
  });
  storms.nothingFailed(traffic);
  expect(storms.moves.state.lastGeneration).toBe(lastGeneration + 3);
  expect(storms.moves.state.generations.map(({ number }) => number)).toEqual([lastGeneration + 2]);
  expect([...storms.moves.state.ids.slice(ids.length)].sort()).toEqual(['first', 'second', 'third']);
  // Two for the activated CA generations, and one for the distrusted one.
  await storms.expectRestarts(3);
});

test('an operator that was stopped while another took over changes nothing when it resumes', async () => {
  const { lastGeneration } = storms.moves.state;
  let still = '';
  let [goOn, sentBefore] = [(): void => {}, 0];
  const untilGoesOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  storms.strikes.plan(['write in Introducing landed'], async (_, by) => {
    storms.operators.get(by)?.signal('SIGSTOP');
    still = by;
    storms.startOperator();
    await untilGoesOn;
    return 'goes on';
  });
  // Some requests of an earlier storm were never answered.
  const before = storms.relay.log.length;
  const writesOfIts = () =>
    storms.relay.log.slice(before).filter((passed) => passed.by === still && isWrite(passed));
  const traffic = await mesh.during('operator paused for longer than its lease', async () => {
    await mesh.ask('paused');
    await storms.ended(mesh, 'paused');
    // Writes still on their way: the old leaf, and its bundle.
    const late = writesOfIts().filter(({ status }) => status === 0);
    expect(late.length).toBeGreaterThan(0);
    sentBefore = writesOfIts().length;
    goOn();
    await until(async () => late.every(({ status }) => status !== 0), 'its late writes to be answered', LONG);
    say(`  late writes: ${late.map(({ path, status }) => `${path.split('/').at(-1)} ${status}`).join(', ')}`);
    expect(new Set(late.map(({ status }) => status))).toEqual(new Set([409]));
    storms.operators.get(still)?.signal('SIGCONT');
    await until(async () => said(still, 'no longer leads'), 'it to notice', LONG);
  });
  storms.nothingFailed(traffic);
  expect(writesOfIts().slice(sentBefore)).toEqual([]);
  expect(storms.moves.isOver('paused')).toBe(true);
  expect(storms.moves.state.lastGeneration).toBe(lastGeneration + 1);
  await storms.expectRestarts(1);
});
