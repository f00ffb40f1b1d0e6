import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { Cluster } from '@handover/test-cluster';

export type Json = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly code: number;
  readonly body: Json;
  /** The API server's message about a refusal; empty otherwise. */
  readonly message: string;
}

export interface Ask {
  readonly body?: unknown;
  /** For PATCH. Default: server-side apply. */
  readonly type?: 'apply' | 'merge' | 'json';
  /** Acts as this user: RBAC and admission see only this user. */
  readonly as?: string | undefined;
  readonly query?: Readonly<Record<string, string>>;
}

const TYPES = {
  apply: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;

export type Requests = (method: string, path: string, ask?: Ask) => Promise<Answer>;

/** Plain requests over one connection pool: kubectl would take a third of a second for each. */
export const requestsTo = (cluster: Cluster): { readonly send: Requests; readonly close: () => void } => {
  const agent = new Agent({
    keepAlive: true,
    ca: readFileSync(cluster.caFile),
    cert: readFileSync(cluster.clientCert),
    key: readFileSync(cluster.clientKey),
  });
  const send: Requests = (method, path, { body, type = 'apply', as, query = {} } = {}) =>
    new Promise((resolve, reject) => {
      const url = new URL(path, cluster.url);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      const headers = {
        accept: 'application/json',
        ...(body === undefined
          ? {}
          : { 'content-type': method === 'PATCH' ? TYPES[type] : 'application/json' }),
        ...(as === undefined ? {} : { 'impersonate-user': as, 'impersonate-group': 'system:authenticated' }),
      };
      const outgoing = request(url, { method, agent, headers }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('error', reject);
        answer.on('end', () => {
          const code = answer.statusCode ?? 0;
          const parsed = text === '' ? {} : (JSON.parse(text) as Json);
          resolve({ code, body: parsed, message: code < 300 ? '' : String(parsed.message) });
        });
      });
      outgoing.on('error', reject);
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return { send, close: () => agent.destroy() };
};

/** Repeats the request until the answer is good; the error holds the last answer. */
export const eventually = async (
  ask: () => Promise<Answer>,
  good: (answer: Answer) => boolean,
  within = 60_000,
): Promise<Answer> => {
  const until = Date.now() + within;
  for (;;) {
    const answer = await ask();
    if (good(answer)) return answer;
    if (Date.now() > until)
      throw new Error(`still ${answer.code} ${answer.message || JSON.stringify(answer.body)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};
