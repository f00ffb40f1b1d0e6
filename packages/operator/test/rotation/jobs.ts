import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg } from 'node:os';
import { type Kube, type KubeObject, pods as podKind } from '@handover/kube';
import type { NodeCluster } from '@handover/test-cluster';
import { expect } from 'vitest';
import { CA, LEAVES, recipeObjects, Seen, webhook } from '../cluster/certgen-stage.ts';
import { until } from '../cluster/stage.ts';
import { Collector } from './collector.ts';
import { DIRECTIONS, GATEWAY, type GatewayOptions, gateway, jobNamed, PARTS } from './gateway.ts';
import { operatorImage } from './image.ts';
import { LONG, pause, say } from './mesh-stage.ts';
import { allHeard, during, type Figures, gaps, MOST_GAP, row, tooQuiet } from './traffic.ts';

/** Of each of 4 pods, so that S3.6's 50 a second are reached on a busy machine too. */
const RATE = 18;
const LEAST = { each: 1, inAll: 50, gap: MOST_GAP };

interface JobStatus {
  readonly succeeded?: number;
  readonly failed?: number;
}

/** The most and the fewest ready pods of Rate Limit, old and new, over some time. */
interface Overlap {
  readonly most: number;
  readonly fewest: number;
}

/** Envoy Gateway's namespace, with the recipe's rights, its Jobs, and the parts that call each other. */
export class Jobs {
  readonly cluster: NodeCluster;
  readonly kube: Kube;
  readonly seen: Seen;
  readonly collector: Collector;
  readonly options: GatewayOptions;
  readonly #server: Server;

  private constructor(cluster: NodeCluster, kube: Kube, server: Server, options: GatewayOptions) {
    this.cluster = cluster;
    this.kube = kube;
    this.seen = new Seen(kube, GATEWAY);
    this.#server = server;
    this.collector = new Collector(server);
    this.options = options;
  }

  /** `image`: that of the program of all parts. */
  static async on(cluster: NodeCluster, kube: Kube, image: string): Promise<Jobs> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await cluster.node.expose(port);
    const collector = `http://${cluster.node.address}:${port}/`;
    await cluster.node.loadImage(await operatorImage('localhost/handover:1'));
    await cluster.kubectl('create', 'namespace', GATEWAY);
    await cluster.apply(...recipeObjects('ServiceAccount'), webhook(GATEWAY));
    return new Jobs(cluster, kube, server, { image, collector, rate: RATE });
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async status(name: string): Promise<JobStatus> {
    const told = await this.cluster.kubectl('get', 'job', name, '-n', GATEWAY, '-o', 'jsonpath={.status}');
    return JSON.parse(told) as JobStatus;
  }

  done(name: string): Promise<JobStatus> {
    return until(
      async () => {
        const status = await this.status(name);
        return status.succeeded === 1 && status;
      },
      `Job ${name}`,
      LONG,
    ).catch(async (error: unknown) => {
      const logs = ['logs', '-n', GATEWAY, `job/${name}`, '--all-pods', '--tail=20'];
      say(await this.cluster.kubectl(...logs).catch(String));
      throw error;
    });
  }

  /** The pod of a Job that runs now. */
  podOf(job: string): Promise<KubeObject> {
    const ofJob = { namespace: GATEWAY, labelSelector: `batch.kubernetes.io/job-name=${job}` };
    return until(
      async () =>
        (await this.kube.list(podKind, ofJob)).items.find(
          ({ metadata, status }) =>
            metadata.deletionTimestamp === undefined && (status as { phase?: string }).phase === 'Running',
        ),
      `a pod of Job ${job}`,
      LONG,
    );
  }

  /** Runs the recipe's Job, with the preset as it is shipped, to its end. */
  async run(name: string): Promise<void> {
    await this.cluster.apply(jobNamed(recipeObjects('Job')[0], name));
    expect(await this.done(name)).toMatchObject({ succeeded: 1 });
  }

  /** Prints what the parts did meanwhile. All of it was under load, in every direction; `gap`: the most seconds without a call. */
  async underLoad(what: string, work: () => Promise<unknown>, gap = LEAST.gap): Promise<Figures> {
    const figures = await during(this.collector, DIRECTIONS, work);
    say(`${row(what, figures)} ${gaps(figures)}, load ${loadavg()[0]?.toFixed(0)}`);
    for (const reason of figures.reasons.slice(0, 10)) say(`  ${reason}`);
    expect(Object.keys(figures.directions).sort()).toEqual([...DIRECTIONS].sort());
    expect(tooQuiet(figures, { ...LEAST, gap })).toEqual([]);
    return figures;
  }

  async #pods(): Promise<readonly KubeObject[]> {
    return (await this.kube.list(podKind, { namespace: GATEWAY, labelSelector: 'app' })).items;
  }

  async #readyPods(): Promise<readonly KubeObject[]> {
    return (await this.#pods()).filter(({ status }) =>
      (status as { conditions?: readonly { type: string; status: string }[] }).conditions?.some(
        (condition) => condition.type === 'Ready' && condition.status === 'True',
      ),
    );
  }

  async partsReady(): Promise<void> {
    await until(
      async () =>
        (await this.#pods()).length === PARTS.length && (await this.#readyPods()).length === PARTS.length,
      'every part to be ready',
      LONG,
    );
  }

  /** Starts all parts, whose Secrets exist, and waits until each has reached each. */
  async startParts(): Promise<void> {
    await this.cluster.apply(...gateway(this.options));
    await this.partsReady();
    this.collector.go();
    // A Service has no endpoint for a moment after its first pod is ready.
    await until(
      async () => allHeard(this.collector, DIRECTIONS),
      'a call that got through in every direction',
      LONG,
    );
    expect(await this.underLoad('at rest', () => pause(10_000))).toMatchObject({ failed: 0 });
  }

  /** How many pods of Rate Limit were ready, and not about to end, while `work` ran. */
  async rateLimitsDuring(work: () => Promise<unknown>): Promise<Overlap> {
    const counts: number[] = [];
    let ended = false;
    const watching = (async () => {
      while (!ended) {
        const ready = (await this.#readyPods()).filter(
          ({ metadata }) =>
            metadata.labels?.app === 'envoy-ratelimit' && metadata.deletionTimestamp === undefined,
        );
        counts.push(ready.length);
        await pause(500);
      }
    })();
    try {
      await work();
    } finally {
      ended = true;
      await watching;
    }
    return { most: Math.max(...counts), fewest: Math.min(...counts) };
  }

  /** The first Job, in an empty namespace. */
  async makesSecrets(): Promise<void> {
    await this.run('certgen');
    expect(await this.cluster.kubectl('logs', '-n', GATEWAY, 'job/certgen')).toMatch(
      // The issuance log stands before it.
      /^6 objects written\n.*: Stable/m,
    );
    expect(await this.seen.allAccept()).toBe(true);
    expect(await this.seen.caBundle()).toBe(await this.seen.text('envoy', 'ca.crt'));
    // Its name is the Job's own uid.
    const uid = ['get', 'job', 'certgen', '-n', GATEWAY, '-o', 'jsonpath={.metadata.uid}'];
    expect((await this.seen.state()).ids).toEqual([await this.cluster.kubectl(...uid)]);
  }

  /** The next Job rotates to the second generation, while old and new pods of Rate Limit overlap. */
  async rotates(): Promise<void> {
    const templates = await Promise.all(PARTS.map(({ name }) => this.seen.template(name)));
    let live: Overlap | undefined;
    const figures = await this.underLoad('rotation by a Job, Rate Limit overlapping', async () => {
      live = await this.rateLimitsDuring(() => this.run('rotation'));
    });
    expect(figures).toMatchObject({ failed: 0, reasons: [] });
    expect(live).toEqual({ most: 2, fewest: 1 });
    for (const name of LEAVES) expect(await this.seen.generations(name)).toEqual(['2']);
    const after = await Promise.all(PARTS.map(({ name }) => this.seen.template(name)));
    expect(after.map(({ generation }, index) => generation - (templates[index]?.generation ?? 0))).toEqual([
      0, 0, 0, 1,
    ]);
    expect(await this.cluster.kubectl('logs', '-n', GATEWAY, 'job/rotation')).toContain(
      `${GATEWAY}/${CA}: Stable`,
    );
  }
}
