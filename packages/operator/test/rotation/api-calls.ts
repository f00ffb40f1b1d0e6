import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { Cluster } from '@handover/test-cluster';
import { NAMESPACE } from './mesh.ts';
import { GROUP } from './pod/web.ts';

export interface ApiTotals {
  readonly webhook: number;
  readonly api: number;
  /** Calls that were due or in progress while the API server was down: their result is unknown. */
  readonly notMade: number;
  readonly failures: readonly string[];
}

/** `answered` false: no complete answer arrived. */
type Answer =
  | { readonly ok: true }
  | { readonly ok: false; readonly answered: boolean; readonly why: string };

/**
 * Makes the API server call the webhook and the aggregated API, each call over its own connection. Not with our client, which
 * would retry.
 */
export class ApiCalls {
  readonly #cluster: Cluster;
  #agent: Agent;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #counts = { webhook: 0, api: 0 };
  #underWay = 0;
  #notMade = 0;
  /** How often the API server went down, and whether it is. */
  #downs = 0;
  #down = false;
  readonly #failures: string[] = [];

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#agent = this.#connect();
  }

  #connect(): Agent {
    return new Agent({
      keepAlive: true,
      ca: readFileSync(this.#cluster.caFile),
      cert: readFileSync(this.#cluster.clientCert),
      key: readFileSync(this.#cluster.clientKey),
    });
  }

  /** Call this before stopping the API server: from then on unanswered calls do not count. */
  down(): void {
    this.#down = true;
    this.#downs++;
  }

  /** From now on every call counts again. */
  up(): void {
    this.#agent.destroy();
    this.#agent = this.#connect();
    this.#down = false;
  }

  start(everyMs: number): void {
    this.#repeat(everyMs, 'webhook', () => this.#admit());
    this.#repeat(everyMs, 'api', () => this.#list());
  }

  #admit(): Promise<Answer> {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { generateName: 'asked-', namespace: NAMESPACE, labels: { checked: 'true' } },
    };
    const path = `/api/v1/namespaces/${NAMESPACE}/configmaps?dryRun=All`;
    return this.#send('POST', path, JSON.stringify(object));
  }

  #list(): Promise<Answer> {
    return this.#send('GET', `/apis/${GROUP}/v1/things`);
  }

  #send(method: string, path: string, body?: string): Promise<Answer> {
    return new Promise((resolve) => {
      const unanswered = (error: Error): void => resolve({ ok: false, answered: false, why: error.message });
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
            resolve(
              statusCode < 300
                ? { ok: true }
                : { ok: false, answered: true, why: `${statusCode} ${text.slice(0, 300)}` },
            ),
          );
          response.on('error', unanswered);
        },
      );
      asking.on('error', unanswered);
      asking.end(body);
    });
  }

  /** Waits until the first call of each succeeds: counting starts when everything runs. */
  async ready(): Promise<boolean> {
    return (await this.#admit()).ok && (await this.#list()).ok;
  }

  #repeat(everyMs: number, what: 'webhook' | 'api', call: () => Promise<Answer>): void {
    this.#timers.push(
      setInterval(() => {
        if (this.#down) {
          this.#notMade++;
          return;
        }
        this.#underWay++;
        const begun = this.#downs;
        void call().then((answer) => {
          this.#underWay--;
          if (!answer.ok && !answer.answered && this.#downs > begun) {
            this.#notMade++;
            return;
          }
          this.#counts[what]++;
          if (!answer.ok) this.#failures.push(`${new Date().toISOString()} ${what}: ${answer.why}`);
        });
      }, everyMs),
    );
  }

  totals(): ApiTotals {
    return { ...this.#counts, notMade: this.#notMade, failures: [...this.#failures] };
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    while (this.#underWay > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    this.#agent.destroy();
  }
}
