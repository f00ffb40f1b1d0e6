import { type BoundedServer, NO_SUCH_PAGE, serveBounded } from '@handover/engine';
import { type Kube, type KubeObject, kindOf } from '@handover/kube';
import { type Clock, HandoverError } from '@handover/material';
import type { Logger } from 'pino';
import { type Account, MetricsAccess, type Reviews } from './access.ts';
import { certificateFor, type Followable } from './certificate.ts';
import type { Metrics } from './metrics.ts';

interface TokenReview extends KubeObject {
  readonly spec: { readonly token: string };
  readonly status?: { readonly authenticated?: boolean; readonly user?: Account };
}

interface SubjectAccessReview extends KubeObject {
  readonly spec: object;
  readonly status?: { readonly allowed?: boolean; readonly denied?: boolean };
}

const TOKEN_REVIEWS = kindOf<TokenReview>('authentication.k8s.io/v1', 'tokenreviews', 'TokenReview', false);
const ACCESS_REVIEWS = kindOf<SubjectAccessReview>(
  'authorization.k8s.io/v1',
  'subjectaccessreviews',
  'SubjectAccessReview',
  false,
);

/** Reviews by the API server: anything but a clear yes is a no. */
const kubeReviews = (kube: Kube, signal: AbortSignal): Reviews => ({
  accountOf: async (token) => {
    const { status } = await kube.create(
      TOKEN_REVIEWS,
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {}, spec: { token } },
      { signal },
    );
    const { authenticated, user } = status ?? {};
    return authenticated === true && user !== undefined && user.username !== '' ? user : undefined;
  },
  mayRead: async ({ username, uid, groups, extra }) => {
    const { status } = await kube.create(
      ACCESS_REVIEWS,
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        metadata: {},
        spec: {
          user: username,
          ...(uid === undefined ? {} : { uid }),
          ...(groups === undefined ? {} : { groups }),
          ...(extra === undefined ? {} : { extra }),
          nonResourceAttributes: { path: '/metrics', verb: 'get' },
        },
      },
      { signal },
    );
    return status?.allowed === true && status.denied !== true;
  },
});

interface ProtectedOptions {
  readonly metrics: Pick<Metrics, 'page'>;
  readonly host: string;
  readonly port: number;
  /** With a rate limit of its own: any caller can cause its requests. */
  readonly kube: Kube;
  /** Folder of a certificate; undefined: a self-made one. */
  readonly folder: string | undefined;
  /** File of a TLS profile; undefined: TLS 1.2 and later. */
  readonly profile: string | undefined;
  readonly log: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const UNTIL_THEN = {
  certificate: 'using a self-made certificate',
  'TLS profile': 'accepting TLS 1.2 and later',
} as const satisfies Record<Followable, string>;

/** `/metrics` over TLS, for accounts of the cluster that may read it. Who may, depends neither on the platform nor on a TLS profile. */
export async function serveProtectedMetrics(options: ProtectedOptions): Promise<BoundedServer> {
  const { metrics, host, port, kube, folder, profile, log, clock, signal } = options;
  // Only the error's code: the review is about a token.
  const access = new MetricsAccess({
    reviews: kubeReviews(kube, signal),
    now: () => clock.monotonic(),
    onFailure: (error) =>
      log.warn({
        event: 'metrics not reviewed',
        code: error instanceof HandoverError ? error.code : 'INTERNAL',
      }),
  });
  const secure = await certificateFor({
    folder,
    profile,
    clock,
    onProblem: (what, { code, message }) =>
      log.warn({ event: `metrics ${what}`, code, why: `${message}; ${UNTIL_THEN[what]} until then` }),
    signal,
  });
  return serveBounded({
    host,
    port,
    flag: '--metrics-address',
    secure,
    answer: async (path, { headers, socket }) => {
      if (path !== '/metrics') return NO_SUCH_PAGE;
      const refusal = await access.refusal(headers.authorization, socket.remoteAddress);
      if (refusal !== undefined) return refusal;
      const { contentType, body } = await metrics.page();
      return { status: 200, body, headers: { 'content-type': contentType } };
    },
  });
}
