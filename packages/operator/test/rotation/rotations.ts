import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { expect } from 'vitest';
import { until } from '../cluster/stage.ts';
import { HOT } from './drains.ts';
import { bundles, type LivePod, livePods, revisionOf, secretOf } from './looks.ts';
import { MEMBERS } from './mesh.ts';
import { LONG, type MeshStage, RESTART_ONLY, say } from './mesh-stage.ts';
import type { RotationStage, RunningOperator } from './stage.ts';

interface Pair {
  readonly cert: string;
  readonly key: string;
}

/**
 * One rotation under load: it fails no handshake, restarts the restart-only once, and gets rid of the old CA. The seconds from the
 * operator's first step to Stable.
 */
export const rotatesOnce = async (mesh: MeshStage, operator: RunningOperator, n: number): Promise<number> => {
  const { stage } = mesh;
  await mesh.settled();
  const { generations } = await mesh.status();
  const old = { fingerprint: generations[0]?.fingerprint ?? '', number: generations[0]?.generation };
  const oldPair = await secretOf(stage.kube, 'hot');
  const revisions = new Map<string, number>();
  for (const { name } of MEMBERS) revisions.set(name, await revisionOf(stage.kube, name));

  let seconds = Number.NaN;
  const traffic = await mesh.during(`rotation ${n}`, async () => {
    seconds = await mesh.rotate(operator, `rotation-${n}`);
  });
  say(`  from the first step to Stable: ${seconds.toFixed(1)} s`);
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

  await mesh.settled();
  const live = await livePods(stage.kube);
  await refuseOldLeaf(
    stage,
    `impostor-${n}`,
    oldPair,
    live.filter(({ app }) => HOT.includes(app)),
    live.filter(({ app }) => RESTART_ONLY.includes(app)),
  );

  const { consumers } = await mesh.status();
  const named = new Map(consumers.map(({ name, evidence, remark }) => [name, [evidence, remark]]));
  for (const name of RESTART_ONLY)
    expect(named.get(`Deployment mesh/${name}`)).toEqual([
      'restarted',
      `trusts CA generation ${old.number} until restarted`,
    ]);
  expect(named.get('Deployment mesh/hot')).toEqual(['acknowledged', undefined]);
  expect(named.get('Deployment mesh/polling')).toEqual(['probed', undefined]);
  expect(named.get('validatingwebhookconfigurations/mesh-check')).toEqual(['written', undefined]);
  return seconds;
};

/** With an old leaf and no cross-certificate that could help: as a client of every server, and as a server for every client. */
const refuseOldLeaf = async (
  stage: RotationStage,
  id: string,
  oldPair: Pair,
  hot: readonly LivePod[],
  frozen: readonly LivePod[],
): Promise<void> => {
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
  const answers = async (): Promise<boolean> => (await stage.tryFromInside([there], oldPair))[0]?.ok === true;
  await until(answers, 'the impostor to be reachable from inside', 120_000);
  stage.collector.ask({ id, ...there });
  const verdictOf = async (pod: string): Promise<string> =>
    until(async () => stage.collector.tried(id, pod), `what ${pod} says to an old leaf`, 120_000);
  for (const { name } of hot) expect(await verdictOf(name)).toMatch(/VERIFY|SELF_SIGNED|ISSUER/);
  for (const { name } of frozen) expect(await verdictOf(name)).toBe('accepted');
  impostor.close();
};
