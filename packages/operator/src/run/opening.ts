import type { IssuedEntry } from '@handover/engine';
import type { Kube } from '@handover/kube';
import { Compatibility } from '../compat/compatibility.ts';
import { KubeHome } from '../home/home.ts';
import type { Held } from '../objects/held.ts';
import { kindsWith } from '../objects/kinds.ts';
import { OpenShiftProfile } from '../objects/openshift.ts';
import { PLURALS, type Plural } from '../objects/place.ts';
import { CustomResources } from '../resources/declarations.ts';
import type { Pod } from '../workloads/pods.ts';
import { WorkloadCache } from '../workloads/workload-cache.ts';
import type { OperatorOptions } from './operator-options.ts';

/** What an opened home tells of. */
export interface Listener {
  resourcesChanged(): void;
  objectChanged(plural: Plural, key: string, before: Held | undefined, now: Held | undefined): void;
  stateChanged(authority: string): void;
  podChanged(before: Pod | undefined, now: Pod | undefined): void;
  workloadChanged(): void;
  platformProfileChanged(): void;
  repaired(object: string, manager: string): void;
  issued(entry: IssuedEntry): void;
  trouble(what: string, error: unknown): void;
}

export interface OpeningOptions {
  readonly operator: OperatorOptions;
  readonly kube: Kube;
  readonly swift: Kube;
  /** Of ClusterTrustBundles; undefined: there are none. */
  readonly trustBundleVersion: string | undefined;
  readonly listener: Listener;
  readonly signal: AbortSignal;
  readonly writeSignal: AbortSignal;
}

/** Begins to follow everything that this operator keeps, or is told by. */
export function openHome({
  operator,
  kube,
  swift,
  trustBundleVersion,
  listener,
  signal,
  writeSignal,
}: OpeningOptions): { readonly home: KubeHome; readonly compat: Compatibility | undefined } {
  const {
    namespace,
    trustNamespace = namespace,
    namespaces,
    compat: honoured = [],
    takeOver = false,
  } = operator;
  const given = operator.declarations;
  const onChange = (): void => listener.resourcesChanged();
  const declarations = given ?? new CustomResources({ kube, signal, only: namespaces, onChange });
  const consumersFound = operator.consumersFound ?? given === undefined;
  const workloadCache =
    given === undefined && consumersFound
      ? new WorkloadCache({
          kube,
          namespaces,
          signal,
          onPod: (before, now) => listener.podChanged(before, now),
          onWorkload: () => listener.workloadChanged(),
        })
      : undefined;
  const cluster = namespaces === undefined;
  const compat =
    given === undefined && cluster
      ? new Compatibility({
          kube,
          compat: honoured,
          serviceCaAuthority: operator.serviceCaAuthority,
          takeOver,
          signal,
          onChange,
        })
      : undefined;
  const openShift = new OpenShiftProfile(kube, signal, () => listener.platformProfileChanged());
  const wide = PLURALS.filter((plural) =>
    plural === 'clustertrustbundles'
      ? cluster && trustBundleVersion !== undefined
      : cluster || plural === 'secrets' || plural === 'configmaps',
  );
  const home = new KubeHome({
    connection: { kube, swift, signal, writeSignal },
    scope: {
      kinds: kindsWith(trustBundleVersion ?? 'v1'),
      namespace,
      trustNamespace,
      namespaces,
      wide: given === undefined ? wide : [],
    },
    resources: {
      declarations,
      clusterTrustBundles: trustBundleVersion !== undefined,
      injectionOf: compat?.injectionOf,
      takeOver,
      more: compat?.more,
      annotationsOf: (id, record) => compat?.annotationsOf(id, record),
      clusterProfile: () => openShift.read(),
    },
    consumers: {
      found: consumersFound,
      workloads: workloadCache,
      nudge: operator.nudge,
      addresses: operator.addresses,
      reloader: honoured.includes('reloader'),
    },
    on: {
      change: listener.objectChanged,
      state: listener.stateChanged,
      repair: listener.repaired,
      issued: listener.issued,
      trouble: listener.trouble,
      nudgeFailed: (error) =>
        operator.on({ kind: 'failed', what: 'nudging a pod', error, retryAt: undefined }),
    },
    identity: operator.identity,
    meters: operator.meters,
  });
  home.start(signal);
  return { home, compat };
}
