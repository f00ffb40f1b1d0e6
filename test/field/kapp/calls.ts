import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { Cluster } from '@handover/test-cluster';
import { GROUP_PATH, NAMESPACE } from './scene.ts';

export interface Failure {
  /** When the call began and ended. */
  readonly from: number;
  readonly to: number;
  readonly what: string;
}

const ASKED = JSON.stringify({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { generateName: 'asked-', namespace: NAMESPACE, labels: { asks: 'the-webhook' } },
});

/** Calls through the API server to the webhook and to the aggregated API, without retries; each is counted. */
export class Calls {
  readonly failures: Failure[] = [];
  readonly counts = { webhook: 0, api: 0 };
  readonly #cluster: Cluster;
  readonly #agent: Agent;
  readonly #workers: Promise<void>[] = [];
  #going = true;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#agent = new Agent({
      keepAlive: true,
      ca: readFileSync(cluster.caFile),
      cert: readFileSync(cluster.clientCert),
      key: readFileSync(cluster.clientKey),
    });
  }

  /** Undefined: answered as it should be. */
  #send(method: string, path: string, body?: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' };
      const asking = request(
        `${this.#cluster.url}${path}`,
        { method, headers, agent: this.#agent },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          const { statusCode = 0 } = answer;
          answer.on('end', () =>
            resolve(statusCode < 300 ? undefined : `${statusCode} ${text.slice(0, 300)}`),
          );
          answer.on('error', ({ message }) => resolve(message));
        },
      );
      asking.on('error', ({ message }) => resolve(message));
      asking.end(body);
    });
  }

  readonly #turns = {
    webhook: () => this.#send('POST', `/api/v1/namespaces/${NAMESPACE}/configmaps?dryRun=All`, ASKED),
    api: () => this.#send('GET', `${GROUP_PATH}/packages`),
  };

  /** What does not answer yet; undefined: both do. */
  async silent(): Promise<string | undefined> {
    return (await this.#turns.webhook()) ?? (await this.#turns.api());
  }

  start(everyMs: number): void {
    for (const what of ['webhook', 'api'] as const) this.#workers.push(this.#repeat(what, everyMs));
  }

  async #repeat(what: 'webhook' | 'api', everyMs: number): Promise<void> {
    while (this.#going) {
      const from = Date.now();
      const why = await this.#turns[what]();
      this.counts[what]++;
      if (why !== undefined) this.failures.push({ from, to: Date.now(), what: `${what}: ${why}` });
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }

  /** Calls made meanwhile, and those that failed. */
  async during(
    label: string,
    work: () => Promise<unknown>,
  ): Promise<{ readonly calls: number; readonly failed: readonly Failure[] }> {
    const [before, failed, from] = [{ ...this.counts }, this.failures.length, performance.now()];
    await work();
    const [webhook, api] = [this.counts.webhook - before.webhook, this.counts.api - before.api];
    const failures = this.failures.slice(failed);
    const seconds = ((performance.now() - from) / 1000).toFixed(0);
    console.log(
      `${label}: ${webhook} admissions and ${api} API requests in ${seconds} s, ${failures.length} failed`,
    );
    for (const { from: at, what } of failures.slice(0, 5))
      console.log(`  ${new Date(at).toISOString()} ${what}`);
    // Neither can stand still unnoticed.
    return { calls: Math.min(webhook, api), failed: failures };
  }

  async stop(): Promise<void> {
    this.#going = false;
    await Promise.all(this.#workers);
    this.#agent.destroy();
  }
}
