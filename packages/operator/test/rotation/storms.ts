import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { Relay } from '../cluster/relay.ts';
import { until } from '../cluster/stage.ts';
import { revisionOf } from './looks.ts';
import { MEMBERS } from './mesh.ts';
import { LONG, type MeshStage, RESTART_ONLY, say, type Traffic } from './mesh-stage.ts';
import { Moves } from './moves.ts';
import type { RotationStage, RunningOperator } from './stage.ts';
import { Strikes } from './strikes.ts';

/**
 * Every operator reaches the API server through a relay, which sees each write in advance: so it strikes in the middle of a step because
 * of what the operator did, not because of the time.
 */
export class Storms {
  readonly relay: Relay;
  readonly strikes: Strikes;
  readonly moves: Moves;
  readonly operators = new Map<string, RunningOperator>();
  readonly #stage: RotationStage;
  readonly #port: number;
  readonly #end = new AbortController();
  #rolled: ReadonlyMap<string, number> = new Map();

  private constructor(stage: RotationStage, relay: Relay) {
    this.#stage = stage;
    this.relay = relay;
    this.#port = Number(new URL(relay.url).port);
    this.strikes = new Strikes(relay);
    this.moves = new Moves(stage.kube);
  }

  static async over(stage: RotationStage): Promise<Storms> {
    const storms = new Storms(stage, await Relay.start(stage.cluster));
    await stage.cluster.node.expose(storms.#port);
    return storms;
  }

  /** Watches the authority, which exists by now. */
  watch(): Promise<void> {
    return this.moves.start(this.#end.signal);
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.relay.stop();
  }

  /** An operator with its own name, by which the relay knows it, and the rights of its installation. */
  startOperator(): string {
    const { cluster } = this.#stage;
    const name = `operator-${this.operators.size + 1}`;
    const kubeconfig = join(cluster.directory, `${name}.kubeconfig`);
    const groups = [
      'system:serviceaccounts',
      'system:serviceaccounts:handover-system',
      'system:authenticated',
    ];
    const as = { as: 'system:serviceaccount:handover-system:handover', 'as-groups': groups };
    const server = `http://${cluster.node.address}:${this.#port}`;
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
    const operator = this.#stage.startOperator('--kubeconfig', kubeconfig, '--log-level', 'debug', ...ports);
    this.operators.set(name, operator);
    this.strikes.follow(name, operator);
    return name;
  }

  /** Waits until everything is at rest, and counts rollouts from then on. */
  async calm(mesh: MeshStage): Promise<void> {
    await mesh.settled();
    this.#rolled = await this.#revisions();
    await until(async () => this.moves.isOver(), 'rest', LONG);
  }

  async #revisions(): Promise<ReadonlyMap<string, number>> {
    const { kube } = this.#stage;
    return new Map(
      await Promise.all(MEMBERS.map(async ({ name }) => [name, await revisionOf(kube, name)] as const)),
    );
  }

  /** Restart-only workloads were rolled out so often since it was calm, and no other. */
  async expectRestarts(times: number): Promise<void> {
    const rollouts = [...(await this.#revisions())].map(
      ([name, is]) => [name, is - (this.#rolled.get(name) ?? 0)] as const,
    );
    expect(Object.fromEntries(rollouts)).toEqual(
      Object.fromEntries(MEMBERS.map(({ name }) => [name, RESTART_ONLY.includes(name) ? times : 0])),
    );
  }

  async ended(mesh: MeshStage, ...ids: readonly string[]): Promise<void> {
    await until(async () => this.moves.isOver(...ids), `the end of ${ids.join(', ')}`, LONG);
    await until(async () => (await mesh.status()).phase === 'Stable', 'Stable', LONG);
  }

  nothingFailed(traffic: Traffic): void {
    expect(traffic.failed).toBe(0);
    expect(traffic.silent).toEqual([]);
    expect(this.moves.backwards).toEqual([]);
  }

  /** A rotation; the API server is killed in the middle of each phase. */
  async killApiServer(mesh: MeshStage): Promise<void> {
    const { lastGeneration } = this.moves.state;
    const phases = ['Introducing', 'Activating', 'Retiring'].map((phase) => `write in ${phase} landed`);
    const seconds: number[] = [];
    const startAgain = async (): Promise<void> => {
      const from = performance.now();
      await this.#stage.cluster.apiServer.start();
      mesh.calls.up();
      seconds.push((performance.now() - from) / 1000);
    };
    this.strikes.plan(phases, async () => {
      mesh.calls.down();
      await this.#stage.cluster.apiServer.stop('SIGKILL');
      void startAgain();
      // The API server is not there yet.
      return 'goes on';
    });
    const { webhook, api, notMade } = mesh.calls.totals();
    const traffic = await mesh.during('API server killed in each phase', async () => {
      await mesh.ask('outages');
      await this.ended(mesh, 'outages');
    });
    say(`  down for ${seconds.map((one) => one.toFixed(1)).join(', ')} s`);
    this.nothingFailed(traffic);
    expect(this.strikes.struck).toEqual(phases);
    expect(seconds.length).toBe(3);
    const after = mesh.calls.totals();
    expect(after.notMade).toBeGreaterThan(notMade);
    expect(after.webhook).toBeGreaterThan(webhook);
    expect(after.api).toBeGreaterThan(api);
    expect(this.moves.state.lastGeneration).toBe(lastGeneration + 1);
    await this.expectRestarts(1);
  }
}
