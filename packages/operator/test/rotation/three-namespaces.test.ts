// One Authority, workloads in four namespaces. The owner's rotation is complete in its own time; no neighbour is overtaken; what stays trusted is told.
import { configMaps } from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { ForeignCa } from './foreign-ca.ts';
import { secretOf } from './looks.ts';
import {
  fields,
  leaf,
  MEMBERS,
  type Member,
  NAMESPACE,
  NEIGHBOURS,
  namespaceOf,
  services,
  trustBundle,
} from './mesh.ts';
import { LONG, MeshStage, pause, say } from './mesh-stage.ts';
import { type RotationStage, type RunningOperator, setRotationStage } from './stage.ts';

const OWN: readonly Member[] = MEMBERS.filter(({ name }) =>
  ['hot', 'polling', 'once', 'webhook', 'api'].includes(name),
);
const ALL = [...OWN, ...NEIGHBOURS];
/** Seconds; so twice this and cacheLag, after which neighbours used to be overtaken, are 50. */
const RELOAD_WITHIN = 20;

let stage: RotationStage;
let mesh: MeshStage;
let operator: RunningOperator;
/** Seconds of a rotation beside neighbours of which two do not follow. */
let besideStuck = Number.NaN;

beforeAll(async () => {
  stage = await setRotationStage();
  operator = stage.startOperator();
  for (const name of new Set(ALL.map(namespaceOf))) await stage.cluster.kubectl('create', 'namespace', name);
  const before = Buffer.from((await ForeignCa.named('another issuer')).pem).toString('base64');
  await stage.cluster.apply(
    ...services(ALL),
    ...fields(before),
    resource(
      'Authority',
      'mesh',
      { issueTo: { namespaceSelector: {} }, rotation: { reloadWithin: `${RELOAD_WITHIN}s` } },
      NAMESPACE,
    ),
    ...ALL.map((member) => leaf(member)),
    trustBundle(),
  );
  for (const { name, namespace } of ALL)
    await until(
      async () => (await secretOf(stage.kube, name, namespace)).cert !== '',
      `Secret ${name}`,
      LONG,
    );
  mesh = new MeshStage(stage, { members: ALL, rate: 6 });
  await mesh.start();
  // Nothing restarts its pods from now on.
  await stage.cluster.kubectl('rollout', 'pause', 'deployment/pay-stuck', '-n', 'pay');
}, LONG);
afterAll(() => (mesh ?? stage)?.stop());

const roles = async (): Promise<string> =>
  (await mesh.status()).generations.map(({ generation, role }) => `${generation}:${role}`).join(' ');

const trusted = async (): Promise<number> => {
  const found = await stage.kube.get(configMaps, { namespace: NAMESPACE, name: 'mesh-trust' });
  const { 'ca.crt': pem = '' } = (found as { data?: Record<string, string> } | undefined)?.data ?? {};
  return parseCertificates(pem).certificates.length;
};

test(
  'a rotation is complete while workloads of other namespaces show old leaves, overtakes none of them, and drops the old CA when the last has shown a new leaf',
  async () => {
    const traffic = await mesh.during('rotation over four namespaces', async () => {
      besideStuck = await mesh.rotate(operator, 'one');
      say(`  from the first step to Stable: ${besideStuck.toFixed(1)} s; ${await roles()}`);
      // A second look at all that is told, long after the moment at which neighbours used to be overtaken.
      await pause((2 * RELOAD_WITHIN + 10 + 30) * 1_000);
    });
    expect(traffic.failed).toBe(0);
    expect(traffic.silent).toEqual([]);
    expect(await roles()).toBe('2:current 1:retained');
    expect(await trusted()).toBe(2);
    const { generations, notes, phase, blockedBy } = await mesh.status();
    expect([phase, blockedBy]).toEqual(['Stable', []]);
    const retained = generations.find(({ role }) => role === 'retained');
    say(`  ${notes.join('; ')}`);
    expect(retained?.trustedFor).toEqual(
      expect.arrayContaining([
        'Deployment pay/pay-stuck (restart pending)',
        expect.stringMatching(/^Deployment evil\/evil-mute/),
      ]),
    );
    expect(retained?.trustedFor?.join()).not.toContain('pay-hot');
    expect(retained?.trustedFor?.join()).not.toContain('shop-once');

    // The owners do their part: one resumes its Deployment, the other drops the probe that nothing answers.
    const rest = await mesh.during('the neighbours follow', async () => {
      await stage.cluster.kubectl('rollout', 'resume', 'deployment/pay-stuck', '-n', 'pay');
      await stage.cluster.kubectl('rollout', 'restart', 'deployment/pay-stuck', '-n', 'pay');
      await stage.cluster.kubectl(
        ...['patch', 'deployment/evil-mute', '-n', 'evil', '--type=merge', '-p'],
        '{"spec":{"template":{"metadata":{"annotations":{"handover.dev/probe":null,"handover.dev/reload":"restart"}}}}}',
      );
      await until(async () => (await roles()) === '2:current', 'the old CA to be dropped', 300_000);
      await pause(20_000);
    });
    expect(rest.failed).toBe(0);
    expect(rest.silent).toEqual([]);
    expect(await trusted()).toBe(1);
  },
  LONG,
);

test(
  'the owner’s rotation takes no longer with neighbours than without them',
  async () => {
    let beside = Number.NaN;
    const traffic = await mesh.during('rotation beside neighbours', async () => {
      beside = await mesh.rotate(operator, 'two');
    });
    expect(traffic.failed).toBe(0);
    expect(traffic.silent).toEqual([]);
    for (const { name, namespace } of NEIGHBOURS)
      await stage.cluster.kubectl(
        'delete',
        `deployment/${name}`,
        `leaf/${name}`,
        '-n',
        namespace ?? NAMESPACE,
      );
    const alone = await mesh.rotate(operator, 'three');
    say(
      `  from the first step to Stable: ${besideStuck.toFixed(1)} s beside neighbours that do not follow, ${beside.toFixed(1)} s beside neighbours that do, ${alone.toFixed(1)} s alone`,
    );
    for (const seconds of [besideStuck, beside]) expect(seconds / alone).toBeLessThan(2.5);
  },
  LONG,
);
