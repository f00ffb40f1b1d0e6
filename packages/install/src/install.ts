import type { Compat } from '@handover/core';
import { TLS_PROFILE_PATH } from '@handover/material';
import { admissionPolicies } from './admission.ts';
import { crds, GROUP, KIND_TABLE } from './crds.ts';
import {
  DEFAULT_CAS,
  deployment,
  disruptionBudget,
  HTTP_PORT,
  METRICS_CERT,
  METRICS_PORT,
  metricsService,
  networkPolicy,
} from './deployment.ts';
import { InstallError } from './error.ts';
import { requestsPolicy } from './requests-policy.ts';
import type { Feature } from './row.ts';
import { type Grant, grantsFor } from './rules.ts';

export const DEFAULT_NAMESPACE = 'handover-system';
export const SERVICE_ACCOUNT = 'handover';
const NAME = 'handover';

/** Who may read metrics: everyone who reaches the port, or accounts that RBAC lets do so. */
export const METRICS_AUTH = ['none', 'token'] as const;
export type MetricsAuth = (typeof METRICS_AUTH)[number];

export interface InstallOptions {
  /** Namespace the operator runs in, and keeps its state in. */
  readonly namespace: string;
  readonly image: string;
  /** The only namespaces it looks at, without any right in the cluster; undefined: the whole cluster. */
  readonly namespaced?: readonly string[] | undefined;
  readonly compat?: readonly Compat[] | undefined;
  /** Whether TLSProfiles may follow OpenShift's APIServer/cluster. */
  readonly openshift?: boolean | undefined;
  /** Whether Authorities may sign PodCertificateRequests. */
  readonly podCertificates?: boolean | undefined;
  /** Signers whose ClusterTrustBundles it may write. */
  readonly signers?: readonly string[] | undefined;
  /** Default: none. */
  readonly metricsAuth?: MetricsAuth | undefined;
  /** Namespace that TrustBundles and Bundles take Secrets and ConfigMaps from. Default: the operator's own; of Bundles cert-manager. */
  readonly trustNamespace?: string | undefined;
  /** Namespace in which a running cainjector counts. Default: cert-manager. */
  readonly cainjectorNamespace?: string | undefined;
  /** ConfigMap in its namespace with the CAs of `defaultCas` (TrustBundles) and `useDefaultCAs` (Bundles), under the key ca.crt. */
  readonly defaultCas?: string | undefined;
  /** Whether Bundles may write Secrets. */
  readonly secretTargets?: boolean | undefined;
  /** How many run, one of which leads. Default {@link REPLICAS}. */
  readonly replicas?: number | undefined;
}

/**
 * With the namespace go the keys of every CA, with a definition every resource: neither goes because a tool no longer manages it. The words of
 * Argo CD (docs: sync options), Flux (docs: Kustomization, prune) and Helm (docs: resource policy).
 */
const KEPT_BY_TOOLS = {
  'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
  'helm.sh/resource-policy': 'keep',
  'kustomize.toolkit.fluxcd.io/prune': 'disabled',
} as const;

export const REPLICAS = { least: 1, most: 5, default: 2 } as const;

export type Manifest = Readonly<Record<string, unknown>>;

/** An object to apply, and a word about why it is there. */
export interface Page {
  readonly why: string;
  readonly object: Manifest;
  /** One for each rule, in a Role or ClusterRole. */
  readonly ruleWhys?: readonly string[];
}

export const PATTERNS = {
  namespace: /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
  signer: /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/([a-z0-9]([-a-z0-9.]*[a-z0-9])?|\*)$/,
  object: /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/,
  image: /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}$/,
} as const;

/** Options that make sense, namespaces in one order; or a refusal. */
export const checkedOptions = (options: InstallOptions): InstallOptions => {
  const { namespace, namespaced, image, signers = [], compat = [], replicas = REPLICAS.default } = options;
  const refuse = (what: string): never => {
    throw new InstallError('INSTALL_OPTION', what);
  };
  const named = [
    namespace,
    ...(namespaced ?? []),
    ...(options.trustNamespace === undefined ? [] : [options.trustNamespace]),
    ...(options.cainjectorNamespace === undefined ? [] : [options.cainjectorNamespace]),
  ];
  for (const name of named) {
    if (!PATTERNS.namespace.test(name))
      refuse(
        `${JSON.stringify(name.slice(0, 80))} is not a namespace; use lower-case letters, digits and -, at most 63 of them`,
      );
  }
  if (namespaced?.length === 0) refuse('no namespace to look at; name at least one');
  if (!PATTERNS.image.test(image))
    refuse(
      `${JSON.stringify(image.slice(0, 80))} is not the name of an image; write it like registry.example/handover:1.0`,
    );
  const bad = signers.find((signer) => !PATTERNS.signer.test(signer));
  if (bad !== undefined)
    refuse(
      `${JSON.stringify(bad.slice(0, 80))} is not a signer; write it like example.com/mesh or example.com/*`,
    );
  if (namespaced !== undefined && signers.length > 0)
    refuse('--signers needs cluster-wide rights; remove --signers or --namespaced');
  if (namespaced !== undefined && options.podCertificates === true)
    refuse('--pod-certificates needs cluster-wide rights; remove --pod-certificates or --namespaced');
  // The operator refuses it too, so its pods would never start.
  const wide = compat.find((name) => name !== 'reloader');
  if (namespaced !== undefined && wide !== undefined)
    refuse(`--compat ${wide} needs cluster-wide rights; remove ${wide} or --namespaced`);
  const { defaultCas, secretTargets } = options;
  if (!compat.includes('trust-manager') && secretTargets === true)
    refuse('--secret-targets has no effect alone; add trust-manager to --compat');
  if (!compat.includes('cainjector') && options.cainjectorNamespace !== undefined)
    refuse('--cainjector-namespace has no effect alone; add cainjector to --compat');
  if (defaultCas !== undefined && !PATTERNS.object.test(defaultCas))
    refuse(
      `${JSON.stringify(defaultCas.slice(0, 80))} is not the name of a ConfigMap; use lower-case letters, digits, - and .`,
    );
  if (namespaced !== undefined && options.metricsAuth === 'token')
    refuse(
      '--metrics-auth token needs the cluster-wide right to review tokens; remove --metrics-auth or --namespaced',
    );
  if (!Number.isInteger(replicas) || replicas < REPLICAS.least || replicas > REPLICAS.most)
    refuse(`${replicas} is not a number of replicas; use ${REPLICAS.least} to ${REPLICAS.most}`);
  if (namespaced === undefined) return options;
  return { ...options, namespaced: [...new Set(namespaced)].sort() };
};

export const featuresOf = ({
  compat = [],
  openshift,
  metricsAuth,
  podCertificates,
  secretTargets,
}: InstallOptions): readonly Feature[] => [
  ...(compat.includes('trust-manager') ? (['trust-manager'] as const) : []),
  ...(secretTargets === true ? (['secret-targets'] as const) : []),
  ...(compat.includes('service-ca') ? (['service-ca'] as const) : []),
  ...(openshift === true ? (['openshift'] as const) : []),
  ...(metricsAuth === 'token' ? (['metrics-auth'] as const) : []),
  ...(podCertificates === true ? (['pod-certificates'] as const) : []),
];

/** What the operator may do in this installation, as the Roles will say. */
export const installedGrants = (options: InstallOptions): readonly Grant[] =>
  grantsFor({ ...options, features: featuresOf(options) });

const ruleOf = ({ group, resources, verbs, names }: Grant): Manifest => ({
  apiGroups: [group],
  resources,
  ...(names === undefined ? {} : { resourceNames: names }),
  verbs,
});

const rolePages = (
  grants: readonly Grant[],
  namespace: string,
  prefix: string,
  labels: Readonly<Record<string, string>>,
): readonly Page[] => {
  const places = [...new Set(grants.map((grant) => grant.namespace))];
  return places.flatMap((place): readonly Page[] => {
    const here = grants.filter((grant) => grant.namespace === place);
    const kind = place === undefined ? 'ClusterRole' : 'Role';
    const metadata = { name: prefix, ...(place === undefined ? {} : { namespace: place }), labels };
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    return [
      {
        why: `What the operator may do ${place === undefined ? 'in the whole cluster' : `in namespace ${place}`}.`,
        ruleWhys: here.map(({ why }) => why),
        object: { apiVersion, kind, metadata, rules: here.map(ruleOf) },
      },
      {
        why: `It binds the operator's account and no other.`,
        object: {
          apiVersion,
          kind: `${kind}Binding`,
          metadata,
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: prefix },
          subjects: [{ kind: 'ServiceAccount', name: SERVICE_ACCOUNT, namespace }],
        },
      },
    ];
  });
};

const metricsReader = (prefix: string, labels: Readonly<Record<string, string>>): Page => ({
  why: 'May read metrics. Bind it to the account that collects them.',
  ruleWhys: ['what the operator counts'],
  object: {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: `${prefix}-metrics-reader`, labels },
    rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
  },
});

const READ = ['get', 'list', 'watch'] as const;

/**
 * Roles for people. Kubernetes adds them to its roles view and edit, and with these to admin. A rotator may patch and not update: the policy
 * `requests` lets such an account change the two annotations that ask, and nothing else.
 */
const peoplesRoles = (prefix: string, labels: Readonly<Record<string, string>>): readonly Page[] => {
  const role = (
    name: string,
    into: 'view' | 'edit',
    why: string,
    rules: readonly (readonly [string, object])[],
  ): Page => ({
    why,
    ruleWhys: rules.map(([reason]) => reason),
    object: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: {
        name: `${prefix}-${name}`,
        labels: { ...labels, [`rbac.authorization.k8s.io/aggregate-to-${into}`]: 'true' },
      },
      rules: rules.map(([, rule]) => rule),
    },
  });
  const resources = Object.values(KIND_TABLE).map(({ plural }) => plural);
  const reading = [
    'what `handover status` and `plan` show, without a Secret',
    { apiGroups: [GROUP], resources, verbs: READ },
  ] as const;
  return [
    role('viewer', 'view', 'May see how rotations stand. No Secret can be read with it.', [reading]),
    role(
      'rotator',
      'edit',
      'May ask for rotations and distrust CAs, and see how they stand. No Secret can be read with it.',
      [
        reading,
        [
          'the annotations that ask; the policy requests allows no other change without the right to update',
          { apiGroups: [GROUP], resources: ['authorities'], verbs: ['patch'] },
        ],
      ],
    ),
  ];
};

/** Everything there is to apply, in the order to apply it in. */
export const pages = (given: InstallOptions): readonly Page[] => {
  const options = checkedOptions(given);
  const { namespace, image, namespaced, compat = [], replicas = REPLICAS.default } = options;
  const metricsByToken = options.metricsAuth === 'token';
  const labels = { 'app.kubernetes.io/name': NAME };
  // Two installations must not share what has no namespace.
  const prefix = namespace === DEFAULT_NAMESPACE ? NAME : `${NAME}-${namespace}`;
  const workload = {
    name: NAME,
    namespace,
    serviceAccount: SERVICE_ACCOUNT,
    image,
    replicas,
    labels,
    metricsByToken,
    defaultCas: options.defaultCas,
    args: [
      'operator',
      '--health-address',
      `0.0.0.0:${HTTP_PORT}`,
      ...(namespaced === undefined ? [] : ['--namespaced', namespaced.join(',')]),
      ...(compat.length === 0 ? [] : ['--compat', compat.join(',')]),
      ...(options.trustNamespace === undefined ? [] : ['--trust-namespace', options.trustNamespace]),
      ...(options.cainjectorNamespace === undefined
        ? []
        : ['--cainjector-namespace', options.cainjectorNamespace]),
      ...(options.defaultCas === undefined ? [] : ['--default-cas', DEFAULT_CAS]),
      ...(options.secretTargets === true ? ['--secret-targets'] : []),
      ...(metricsByToken
        ? [
            '--metrics-auth',
            'token',
            '--metrics-address',
            `0.0.0.0:${METRICS_PORT}`,
            '--metrics-cert',
            METRICS_CERT,
            '--metrics-tls-profile',
            TLS_PROFILE_PATH,
          ]
        : []),
    ],
  };
  const policies = admissionPolicies({
    namespace,
    serviceAccount: SERVICE_ACCOUNT,
    prefix,
    labels,
    cluster: namespaced === undefined,
    features: featuresOf(options),
  });
  return [
    {
      why: 'The operator and its state live here; anyone who can read its Secrets holds every CA key.',
      object: {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: {
          name: namespace,
          labels: { ...labels, 'pod-security.kubernetes.io/enforce': 'restricted' },
          annotations: KEPT_BY_TOOLS,
        },
      },
    },
    ...crds(labels).map((object) => ({
      why: object.spec.versions[0]?.schema.openAPIV3Schema.description ?? '',
      object: {
        ...object,
        metadata: { ...object.metadata, annotations: KEPT_BY_TOOLS },
      } as unknown as Manifest,
    })),
    {
      why: "The operator's account.",
      object: {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: SERVICE_ACCOUNT, namespace, labels },
      },
    },
    ...[...policies, ...(namespaced === undefined ? [requestsPolicy(prefix, labels)] : [])].flatMap(
      ({ why, policy, binding }) => [
        { why, object: policy },
        { why: 'Puts the policy in force.', object: binding },
      ],
    ),
    ...rolePages(installedGrants(options), namespace, prefix, labels),
    ...(metricsByToken ? [metricsReader(prefix, labels)] : []),
    ...(namespaced === undefined ? peoplesRoles(prefix, labels) : []),
    {
      why: 'Only probes and scrapers may connect. Outgoing traffic is open: the API server’s address differs by cluster.',
      object: networkPolicy(workload),
    },
    { why: 'One leads, the others stand by.', object: deployment(workload) },
    { why: 'For programs that collect metrics.', object: metricsService(workload) },
    { why: 'At most one replica is evicted while nodes are drained.', object: disruptionBudget(workload) },
  ];
};

/** The objects alone. */
export const installation = (options: InstallOptions): readonly Manifest[] =>
  pages(options).map(({ object }) => object);

/** What an installation keeps when it goes: keys of CAs in its namespace, and the resources that people wrote. */
const KEPT: readonly unknown[] = ['Namespace', 'CustomResourceDefinition'];

/** What to delete, in order: the operator first, the policies that restrict it last. */
export const removablePages = (options: InstallOptions): readonly Page[] =>
  pages(options)
    .filter(({ object }) => !KEPT.includes(object.kind))
    .reverse();

export const removable = (options: InstallOptions): readonly Manifest[] =>
  removablePages(options).map(({ object }) => object);
