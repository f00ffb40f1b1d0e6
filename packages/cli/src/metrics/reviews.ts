import { type Kube, type KubeObject, kindOf } from '@handover/kube';
import type { Account, Reviews } from './access.ts';

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
export const kubeReviews = (kube: Kube, signal: AbortSignal): Reviews => ({
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
