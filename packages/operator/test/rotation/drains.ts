import { expect } from 'vitest';
import { until } from '../cluster/stage.ts';
import { bundles, type LivePod, livePods, revisionOf, secretOf } from './looks.ts';
import { MEMBERS, type Member } from './mesh.ts';
import { LONG, type MeshStage, RESTART_ONLY, say } from './mesh-stage.ts';

/** Two of each part: a drain keeps one of them. */
export const PAIRS: readonly Member[] = MEMBERS.map((member) => ({ ...member, replicas: 2 }));
/** A mesh for two nodes, a pod of each part on each. */
export const ON_TWO_NODES = { members: PAIRS, rate: 8, spread: true, linger: 5 } as const;
export const HOT: readonly string[] = MEMBERS.map(({ name }) => name).filter(
  (name) => !RESTART_ONLY.includes(name),
);

/** The state before a rotation. */
export interface Standing {
  readonly old: string;
  readonly pair: { readonly cert: string; readonly key: string };
  readonly revisions: ReadonlyMap<string, number>;
}

const anchorsIn = (pem: string): number => pem.split('-----BEGIN CERTIFICATE-----').length - 1;

/** A mesh on two nodes, which are drained under it. */
export class Drains {
  readonly nodes: readonly string[];
  readonly #mesh: MeshStage;

  constructor(mesh: MeshStage) {
    this.#mesh = mesh;
    this.nodes = mesh.stage.cluster.nodes.map(({ name }) => name);
  }

  async podsOn(node: string): Promise<readonly LivePod[]> {
    return (await livePods(this.#mesh.stage.kube)).filter((pod) => pod.node === node);
  }

  /** The nodes, the one with most pods first. */
  async byPods(): Promise<readonly [string, string]> {
    const [one = '', two = ''] = this.nodes;
    return (await this.podsOn(one)).length > (await this.podsOn(two)).length ? [one, two] : [two, one];
  }

  /** Drains a node as for maintenance, and uncordons it when everything is ready elsewhere. */
  async drain(node: string, members: readonly Member[] = PAIRS): Promise<void> {
    const { cluster } = this.#mesh.stage;
    const begun = performance.now();
    const there = (await this.podsOn(node)).length;
    expect(there).toBeGreaterThan(0);
    const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--timeout=600s'];
    await cluster.kubectl('drain', node, ...flags);
    expect(await this.podsOn(node)).toEqual([]);
    await this.#mesh.settled(members);
    await cluster.kubectl('uncordon', node);
    const seconds = (performance.now() - begun) / 1000;
    say(`  ${node} drained of ${there} pods, and these ready elsewhere, in ${seconds.toFixed(0)} s`);
  }

  async trustIsOut(): Promise<void> {
    const { kube } = this.#mesh.stage;
    await until(
      async () => anchorsIn((await secretOf(kube, 'hot')).ca) === 2,
      'the new CA in a Secret',
      LONG,
    );
  }

  async leafIsOut({ pair }: Standing): Promise<void> {
    const { kube } = this.#mesh.stage;
    await until(async () => (await secretOf(kube, 'hot')).cert !== pair.cert, 'a new leaf in a Secret', LONG);
  }

  async ended(): Promise<void> {
    await until(
      async () => {
        const { phase, generations } = await this.#mesh.status();
        return phase === 'Stable' && generations.length === 1;
      },
      'the rotation to end',
      LONG,
    );
  }

  async standing(members: readonly Member[] = PAIRS): Promise<Standing> {
    const { kube } = this.#mesh.stage;
    await this.#mesh.settled(members);
    const [current] = (await this.#mesh.status()).generations;
    const revisions = new Map<string, number>();
    for (const { name } of MEMBERS) revisions.set(name, await revisionOf(kube, name));
    return { old: current?.fingerprint ?? '', pair: await secretOf(kube, 'hot'), revisions };
  }

  async someRolled({ revisions }: Standing): Promise<boolean> {
    for (const name of RESTART_ONLY)
      if ((await revisionOf(this.#mesh.stage.kube, name)) > (revisions.get(name) ?? 0)) return true;
    return false;
  }

  /** Each restart-only workload restarted once, and the old CA in no bundle and on no server that follows its files. */
  async expectRotated({ old, pair, revisions }: Standing): Promise<void> {
    const { stage } = this.#mesh;
    for (const { name } of MEMBERS) {
      const rolled = (await revisionOf(stage.kube, name)) - (revisions.get(name) ?? 0);
      expect([name, rolled]).toEqual([name, RESTART_ONLY.includes(name) ? 1 : 0]);
    }
    for (const [name, held] of await bundles(stage.kube)) {
      expect([name, held.length]).toEqual([name, 1]);
      expect([name, held.includes(old)]).toEqual([name, false]);
    }
    const targets = (await livePods(stage.kube))
      .filter(({ app }) => HOT.includes(app))
      .map(({ app, ip }) => ({ name: app, address: `${ip}:8443` }));
    await until(
      async () => {
        const verdicts = await stage.tryFromInside(targets, pair);
        return verdicts.every((verdict) => !verdict.ok && verdict.kind === 'handshake');
      },
      'every hot server to refuse an old leaf',
      LONG,
    );
  }

  /** A rotation; a node is drained as soon as there is a new leaf. */
  async drainFromFirstLeaf(): Promise<void> {
    const was = await this.standing();
    const [busiest] = await this.byPods();
    const traffic = await this.#mesh.during('rotation, drained when leaves were written', async () => {
      await this.#mesh.ask('drained');
      await this.leafIsOut(was);
      const [{ phase }] = await Promise.all([this.#mesh.status(), this.drain(busiest)]);
      expect(phase).toBe('Activating');
      await this.ended();
    });
    expect(traffic.failed).toBe(0);
    expect(traffic.silent).toEqual([]);
    await this.expectRotated(was);
  }
}
