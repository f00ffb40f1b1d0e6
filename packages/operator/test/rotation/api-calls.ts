import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { Cluster } from '@handover/test-cluster';
import { NAMESPACE } from './mesh.ts';
import { GROUP } from './pod/web.ts';

export interface ApiTotals {
  readonly webhook: number;
  readonly api: number;
  readonly failures: readonly string[];
}

/**
 * Makes the API server call the webhook and the aggregated API, each call over a connection of its own. By hand, not with our
 * client: that would try again.
 */
export class ApiCalls {
  readonly #cluster: Cluster;
  readonly #agent: Agent;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #counts = { webhook: 0, api: 0 };
  #underWay = 0;
  readonly #failures: string[] = [];

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#agent = new Agent({
      keepAlive: true,
      ca: readFileSync(cluster.caFile),
      cert: readFileSync(cluster.clientCert),
      key: readFileSync(cluster.clientKey),
    });
  }

  start(everyMs: number): void {
    const object = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { generateName: 'asked-', namespace: NAMESPACE, labels: { checked: 'true' } },
    });
    const path = `/api/v1/namespaces/${NAMESPACE}/configmaps?dryRun=All`;
    this.#repeat(everyMs, 'webhook', () => this.#send('POST', path, object));
    this.#repeat(everyMs, 'api', () => this.#send('GET', `/apis/${GROUP}/v1/things`));
  }

  /** Undefined when it went well. */
  #send(method: string, path: string, body?: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' };
      const asking = request(
        `${this.#cluster.url}${path}`,
        { method, headers, agent: this.#agent },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          const { statusCode = 0 } = response;
          response.on('end', () =>
            resolve(statusCode < 300 ? undefined : `${statusCode} ${text.slice(0, 300)}`),
          );
          response.on('error', (error) => resolve(error.message));
        },
      );
      asking.on('error', (error) => resolve(error.message));
      asking.end(body);
    });
  }

  /** Until the first call of each goes through: what is counted begins when everything is there. */
  async ready(): Promise<boolean> {
    return (await this.#send('GET', `/apis/${GROUP}/v1/things`)) === undefined;
  }

  #repeat(everyMs: number, what: 'webhook' | 'api', call: () => Promise<string | undefined>): void {
    this.#timers.push(
      setInterval(() => {
        this.#underWay++;
        void call().then((problem) => {
          this.#underWay--;
          this.#counts[what]++;
          if (problem !== undefined) this.#failures.push(`${new Date().toISOString()} ${what}: ${problem}`);
        });
      }, everyMs),
    );
  }

  totals(): ApiTotals {
    return { ...this.#counts, failures: [...this.#failures] };
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    while (this.#underWay > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    this.#agent.destroy();
  }
}
