import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HandoverError } from '@handover/material';
import type { CertificateFiles } from './pki.ts';

const POLL_MS = 50;
const TAIL_LINES = 8;

/** The last lines of each component's log, for the error of a failed start. */
export const logTails = (directory: string): string =>
  readdirSync(directory)
    .filter((name) => name.endsWith('.log'))
    .sort()
    .flatMap((name) => {
      const lines = readFileSync(join(directory, name), 'utf8').trimEnd().split('\n').slice(-TAIL_LINES);
      return lines.join('') === '' ? [] : [`--- ${name}`, ...lines];
    })
    .join('\n');

export interface Waiting {
  readonly what: string;
  readonly directory: string;
  /** Milliseconds; generous, so that a loaded machine does not fail. */
  readonly timeoutMs?: number;
  /** The component that must not die meanwhile, if any. */
  readonly stillRuns?: () => boolean;
}

/** Polls until the condition holds. Ends early when the component has died, with every log's tail. */
export async function until(condition: () => Promise<boolean>, waiting: Waiting): Promise<void> {
  const { what, directory, timeoutMs = 180_000, stillRuns = () => true } = waiting;
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    const died = !stillRuns();
    if (died || Date.now() > deadline) {
      const why = died ? 'the process has ended' : `not so after ${timeoutMs / 1_000} s`;
      throw new HandoverError('CLUSTER_START', `${what}: ${why}; its logs end with\n${logTails(directory)}`, {
        path: directory,
      });
    }
    await sleep(POLL_MS);
  }
}

export interface Answer {
  readonly status: number | undefined;
  readonly body: string;
}

/** A GET as this client. No status when no answer came. */
export const ask = (url: string, client: CertificateFiles): Promise<Answer> =>
  new Promise((resolve) => {
    const nothing = (): void => resolve({ status: undefined, body: '' });
    const asking = request(
      url,
      {
        cert: readFileSync(client.certFile),
        key: readFileSync(client.keyFile),
        // Only asks whether it is up, on loopback; a test may be changing its certificate.
        rejectUnauthorized: false,
        agent: false,
        timeout: 5_000,
      },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => {
          body += text;
        });
        response.once('end', () => resolve({ status: response.statusCode, body }));
        response.once('error', nothing);
      },
    );
    asking.once('timeout', () => asking.destroy());
    asking.once('error', nothing);
    asking.end();
  });

export const isThere = async (url: string, client: CertificateFiles): Promise<boolean> =>
  (await ask(url, client)).status === 200;
