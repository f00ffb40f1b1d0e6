import type { Home, ReadSnapshot } from '@handover/engine';
import type { Kube } from '@handover/kube';
import { instant } from '@handover/material';
import { ExternallyHeldCertificates } from '../cert-manager/certificates.ts';
import { CertManagerCluster } from '../cert-manager/cluster.ts';
import { OperatorError } from '../error.ts';
import { KubeHome } from '../home/home.ts';
import { kindsWith, trustBundleVersion } from '../objects/kinds.ts';
import { PLURALS } from '../objects/place.ts';
import { CustomResources } from '../resources/declarations.ts';
import { RESOURCE_KINDS } from '../resources/declared.ts';
import { ownInjection } from '../resources/injections.ts';
import { FollowedSources } from '../resources/selected-sources.ts';
import { recordedEvidence } from './evidence-configmap.ts';

/** A cluster for a command that looks and asks, and leaves the work to the operator. */
export interface View {
  readonly home: Home;
  /** What the watches have, with the evidence that the operator last wrote down. */
  readonly read: ReadSnapshot;
}

export interface RunViewOptions {
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
}: RunViewOptions): Promise<View> {
  const version = await trustBundleVersion(kube, signal);
  const { group, plural } = RESOURCE_KINDS.Authority;
  if (!(await kube.serves(group, RESOURCE_KINDS.Authority.version, plural, { signal }))) {
    throw new OperatorError(
      'CRDS_MISSING',
      'this cluster does not know Authorities; install them with handover install | kubectl apply -f -',
    );
  }
  const certManager = new CertManagerCluster({
    kube,
    namespaces: undefined,
    onRequest: () => {},
    onExternallyHeld: () => {},
    onTrouble: () => {},
  });
  const home: KubeHome = new KubeHome({
    connection: { kube, signal },
    scope: {
      kinds: kindsWith({ version }),
      namespace,
      trustNamespace,
      wide: PLURALS,
    },
    resources: {
      declarations: new CustomResources({ kube, onChange: () => home.forget() }),
      clusterTrustBundles: () => version !== undefined,
      injectionOf: ownInjection,
      takeOver: false,
      selected: new FollowedSources({ kube, trustNamespace, onChange: () => home.forget(), signal }),
    },
    consumers: { found: true, evidence: recordedEvidence(kube, namespace, signal) },
    externallyHeld: new ExternallyHeldCertificates({
      kube,
      cluster: certManager,
      signal,
      now: () => home.clock.now(),
      nudge: () => {},
      begun: instant(0),
    }),
    on: { change: () => home.forget() },
  });
  home.start(signal);
  await Promise.all([home.ready(), certManager.start(signal)]);
  return { home, read: home.cached };
}
