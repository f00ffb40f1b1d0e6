import { MANAGED_LABEL, NUDGE, STATE_TYPE, TEMPLATE_STAMPS } from '../marks.ts';

/** A rule in CEL, and what the API server answers when it does not hold. */
interface Rule {
  readonly expression: string;
  readonly message: string;
}

interface Policy {
  readonly name: string;
  readonly why: string;
  readonly group: string;
  readonly resources: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE')[];
  readonly rules: readonly Rule[];
}

const texts = (...items: readonly string[]): string => `[${items.map((item) => `'${item}'`).join(', ')}]`;
const oneOf = (...keys: readonly string[]): string => `k in ${texts(...keys)}`;

/**
 * Two maps are equal but for the keys that `but` describes, a CEL term about `k`. Every key is looked at, also those of a later
 * Kubernetes: a list of fields to compare would let through what it does not know.
 */
const same = (now: string, was: string, but: string): string =>
  `${now}.all(k, ${but} || (k in ${was} && ${was}[k] == ${now}[k])) && ${was}.all(k, ${but} || k in ${now})`;

/** The same for the map at a path of the object; one that is not there counts as empty. */
const kept = (path: readonly string[], but: string): string => {
  const at = (root: string) => (path.length === 0 ? root : `${[root, ...path].join('.?')}.orValue({})`);
  return same(at('object'), at('oldObject'), but);
};

// What the API server itself changes with every write.
const BOOKKEEPING = ['managedFields', 'resourceVersion', 'generation'] as const;
const OURS = "k.startsWith('handover.dev/')";

/** Everything as it was but annotations of ours, and the fields named. */
const onlyIn = (what: string, fields: readonly string[], annotations = OURS): readonly Rule[] => [
  {
    expression: kept([], oneOf('metadata', ...fields)),
    message: `Handover may change only annotations${fields.map((field) => ` and ${field}`).join('')} of ${what}`,
  },
  {
    expression: kept(['metadata'], oneOf('annotations', ...BOOKKEEPING)),
    message: `Handover may change only annotations in the metadata of ${what}`,
  },
  {
    expression: kept(['metadata', 'annotations'], annotations),
    message: `Handover may not change this annotation of ${what}`,
  },
];

/** All the way down a path of maps, nothing but the next one has changed; in the last, nothing but `but`. */
const onlyAt = (what: string, path: readonly string[], but: string, message: string): readonly Rule[] => [
  ...onlyIn(what, path.slice(0, 1)),
  {
    expression: path
      .map((_, index) => {
        const next = path[index + 1];
        return kept(path.slice(0, index + 1), next === undefined ? but : oneOf(next));
      })
      .join(' && '),
    message,
  },
];

const WEBHOOKS = ['object', 'oldObject'].map((root) => `${root}.?webhooks.orValue([])`);
const [webhooks = '', webhooksBefore = ''] = WEBHOOKS;

const policiesFor = (namespace: string): readonly Policy[] => [
  {
    name: 'pods',
    why: 'A pod may be nudged, by one annotation. pods/status would also allow its labels, finalizers and status to be changed.',
    group: '',
    resources: ['pods/status'],
    operations: ['UPDATE'],
    rules: onlyIn('pods', [], oneOf(NUDGE)),
  },
  {
    name: 'workloads',
    why: 'A workload may be stamped, which rolls it. Not what it runs, nor how often.',
    group: 'apps',
    resources: ['deployments', 'statefulsets', 'daemonsets'],
    operations: ['UPDATE'],
    rules: [
      // The API server counts changes of a DaemonSet's template in an annotation, and does so before it asks this policy.
      ...onlyIn('workloads', ['spec'], `${OURS} || k == 'deprecated.daemonset.template.generation'`),
      {
        expression: [
          kept(['spec'], oneOf('template')),
          kept(['spec', 'template'], oneOf('metadata')),
          kept(['spec', 'template', 'metadata'], oneOf('annotations')),
          kept(['spec', 'template', 'metadata', 'annotations'], oneOf(...TEMPLATE_STAMPS)),
        ].join(' && '),
        message: `Handover may change only ${TEMPLATE_STAMPS.join(', ')} in the spec of workloads: annotations of spec.template`,
      },
    ],
  },
  {
    name: 'secrets',
    why: 'Secrets of certificates, and its own state. Never a token of a service account, which would be another account’s power.',
    group: '',
    resources: ['secrets'],
    operations: ['CREATE', 'UPDATE'],
    rules: [
      {
        expression: `object.type in ${texts('kubernetes.io/tls', 'Opaque')} || (object.type == '${STATE_TYPE}' && request.namespace == '${namespace}')`,
        message: `Handover may write only Secrets of type kubernetes.io/tls and Opaque, and ${STATE_TYPE} in namespace ${namespace}`,
      },
    ],
  },
  {
    name: 'data',
    why: 'What it writes in other namespaces says so, by a label, and is owned by nobody: deleting an owner would delete it.',
    group: '',
    resources: ['secrets', 'configmaps'],
    operations: ['CREATE', 'UPDATE'],
    rules: [
      {
        expression: `request.namespace == '${namespace}' || object.metadata.?labels['${MANAGED_LABEL}'].orValue('') == 'true'`,
        message: `Handover may write only Secrets and ConfigMaps that carry the label ${MANAGED_LABEL}: "true"`,
      },
      {
        expression: ['ownerReferences', 'finalizers']
          .map(
            (field) =>
              `object.metadata.?${field}.orValue([]) == (oldObject == null ? [] : oldObject.metadata.?${field}.orValue([]))`,
          )
          .join(' && '),
        message: 'Handover may not change owners or finalizers',
      },
    ],
  },
  {
    name: 'webhooks',
    why: 'Of webhooks, the bundle by which they are verified. Not where they are, nor what they see.',
    group: 'admissionregistration.k8s.io',
    resources: ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'],
    operations: ['UPDATE'],
    rules: [
      ...onlyIn('webhook configurations', ['webhooks']),
      {
        // In the same order: mutating webhooks are called in it.
        expression: [
          `${webhooks}.map(w, w.name) == ${webhooksBefore}.map(w, w.name)`,
          `${webhooks}.all(w, ${webhooksBefore}.exists(o, o.name == w.name && ${same('w', 'o', oneOf('clientConfig'))} && ${same('w.clientConfig', 'o.clientConfig', oneOf('caBundle'))}))`,
        ].join(' && '),
        message: 'Handover may change only clientConfig.caBundle of webhooks',
      },
    ],
  },
  {
    name: 'apiservices',
    why: 'Of APIServices, the bundle.',
    group: 'apiregistration.k8s.io',
    resources: ['apiservices'],
    operations: ['UPDATE'],
    rules: onlyAt(
      'APIServices',
      ['spec'],
      oneOf('caBundle'),
      'Handover may change only spec.caBundle of APIServices',
    ),
  },
  {
    name: 'crds',
    why: 'Of CustomResourceDefinitions, the bundle of the conversion webhook.',
    group: 'apiextensions.k8s.io',
    resources: ['customresourcedefinitions'],
    operations: ['UPDATE'],
    rules: onlyAt(
      'CustomResourceDefinitions',
      ['spec', 'conversion', 'webhook', 'clientConfig'],
      oneOf('caBundle'),
      'Handover may change only spec.conversion.webhook.clientConfig.caBundle of CustomResourceDefinitions',
    ),
  },
];

export interface PolicyManifest {
  readonly why: string;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly binding: Readonly<Record<string, unknown>>;
}

export interface AdmissionOptions {
  /** Namespace the operator runs in. */
  readonly namespace: string;
  readonly serviceAccount: string;
  /** What the names of objects without a namespace begin with. */
  readonly prefix: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether it has rights on objects without a namespace. */
  readonly cluster: boolean;
}

const CLUSTER_ONLY: readonly string[] = ['webhooks', 'apiservices', 'crds'];

/** Policies that hold the operator's own account to what it is for. They bind nobody else. */
export const admissionPolicies = (options: AdmissionOptions): readonly PolicyManifest[] => {
  const { namespace, serviceAccount, prefix, labels, cluster } = options;
  return policiesFor(namespace)
    .filter(({ name }) => cluster || !CLUSTER_ONLY.includes(name))
    .map(({ name, why, group, resources, operations, rules }) => {
      const metadata = { name: `${prefix}-${name}`, labels };
      return {
        why,
        policy: {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingAdmissionPolicy',
          metadata,
          spec: {
            failurePolicy: 'Fail',
            matchConstraints: {
              // With the scope that the API server would put there: otherwise each `kubectl apply` would take it away again.
              resourceRules: [{ apiGroups: [group], apiVersions: ['*'], operations, resources, scope: '*' }],
            },
            matchConditions: [
              {
                name: 'the-operator',
                expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${serviceAccount}'`,
              },
            ],
            validations: rules.map((rule) => ({ ...rule, reason: 'Forbidden' })),
          },
        },
        binding: {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingAdmissionPolicyBinding',
          metadata,
          spec: { policyName: metadata.name, validationActions: ['Deny'] },
        },
      };
    });
};
