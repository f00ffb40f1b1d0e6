import { type BoundedServer, NO_SUCH_PAGE, serveBounded } from '@handover/engine';
import type { Kube } from '@handover/kube';
import { HandoverError } from '@handover/material';
import type { Logger } from 'pino';
import { MetricsAccess } from './access.ts';
import { certificateFor } from './certificate.ts';
import type { Metrics } from './metrics.ts';
import { kubeReviews } from './reviews.ts';

export interface ProtectedOptions {
  readonly metrics: Pick<Metrics, 'page'>;
  readonly host: string;
  readonly port: number;
  /** Its requests must not share a limit with other work: any caller can cause them. */
  readonly kube: Kube;
  /** Folder of a certificate; undefined: one of our own. */
  readonly folder: string | undefined;
  readonly log: Logger;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** `/metrics` by TLS, to accounts of the cluster that may read it. Neither platform facts nor TLS profiles have a say in this. */
export async function serveProtectedMetrics(options: ProtectedOptions): Promise<BoundedServer> {
  const { metrics, host, port, kube, folder, log, now, signal } = options;
  // Of an error only its code: what a review was about is a token.
  const access = new MetricsAccess({
    reviews: kubeReviews(kube, signal),
    now: () => performance.now(),
    onFailure: (error) =>
      log.warn({
        event: 'metrics not reviewed',
        code: error instanceof HandoverError ? error.code : 'INTERNAL',
      }),
  });
  const secure = await certificateFor({
    folder,
    now,
    onProblem: ({ code, message }) =>
      log.warn({
        event: 'metrics certificate',
        code,
        why: `${message}; a certificate of its own until then`,
      }),
    signal,
  });
  return serveBounded({
    host,
    port,
    flag: '--metrics-address',
    secure,
    answer: async (path, { headers }) => {
      if (path !== '/metrics') return NO_SUCH_PAGE;
      const refusal = await access.refusal(headers.authorization);
      if (refusal !== undefined) return refusal;
      const { contentType, body } = await metrics.page();
      return { status: 200, body, headers: { 'content-type': contentType } };
    },
  });
}
