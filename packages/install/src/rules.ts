import { ALL_SIGNERS, injectableIn, TRUST_MANAGER } from '@handover/core';
import { CERT_MANAGER_RIGHTS } from './cert-manager-rights.ts';
import { GROUP, KIND_TABLE } from './crds.ts';
import type { Feature, Reach, Row } from './row.ts';

/** With `--compat trust-manager`. Reading and writing ConfigMaps and Secrets is a right of the operator anyway; deleting is not. */
const TRUST_MANAGER_RIGHTS: readonly Row[] = [
  {
    reach: 'cluster',
    group: TRUST_MANAGER.group,
    resources: ['bundles'],
    verbs: ['list', 'watch'],
    feature: 'trust-manager',
    why: 'Bundles, as users wrote them for trust-manager',
  },
  {
    reach: 'cluster',
    group: TRUST_MANAGER.group,
    resources: ['bundles/status'],
    verbs: ['patch'],
    feature: 'trust-manager',
    why: 'status of Bundles',
  },
  {
    reach: 'cluster',
    group: TRUST_MANAGER.group,
    resources: ['bundles/finalizers'],
    verbs: ['update'],
    feature: 'trust-manager',
    why: 'OpenShift asks for this before a Bundle may own its targets',
  },
  {
    reach: 'watched',
    group: '',
    resources: ['configmaps'],
    verbs: ['delete'],
    feature: 'trust-manager',
    why: 'ConfigMaps in namespaces that a Bundle no longer selects; the policy bundle-targets allows no other',
  },
  {
    reach: 'watched',
    group: '',
    resources: ['secrets'],
    verbs: ['delete'],
    feature: 'secret-targets',
    why: 'Secrets in namespaces that a Bundle no longer selects; the policy bundle-secrets allows no other',
  },
];

const rowFor = { feature: 'pod-certificates' } as const;

/** What it takes to sign PodCertificateRequests. */
const POD_RIGHTS: readonly Row[] = [
  {
    ...rowFor,
    reach: 'cluster',
    group: 'certificates.k8s.io',
    resources: ['podcertificaterequests'],
    verbs: ['list', 'watch'],
    why: 'which pods ask for a certificate, and which they got',
    without: 'pod certificates: PodCertificateRequests are not signed',
  },
  {
    ...rowFor,
    reach: 'cluster',
    group: 'certificates.k8s.io',
    resources: ['podcertificaterequests/status'],
    verbs: ['patch'],
    why: 'the certificate, or the reason why there is none',
  },
  {
    ...rowFor,
    reach: 'cluster',
    group: 'certificates.k8s.io',
    resources: ['signers'],
    verbs: ['sign'],
    names: [ALL_SIGNERS],
    why: 'without it the API server takes no answer; signers of other domains stay out of reach',
  },
  {
    ...rowFor,
    reach: 'cluster',
    group: '',
    resources: ['services'],
    verbs: ['list', 'watch'],
    why: 'the DNS names of a pod: those of the Services that select it',
  },
];

const LOOK = ['get', 'list', 'watch'] as const;
const ours = (scope: 'Namespaced' | 'Cluster', suffix = ''): readonly string[] =>
  Object.values(KIND_TABLE)
    .filter((kind) => kind.scope === scope)
    .map(({ plural }) => `${plural}${suffix}`);

export const LEASE = 'handover';

/** Everything the operator asks of an API server, and why. Roles are made from this table and from nothing else. */
export const RIGHTS: readonly Row[] = [
  ...CERT_MANAGER_RIGHTS,
  {
    reach: 'watched',
    group: GROUP,
    resources: ours('Namespaced'),
    verbs: ['list', 'watch'],
    why: 'the resources that users write',
  },
  {
    reach: 'watched',
    group: GROUP,
    resources: ours('Namespaced', '/status'),
    verbs: ['patch'],
    why: 'status: phase, blockers, conditions',
  },
  {
    reach: 'watched',
    group: '',
    resources: ['secrets'],
    verbs: [...LOOK, 'create', 'patch'],
    why: 'leaves and bundles; RBAC cannot select by label, so this is every Secret there (see SECURITY.md)',
  },
  {
    reach: 'watched',
    group: '',
    resources: ['configmaps'],
    verbs: [...LOOK, 'create', 'patch'],
    why: 'bundles, TLS profiles and platform facts',
  },
  {
    reach: 'watched',
    group: '',
    resources: ['pods'],
    verbs: ['list', 'watch'],
    why: 'which pods mount what, and when they started',
  },
  {
    reach: 'watched',
    group: '',
    resources: ['pods/status'],
    verbs: ['patch'],
    why: 'nudge: an annotation that makes the kubelet refresh volumes at once; no right to change a pod’s spec',
  },
  {
    reach: 'watched',
    group: 'apps',
    resources: ['deployments', 'statefulsets', 'daemonsets'],
    verbs: ['list', 'watch', 'patch'],
    why: 'stamps on pod templates, which roll workloads that load files only at start',
  },
  {
    reach: 'watched',
    group: 'apps',
    resources: ['replicasets'],
    verbs: ['list', 'watch'],
    why: 'from a pod to its Deployment',
  },
  {
    reach: 'watched',
    group: '',
    resources: ['events'],
    verbs: ['create', 'patch'],
    why: 'what happened, for kubectl describe',
  },
  {
    reach: 'watched',
    group: '',
    resources: ['services'],
    verbs: ['get'],
    why: 'Services that an Authority names in spec.consumers: their selector and ports lead to the pods that are asked',
  },
  {
    reach: 'watched',
    group: '',
    resources: ['services'],
    verbs: [...LOOK, 'patch'],
    feature: 'service-ca',
    why: 'Services that ask for a serving certificate by annotation, and the annotation that says why one has none',
  },
  {
    reach: 'cluster',
    group: GROUP,
    resources: ours('Cluster'),
    verbs: ['list', 'watch'],
    why: 'trust that crosses namespaces',
    without:
      'TrustBundles: nothing is spread across namespaces, and no source or target of theirs is looked at',
  },
  {
    reach: 'cluster',
    group: GROUP,
    resources: ours('Cluster', '/status'),
    verbs: ['patch'],
    why: 'status of TrustBundles',
  },
  {
    reach: 'cluster',
    group: '',
    resources: ['namespaces'],
    verbs: ['list', 'watch'],
    why: 'namespaceSelector, of TrustBundles and of issueTo',
    without:
      'issueTo.namespaceSelector: of other namespaces the name alone is known (kubernetes.io/metadata.name), so a selector by any other label selects none of them',
  },
  {
    reach: 'cluster',
    group: 'apiregistration.k8s.io',
    resources: ['apiservices'],
    verbs: [...LOOK, 'patch'],
    why: 'caBundle of APIServices',
    without: 'injection into APIServices, webhook configurations and CRDs: their caBundle is not kept',
  },
  {
    reach: 'cluster',
    group: 'admissionregistration.k8s.io',
    resources: injectableIn('admissionregistration.k8s.io'),
    verbs: [...LOOK, 'patch'],
    why: 'caBundle of webhooks',
  },
  {
    reach: 'cluster',
    group: 'apiextensions.k8s.io',
    resources: ['customresourcedefinitions'],
    verbs: [...LOOK, 'patch'],
    why: 'caBundle of conversion webhooks',
  },
  {
    reach: 'cluster',
    group: 'certificates.k8s.io',
    resources: ['clustertrustbundles'],
    verbs: [...LOOK, 'create', 'patch'],
    why: 'bundles as ClusterTrustBundles; one with a signer needs `attest` on that signer as well (--signers)',
    without: 'ClusterTrustBundles are not written',
  },
  {
    reach: 'cluster',
    group: 'config.openshift.io',
    resources: ['apiservers'],
    verbs: ['list', 'watch'],
    names: ['cluster'],
    feature: 'openshift',
    why: 'TLSProfiles of type OpenShift follow APIServer/cluster',
    without: 'TLSProfiles of type OpenShift',
  },
  {
    reach: 'cluster',
    group: 'config.openshift.io',
    resources: ['clusterversions'],
    verbs: ['get'],
    names: ['version'],
    feature: 'openshift',
    why: 'OPENSHIFT_VERSION among the platform facts',
  },
  {
    reach: 'cluster',
    group: 'authentication.k8s.io',
    resources: ['tokenreviews'],
    verbs: ['create'],
    feature: 'metrics-auth',
    why: 'which account the token of a request for /metrics belongs to',
  },
  {
    reach: 'cluster',
    group: 'authorization.k8s.io',
    resources: ['subjectaccessreviews'],
    verbs: ['create'],
    feature: 'metrics-auth',
    why: 'whether that account may read /metrics',
  },
  {
    reach: 'own',
    group: '',
    resources: ['secrets'],
    verbs: [...LOOK, 'create', 'update'],
    why: 'its own state, one Secret per authority, and the CA keys in it',
  },
  {
    reach: 'own',
    group: '',
    resources: ['configmaps'],
    verbs: ['get', 'create', 'patch'],
    why: 'what it saw of consumers, for `handover status`',
  },
  {
    reach: 'own',
    group: 'coordination.k8s.io',
    resources: ['leases'],
    verbs: ['create'],
    why: 'one leader; creation cannot be narrowed to a name',
  },
  {
    reach: 'own',
    group: 'coordination.k8s.io',
    resources: ['leases'],
    verbs: [...LOOK, 'update'],
    names: [LEASE],
    why: 'one leader',
  },
  ...POD_RIGHTS,
  ...TRUST_MANAGER_RIGHTS,
];

interface RightsOptions {
  /** Namespace the operator runs in. */
  readonly namespace: string;
  /** The only namespaces it looks at; undefined: the whole cluster. */
  readonly namespaced?: readonly string[] | undefined;
  readonly features?: readonly Feature[] | undefined;
  /** Signers whose ClusterTrustBundles it may write: `example.com/mesh`, or `example.com/*`. */
  readonly signers?: readonly string[] | undefined;
}

/** One right as it will be granted. */
export interface Grant {
  /** undefined: in the whole cluster. */
  readonly namespace: string | undefined;
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly names?: readonly string[];
  readonly why: string;
}

const wanted = ({ feature }: Row, features: readonly Feature[]): boolean =>
  feature === undefined || features.includes(feature);

const attest = (signers: readonly string[]): readonly Row[] =>
  signers.length === 0
    ? []
    : [
        {
          reach: 'cluster',
          group: 'certificates.k8s.io',
          resources: ['signers'],
          verbs: ['attest'],
          names: signers,
          why: 'ClusterTrustBundles of these signers',
        },
      ];

/** The table, for one installation. */
export const grantsFor = (options: RightsOptions): readonly Grant[] => {
  const { namespace, namespaced, features = [], signers = [] } = options;
  const placesOf = (reach: Reach): readonly (string | undefined)[] => {
    if (reach === 'own') return [namespace];
    if (namespaced === undefined) return [undefined];
    return reach === 'watched' ? namespaced : [];
  };
  return [...RIGHTS, ...attest(signers)]
    .filter((row) => wanted(row, features))
    .flatMap(({ reach, group, resources, verbs, names, why }) =>
      placesOf(reach).map((place) => ({
        namespace: place,
        group,
        resources,
        verbs,
        ...(names === undefined ? {} : { names }),
        why,
      })),
    );
};

/** What does not work without rights in the whole cluster, in sentences. */
export const lostWithoutCluster = (features: readonly Feature[] = []): readonly string[] =>
  RIGHTS.filter((row) => wanted(row, features)).flatMap(({ without }) =>
    without === undefined ? [] : [without],
  );
