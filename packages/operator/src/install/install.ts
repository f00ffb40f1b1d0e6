import { HandoverError } from '@handover/material';
import { admissionPolicies } from './admission.ts';
import { crds } from './crds.ts';
import { deployment, disruptionBudget, HTTP_PORT, metricsService } from './deployment.ts';
import { type Feature, type Grant, grantsFor } from './rules.ts';

export const DEFAULT_NAMESPACE = 'handover-system';
export const SERVICE_ACCOUNT = 'handover';
const NAME = 'handover';

/** Annotations of others that the operator can be told to honour. */
export const COMPAT = ['cainjector', 'service-ca', 'reloader'] as const;
export type Compat = (typeof COMPAT)[number];

export interface InstallOptions {
  /** Namespace the operator runs in, and keeps its state in. */
  readonly namespace: string;
  readonly image: string;
  /** The only namespaces it looks at, without any right in the cluster; undefined: the whole cluster. */
  readonly namespaced?: readonly string[] | undefined;
  readonly compat?: readonly Compat[] | undefined;
  /** Whether TLSProfiles may follow OpenShift's APIServer/cluster. */
  readonly openshift?: boolean | undefined;
  /** Signers whose ClusterTrustBundles it may write. */
  readonly signers?: readonly string[] | undefined;
}

export type Manifest = Readonly<Record<string, unknown>>;

/** An object to apply, and a word about why it is there. */
export interface Page {
  readonly why: string;
  readonly object: Manifest;
  /** One for each rule, in a Role or ClusterRole. */
  readonly ruleWhys?: readonly string[];
}

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SIGNER = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/([a-z0-9]([-a-z0-9.]*[a-z0-9])?|\*)$/;

/** Options that make sense, namespaces in one order; or a refusal. */
export const checkedOptions = (options: InstallOptions): InstallOptions => {
  const { namespace, namespaced, image, signers = [] } = options;
  const refuse = (what: string): never => {
    throw new HandoverError('INSTALL_OPTION', what);
  };
  for (const name of [namespace, ...(namespaced ?? [])]) {
    if (!LABEL.test(name))
      refuse(
        `${JSON.stringify(name.slice(0, 80))} is not a namespace; use lower-case letters, digits and -, at most 63 of them`,
      );
  }
  if (namespaced?.length === 0) refuse('no namespace to look at; name at least one');
  if (!/^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}$/.test(image))
    refuse(
      `${JSON.stringify(image.slice(0, 80))} is not the name of an image; write it like registry.example/handover:1.0`,
    );
  const bad = signers.find((signer) => !SIGNER.test(signer));
  if (bad !== undefined)
    refuse(
      `${JSON.stringify(bad.slice(0, 80))} is not a signer; write it like example.com/mesh or example.com/*`,
    );
  if (namespaced !== undefined && signers.length > 0)
    refuse('signers are a matter of the whole cluster; leave out signers, or namespaced');
  if (namespaced === undefined) return options;
  return { ...options, namespaced: [...new Set(namespaced)].sort() };
};

export const featuresOf = ({ compat = [], openshift }: InstallOptions): readonly Feature[] => [
  ...(compat.includes('service-ca') ? (['service-ca'] as const) : []),
  ...(openshift === true ? (['openshift'] as const) : []),
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
        why: `It goes to the operator's account and to nobody else.`,
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

/** Everything there is to apply, in the order to apply it in. */
export const pages = (given: InstallOptions): readonly Page[] => {
  const options = checkedOptions(given);
  const { namespace, image, namespaced, compat = [] } = options;
  const labels = { 'app.kubernetes.io/name': NAME };
  // Two installations must not share what has no namespace.
  const prefix = namespace === DEFAULT_NAMESPACE ? NAME : `${NAME}-${namespace}`;
  const workload = {
    name: NAME,
    namespace,
    serviceAccount: SERVICE_ACCOUNT,
    image,
    labels,
    args: [
      'operator',
      '--health-address',
      `0.0.0.0:${HTTP_PORT}`,
      ...(namespaced === undefined ? [] : ['--namespaced', namespaced.join(',')]),
      ...(compat.length === 0 ? [] : ['--compat', compat.join(',')]),
    ],
  };
  const policies = admissionPolicies({
    namespace,
    serviceAccount: SERVICE_ACCOUNT,
    prefix,
    labels,
    cluster: namespaced === undefined,
  });
  return [
    {
      why: 'The operator and its state live here; whoever may read its Secrets has the keys of every CA.',
      object: {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: {
          name: namespace,
          labels: { ...labels, 'pod-security.kubernetes.io/enforce': 'restricted' },
        },
      },
    },
    ...crds(labels).map((object) => ({
      why: object.spec.versions[0]?.schema.openAPIV3Schema.description ?? '',
      object: object as unknown as Manifest,
    })),
    {
      why: "The operator's account.",
      object: {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: SERVICE_ACCOUNT, namespace, labels },
      },
    },
    ...policies.flatMap(({ why, policy, binding }) => [
      { why, object: policy },
      { why: 'It is in force.', object: binding },
    ]),
    ...rolePages(installedGrants(options), namespace, prefix, labels),
    { why: 'One leads, one stands by.', object: deployment(workload) },
    { why: 'For whoever collects metrics.', object: metricsService(workload) },
    { why: 'One of the two stays while nodes are drained.', object: disruptionBudget(workload) },
  ];
};

/** The objects alone. */
export const installation = (options: InstallOptions): readonly Manifest[] =>
  pages(options).map(({ object }) => object);
