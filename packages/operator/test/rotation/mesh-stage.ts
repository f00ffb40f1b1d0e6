import { loadavg } from 'node:os';
import type { AuthorityStatus, Status } from '@handover/engine';
import { until } from '../cluster/stage.ts';
import { ApiCalls } from './api-calls.ts';
import type { Totals } from './collector.ts';
import { isSettled, livePods } from './looks.ts';
import { AUTHORITY, deployment, MEMBERS, type Member, type MeshOptions, targetOf } from './mesh.ts';
import type { RotationStage, RunningOperator } from './stage.ts';
import { during, gaps, MOST_GAP, tooQuiet } from './traffic.ts';

/** Calls per second of each of the ten pods. */
const RATE = 11;
export const LONG = 900_000;
export const RESTART_ONLY: readonly string[] = ['frozen', 'once'];
export const say = (line: string): void => void process.stdout.write(`${line}\n`);
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export interface Traffic {
  readonly seconds: number;
  readonly handshakes: number;
  readonly failed: number;
  /** Directions without any successful call meanwhile, or without one for too long. */
  readonly silent: readonly string[];
}

/** One line for each kind of failure, with the times of the first and the last. */
const alike = (failures: Totals['failures']): readonly string[] => {
  const sorts = new Map<string, string[]>();
  for (const { target, kind, why, at } of failures) {
    const sort = `${kind} ${target}: ${why}`;
    sorts.set(sort, [...(sorts.get(sort) ?? []), at].sort());
  }
  return [...sorts].map(([sort, times]) => `${times.length} × ${sort}, ${times[0]} to ${times.at(-1)}`);
};

/** Name and pods of the mesh; by default those of `rotation.test.ts`. */
export type MeshSetting = Partial<Omit<MeshOptions, 'image' | 'collector'>>;

/** The mesh under load, and the questions that tests ask about it. */
export class MeshStage {
  readonly stage: RotationStage;
  readonly calls: ApiCalls;

  readonly #members: readonly Member[];
  readonly #options: MeshOptions;
  #rounds = 0;

  constructor(stage: RotationStage, { members = MEMBERS, ...setting }: MeshSetting = {}) {
    this.stage = stage;
    this.#members = members;
    this.#options = { image: stage.image, collector: stage.collectorUrl, rate: RATE, members, ...setting };
    this.calls = new ApiCalls(stage.cluster);
  }

  /** Starts all pods, which call each other from then on; their Secrets and fields exist. */
  async start(): Promise<void> {
    await this.apply(...this.#members);
    await this.settled();
    await until(() => this.#reachable(), 'every Service to be reachable', LONG);
    await until(() => this.calls.ready(), 'the webhook and the aggregated API to answer', LONG);
    this.stage.collector.go();
    this.calls.start(300);
  }

  /** Waits until every pod has reached every Service: kube-proxy learns of a pod a moment after it is ready. */
  async #reachable(): Promise<boolean> {
    const { collector, kube } = this.stage;
    const round = ++this.#rounds;
    const idOf = (name: string): string => `reach-${name}-${round}`;
    for (const { name } of this.#members) collector.ask({ id: idOf(name), ...targetOf(name, 8443) });
    const pairs = (await livePods(kube, this.#members)).flatMap((pod) =>
      this.#members.filter(({ name }) => name !== pod.app).map(({ name }) => [idOf(name), pod.name] as const),
    );
    const tried = (): readonly (string | undefined)[] => pairs.map(([id, pod]) => collector.tried(id, pod));
    await until(async () => !tried().includes(undefined), 'every pod to try every Service', LONG);
    return tried().every((verdict) => verdict === 'accepted');
  }

  apply(...members: readonly Member[]): Promise<void> {
    return this.stage.cluster.apply(...members.map((member) => deployment(member, this.#options)));
  }

  async settled(members: readonly Member[] = this.#members): Promise<void> {
    await until(() => isSettled(this.stage.kube, members), 'every pod of the mesh to be ready', LONG);
  }

  async status(): Promise<AuthorityStatus> {
    const told = await this.stage.handover('status', AUTHORITY, '--home', 'kube', '--json');
    const [authority] = (JSON.parse(told) as Status).authorities;
    if (authority === undefined) throw new Error('no status');
    return authority;
  }

  /** Each to each, and gRPC, whether there was a call or not. */
  #directions(): readonly string[] {
    const names = this.#members.map(({ name }) => name);
    const pairs = names.flatMap((from) => names.filter((to) => to !== from).map((to) => `${from} → ${to}`));
    const grpc = this.#members.filter((member) => member.grpc === 'client');
    return [...pairs, ...grpc.map(({ name }) => `${name} → grpc (gRPC)`)];
  }

  /** Prints what the mesh did meanwhile, with every failure. `gap`: the most seconds without a successful call in a direction. */
  async during(what: string, work: () => Promise<unknown>, gap = MOST_GAP): Promise<Traffic> {
    const { collector } = this.stage;
    const apiBefore = this.calls.totals();
    const since = new Date().toISOString();
    const figures = await during(collector, this.#directions(), work);
    const { seconds } = figures;
    const api = this.calls.totals();
    const byApi = api.webhook - apiBefore.webhook + (api.api - apiBefore.api);
    const handshakes = figures.handshakes + byApi;
    const apiFailures = api.failures.slice(apiBefore.failures.length);
    const failed = figures.failed + apiFailures.length;
    say(
      `${what}: ${handshakes} handshakes in ${seconds.toFixed(0)} s (${(handshakes / seconds).toFixed(0)}/s, ${byApi} of them by the API server, ` +
        `${api.notMade - apiBefore.notMade} not made by it), ` +
        `${failed} failed, ${gaps(figures)}, load ${loadavg()[0]?.toFixed(0)}`,
    );
    for (const line of alike(collector.totals().failures.filter(({ at }) => at >= since))) say(`  ${line}`);
    for (const failure of apiFailures.slice(0, 5)) say(`  ${failure}`);
    const silent = [...tooQuiet(figures, { each: 0, inAll: 0, gap })];
    if (api.webhook === apiBefore.webhook) silent.push('API server → webhook');
    if (api.api === apiBefore.api) silent.push('API server → api');
    return { seconds, handshakes, failed, silent };
  }

  /** Asks for a rotation and waits for its end; seconds by the operator's own log, from the first step to Stable. */
  async rotate(operator: RunningOperator, id: string): Promise<number> {
    const seen = operator.log().length;
    await this.ask(id, '--wait', '--timeout', '14m');
    return until(async () => {
      const lines = operator.log().slice(seen);
      const begun = lines.find(
        ({ event, did }) => event === 'acted' && String(did).includes(`rotation ${id} `),
      );
      const ended = lines.findLast(({ event, phase }) => event === 'rested' && phase === 'Stable');
      if (begun === undefined || ended === undefined || ended.at < begun.at) return undefined;
      return (Date.parse(ended.at) - Date.parse(begun.at)) / 1000;
    }, 'the end of the rotation in the log');
  }

  ask(id: string, ...more: readonly string[]): Promise<string> {
    return this.stage.handover('rotate', AUTHORITY, '--home', 'kube', '--id', id, ...more);
  }

  async stop(): Promise<void> {
    await this.calls.stop();
    await this.stage.stop();
  }
}
