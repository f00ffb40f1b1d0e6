import { type AuthorityId, authorityIn, type Home, ROTATION_ID, throughCache } from '@handover/engine';
import type { Kube } from '@handover/kube';
import { HandoverError, type Instant } from '@handover/material';
import { OperatorError } from '../error.ts';
import { KubeHome } from '../home/home.ts';
import { kindsWith, trustBundleVersion } from '../objects/kinds.ts';
import { PLURALS } from '../objects/place.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import { CustomResources } from '../resources/declarations.ts';
import { ownWish } from '../resources/injections.ts';
import { RESOURCE_KINDS } from '../resources/kinds.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { seenEvidence } from './seen.ts';
import { withWish } from './wishes.ts';

/** A cluster for somebody who looks and asks, and leaves the work to the operator. */
export interface View {
  readonly home: Home;
  resolved(): Promise<ResolvedResources>;
  /** Writes on the Authority what is wanted of the operator. */
  ask(
    authority: AuthorityId,
    wish: { readonly rotate: string } | { readonly distrust: number },
  ): Promise<void>;
  /** The API server's time. */
  now(): Instant;
}

export interface ViewOptions {
  readonly kube: Kube;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly trustNamespace?: string | undefined;
  readonly signal: AbortSignal;
}

export async function openView({
  kube,
  namespace,
  trustNamespace = namespace,
  signal,
}: ViewOptions): Promise<View> {
  const version = await trustBundleVersion(kube, signal);
  const { group, plural } = RESOURCE_KINDS.Authority;
  if (!(await kube.serves(group, RESOURCE_KINDS.Authority.version, plural, { signal }))) {
    throw new OperatorError(
      'CRDS_MISSING',
      'this cluster does not know Authorities; install them with handover install | kubectl apply -f -',
    );
  }
  const home = new KubeHome({
    kube,
    kinds: kindsWith(version ?? 'v1'),
    namespace,
    trustNamespace,
    declarations: new CustomResources({ kube, signal, onChange: () => home?.forget() }),
    wide: PLURALS.filter((candidate) => candidate !== 'clustertrustbundles' || version !== undefined),
    clusterTrustBundles: version !== undefined,
    injectionOf: ownWish,
    takeOver: false,
    consumersFound: true,
    evidence: seenEvidence(kube, namespace, signal),
    signal,
    onChange: () => home?.forget(),
    onState: () => {},
  });
  await home.ready();
  return {
    home: throughCache(home, home.cached),
    resolved: () => home.resolved(),
    now: () => home.clock.now(),
    ask: async (authority, wish) => {
      const { catalogue } = await home.resolved();
      authorityIn(catalogue, authority);
      if ('rotate' in wish && !ROTATION_ID.test(wish.rotate)) {
        throw new OperatorError(
          'ROTATION_ID_INVALID',
          `${JSON.stringify(wish.rotate.slice(0, 130))} is no name for a rotation; use up to 128 letters, digits and -._:@+`,
        );
      }
      const state = (await home.authorities.load(authority))?.state;
      const isTaken =
        'rotate' in wish
          ? (id: string) => state?.ids.includes(id) === true
          : (generation: string) =>
              state?.generations.some(
                ({ number, role }) => String(number) === generation && role !== 'distrusted',
              ) === false;
      await annotate(kube, authority, wish, isTaken, signal);
    },
  };
}

async function annotate(
  kube: Kube,
  authority: AuthorityId,
  wish: { readonly rotate: string } | { readonly distrust: number },
  isTaken: (wish: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const [namespace = '', name = ''] = authority.split('/');
  const [key, value] =
    'rotate' in wish
      ? ['handover.dev/rotate', wish.rotate]
      : ['handover.dev/distrust', String(wish.distrust)];
  for (let attempt = 0; ; attempt++) {
    const found = await kube.get(RESOURCE_KINDS.Authority, { namespace, name }, { signal });
    const known = (found?.metadata.annotations?.[key] ?? '').split(',').filter((item) => item !== '');
    if (known.includes(value)) return;
    const annotations = { [key]: withWish(known, value, isTaken).join(',') };
    try {
      await kube.patch(
        RESOURCE_KINDS.Authority,
        { namespace, name },
        {
          merge: { metadata: { resourceVersion: found?.metadata.resourceVersion, annotations } },
          fieldManager: `${FIELD_MANAGER}-cli`,
          signal,
        },
      );
      return;
    } catch (error) {
      if (attempt === 4 || !(error instanceof HandoverError) || error.code !== 'KUBE_CONFLICT') throw error;
    }
  }
}
