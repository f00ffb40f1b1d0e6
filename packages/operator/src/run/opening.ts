import type { Listener } from '@handover/engine';
import type { Kube } from '@handover/kube';
import { Budget, OVER_SHARE } from '../cache/budget.ts';
import { ExternallyHeldCertificates } from '../cert-manager/certificates.ts';
import { CertManagerCluster } from '../cert-manager/cluster.ts';
import { Compatibility } from '../compat/compatibility.ts';
import { DefaultCasFile } from '../compat/trust-manager/default-cas.ts';
import { isCode, OperatorError } from '../error.ts';
import { KubeHome } from '../home/home.ts';
import { FollowedTrustBundleApi } from '../objects/followed-trust-bundle-api.ts';
import { kindsWith } from '../objects/kinds.ts';
import { OpenShiftProfile } from '../objects/openshift.ts';
import { PLURALS } from '../objects/place.ts';
import { WatchedRequests } from '../pod-certificates/watched.ts';
import { CustomResources } from '../resources/declarations.ts';
import { FollowedSources } from '../resources/selected-sources.ts';
import { servedNamespaces } from '../resources/served-namespaces.ts';
import { WorkloadCache } from '../workloads/workload-cache.ts';
import type { EventRouter } from './event-router.ts';
import type { OperatorOptions } from './operator-options.ts';

/** Where cert-manager and trust-manager are installed, unless the administrator says otherwise. */
const CERT_MANAGER_NAMESPACE = 'cert-manager';

export interface OpeningOptions {
  readonly operator: OperatorOptions;
  readonly kube: Kube;
  readonly caBundleClient: Kube;
  /** Of ClusterTrustBundles, at the start; undefined: there are none. */
  readonly trustBundleVersion: string | undefined;
  readonly router: EventRouter;
  readonly on: Listener;
  /** A watch that goes on by itself could not begin, or broke. */
  readonly onTrouble: (what: string, error: Error) => void;
  readonly signal: AbortSignal;
  readonly writeSignal: AbortSignal;
}

export interface OpenedHome {
  readonly home: KubeHome;
  readonly compat: Compatibility | undefined;
  /** Undefined: this operator signs for no pods. */
  readonly podRequests: WatchedRequests | undefined;
  readonly certManager: CertManagerCluster | undefined;
  /** Resolves once everything is known; rejects when `signal` comes first. */
  readonly ready: Promise<void>;
}

/** Begins to follow everything that this operator keeps, or is told by. */
export function openKubeHome({
  operator,
  kube,
  caBundleClient,
  trustBundleVersion,
  router,
  on,
  onTrouble,
  signal,
  writeSignal,
}: OpeningOptions): OpenedHome {
  const { namespace, scope = {}, injection = {}, pods = {} } = operator;
  const { trustNamespace = namespace, namespaces, declarations: given } = scope;
  const { compat: honoured = [], serviceCaAuthority, takeOver = false } = injection;
  const { cainjectorNamespace = CERT_MANAGER_NAMESPACE } = injection;
  const onChange = router.resourcesChanged;
  const budget = new Budget({
    waits: given === undefined,
    onOver: (name) =>
      on({
        kind: 'failed',
        what: `keeping what is known of ${name === '' ? 'objects without a namespace' : `namespace ${name}`}`,
        error: new OperatorError('NAMESPACE_OVER_SHARE', OVER_SHARE, { path: `Namespace/${name}` }),
        retryAt: undefined,
      }),
  });
  const declarations = given ?? new CustomResources({ kube, budget, only: namespaces, onChange });
  const consumersFound = pods.found ?? given === undefined;
  const workloadCache =
    given === undefined && consumersFound
      ? new WorkloadCache({
          kube,
          budget,
          namespaces,
          onPod: router.podChanged,
          onWorkload: router.workloadChanged,
        })
      : undefined;
  const cluster = namespaces === undefined;
  // TrustBundles are looked at again by themselves.
  const defaultCas = new DefaultCasFile(scope.defaultCas, kube.clock, () =>
    compat?.bundles?.defaultCasChanged(),
  );
  const compat: Compatibility | undefined =
    given === undefined && cluster
      ? new Compatibility({
          kube,
          budget,
          compat: honoured,
          serviceCaAuthority,
          cainjectorNamespace,
          takeOver,
          bundles: {
            trustNamespace: CERT_MANAGER_NAMESPACE,
            secretTargets: false,
            defaultCas: () => defaultCas.state,
            ...operator.bundles,
          },
          onChange,
        })
      : undefined;
  const podRequests =
    workloadCache !== undefined && cluster
      ? new WatchedRequests({
          kube,
          budget,
          onRequest: router.podRequested,
          onAnswered: ({ authority }) => router.podCertified(authority),
          onTrouble,
        })
      : undefined;
  const openShift = new OpenShiftProfile(kube, signal, () => void router.platformProfileChanged());
  const trustBundles = new FollowedTrustBundleApi(kube, trustBundleVersion, signal, async () => {
    await home.trustBundlesChanged();
    router.resourcesChanged();
  });
  const wide = PLURALS.filter((plural) => cluster || plural === 'secrets' || plural === 'configmaps');
  const certManager =
    given === undefined
      ? new CertManagerCluster({
          kube,
          budget,
          namespaces,
          onRequest: router.requestChanged,
          onExternallyHeld: router.externallyHeldChanged,
          onTrouble,
        })
      : undefined;
  const home: KubeHome = new KubeHome({
    connection: { kube, budget, caBundleClient, signal, writeSignal },
    scope: {
      kinds: kindsWith(trustBundles),
      namespace,
      trustNamespace,
      defaultCas: () => ('why' in defaultCas.state ? defaultCas.state : defaultCas.state.certificates),
      namespaces,
      wide: given === undefined ? wide : [],
    },
    resources: {
      declarations,
      clusterTrustBundles: () => trustBundles.isServed(),
      injectionOf: compat?.injectionOf,
      takeOver,
      more: compat?.more,
      selected:
        given === undefined && cluster
          ? new FollowedSources({ kube, budget, trustNamespace, onChange, onTrouble, signal })
          : undefined,
      annotationsOf: (id, record) => compat?.annotationsOf(id, record),
      clusterProfile: () => openShift.read(),
    },
    consumers: {
      found: consumersFound,
      workloads: workloadCache,
      nudge: pods.nudge,
      addresses: pods.addresses,
      podLeaves: podRequests?.leaves,
      reloader: honoured.includes('reloader'),
    },
    externallyHeld:
      certManager === undefined
        ? undefined
        : new ExternallyHeldCertificates({
            kube,
            cluster: certManager,
            signal: writeSignal,
            now: () => home.clock.now(),
            nudge: (id, fingerprint) => home.nudgeOf(id, fingerprint),
            onRead: router.externallyHeldChanged,
          }),
    on: {
      change: router.objectChanged,
      password: router.passwordChanged,
      state: router.stateChanged,
      repair: (object, manager) => on({ kind: 'repaired', object, manager }),
      issued: (entry) => on({ kind: 'issued', entry }),
      trouble: (what, error, plural) => {
        onTrouble(what, error);
        if (plural === 'clustertrustbundles' && isCode(error, 'KUBE_NOT_FOUND')) trustBundles.askAgain();
      },
      nudgeFailed: (error) => on({ kind: 'failed', what: 'nudging a pod', error, retryAt: undefined }),
    },
    identity: operator.identity,
    meters: operator.meters,
  });
  const known = Promise.all([defaultCas.start(signal), compat?.start(signal)]);
  const serve = (): void =>
    budget.serve(
      servedNamespaces(
        declarations.all().flatMap(({ resource }) => resource ?? []),
        declarations.namespaces(),
        [
          namespace,
          trustNamespace,
          ...(operator.bundles?.trustNamespace === undefined ? [] : [operator.bundles.trustNamespace]),
        ],
      ),
    );
  if (given === undefined) {
    void declarations.ready.then(serve, () => {});
    router.onResolved = serve;
  }
  home.start(signal);
  podRequests?.start(signal);
  router.onPodsWanted = () => podRequests?.want();
  void certManager?.start(signal);
  const ready = known.then(() => home.ready());
  return { home, compat, podRequests, certManager, ready };
}
