import {
  ADOPT,
  injectableIn,
  MANAGED_LABEL,
  NUDGE,
  SERVICE_CA,
  STATE_TYPE,
  TEMPLATE_STAMPS,
  TRUST_MANAGER,
} from '@handover/core';
import {
  type AdmissionRule,
  agreed,
  celOneOf,
  had,
  kept,
  labelled,
  mustBeAgreed,
  OURS,
  onlyAt,
  onlyIn,
  same,
  texts,
  UNOWNED,
} from './admission-rules.ts';
import { CERT_MANAGER_POLICIES } from './cert-manager-rights.ts';
import type { Feature } from './row.ts';

const labelOf = (root: string): string => `${root}.metadata.?labels['${TRUST_MANAGER.bundle}'].orValue('')`;

const isManaged = (root: string): string =>
  `${root}.metadata.?labels['${MANAGED_LABEL}'].orValue('') == 'true'`;

/** A target has the name of its Bundle, and says so. What Handover keeps for its own resources is none, whatever its labels say. */
const isTarget = (root: string): string =>
  `(${labelOf(root)} == ${root}.metadata.name && !(${isManaged(root)}))`;

/** True for all that is no target of a Bundle: other policies are about that. */
const unlessTarget = (resource: 'configmaps' | 'secrets'): string =>
  `request.resource.resource != '${resource}' || !(${isTarget('object')})`;

const ownersOf = (root: string): string => `${root}.metadata.?ownerReferences.orValue([])`;
const isItsBundle = (owner: string): string =>
  `(${owner}.kind == 'Bundle' && ${owner}.apiVersion.startsWith('${TRUST_MANAGER.group}/') && ${owner}.name == object.metadata.name)`;

const was = (field: (root: string) => string): string => `(oldObject == null ? [] : ${field('oldObject')})`;
const finalizersOf = (root: string): string => `${root}.metadata.?finalizers.orValue([])`;

const hashOf = (root: string): string => `${root}.metadata.?annotations['${TRUST_MANAGER.hash}'].orValue('')`;

/** A target before this write, also one that lost its label or its owner; or given over by its owner. */
const wasGiven = [
  'oldObject == null',
  isTarget('oldObject'),
  `(${labelOf('oldObject')} == '' && ${hashOf('oldObject')} != '')`,
  `${ownersOf('oldObject')}.exists(o, ${isItsBundle('o')})`,
  `${had('labels', ADOPT)} == 'true'`,
].join(' || ');

/**
 * Of the targets of Bundles: an object with another owner becomes none without that owner's word, an object that Handover keeps never does, no
 * owner but the Bundle comes or goes, and nothing else is deleted.
 */
const bundleTargetRules = (what: string): readonly AdmissionRule[] => [
  {
    expression: `request.operation != 'DELETE' || ${isTarget('oldObject')}`,
    message: `Handover may delete only ${what} that are targets of a Bundle`,
  },
  {
    expression: `request.operation == 'DELETE' || !(${isTarget('object')}) || (${ownersOf('object')}.all(o, ${isItsBundle('o')} || o in ${was(ownersOf)}) && ${was(ownersOf)}.all(o, ${isItsBundle('o')} || o in ${ownersOf('object')}) && ${finalizersOf('object')} == ${was(finalizersOf)})`,
    message: `Handover may change no owner but the Bundle, and no finalizer, of ${what} that are targets of a Bundle`,
  },
  {
    // A Bundle writes its hash into each target.
    expression: `request.operation == 'DELETE' || oldObject == null || !(${isManaged('oldObject')}) || (${isManaged('object')} && ${hashOf('object')} == ${hashOf('oldObject')})`,
    message: `Handover may write no Bundle into ${what} that it keeps for its own resources`,
  },
  mustBeAgreed(
    `${what} for a Bundle`,
    `request.operation == 'DELETE' || !(${isTarget('object')}) || ${wasGiven}`,
  ),
];

interface Policy {
  readonly name: string;
  readonly why: string;
  readonly group: string;
  readonly resources: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
  /** Without it there is no right to hold in check. */
  readonly feature?: Feature;
  /** With this feature the policy is about these requests alone. */
  readonly only?: readonly {
    readonly feature: Feature;
    readonly name: string;
    readonly expression: string;
  }[];
  readonly rules: readonly AdmissionRule[];
}

const WEBHOOKS = ['object', 'oldObject'].map((root) => `${root}.?webhooks.orValue([])`);
const [webhooks = '', webhooksBefore = ''] = WEBHOOKS;

/** By this annotation, a ConfigMap asks service-ca to write to it. */
const ASKS_SERVICE_CA = `(request.resource.resource == 'configmaps' && ${had('annotations', SERVICE_CA.inject)}.lowerAscii() == 'true')`;

const policiesFor = (namespace: string, features: readonly Feature[]): readonly Policy[] => [
  {
    name: 'pods',
    why: 'A pod may be nudged, by one annotation. pods/status would also allow its labels, finalizers and status to be changed.',
    group: '',
    resources: ['pods/status'],
    operations: ['UPDATE'],
    rules: onlyIn('pods', [], celOneOf(NUDGE)),
  },
  {
    name: 'workloads',
    why: 'A workload may be stamped, which rolls it. Its containers and replicas may not be changed.',
    group: 'apps',
    resources: ['deployments', 'statefulsets', 'daemonsets'],
    operations: ['UPDATE'],
    rules: [
      // The API server counts changes of a DaemonSet's template in an annotation, and does so before it asks this policy.
      ...onlyIn('workloads', ['spec'], `${OURS} || k == 'deprecated.daemonset.template.generation'`),
      {
        expression: [
          kept(['spec'], celOneOf('template')),
          kept(['spec', 'template'], celOneOf('metadata')),
          kept(['spec', 'template', 'metadata'], celOneOf('annotations')),
          kept(['spec', 'template', 'metadata', 'annotations'], celOneOf(...TEMPLATE_STAMPS)),
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
    why: 'What it writes in other namespaces says so, by a label, and has no owner reference: deleting an owner would delete it.',
    group: '',
    resources: ['secrets', 'configmaps'],
    operations: ['CREATE', 'UPDATE'],
    only: [
      { feature: 'trust-manager', name: 'no-bundle-target', expression: unlessTarget('configmaps') },
      { feature: 'secret-targets', name: 'no-bundle-secret', expression: unlessTarget('secrets') },
    ],
    rules: [
      {
        expression: `request.namespace == '${namespace}' || ${labelled}`,
        message: `Handover may write only Secrets and ConfigMaps that carry the label ${MANAGED_LABEL}: "true"`,
      },
      mustBeAgreed(
        'Secrets and ConfigMaps',
        `request.namespace == '${namespace}' || ${agreed(...(features.includes('service-ca') ? [ASKS_SERVICE_CA] : []))}`,
      ),
      UNOWNED,
    ],
  },
  {
    name: 'bundle-targets',
    why: 'Of the ConfigMaps that trust-manager’s Bundles write: only the Bundle owns them, and nothing else may be deleted.',
    group: '',
    resources: ['configmaps'],
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    feature: 'trust-manager',
    rules: bundleTargetRules('ConfigMaps'),
  },
  {
    name: 'bundle-secrets',
    why: 'The same for Secrets.',
    group: '',
    resources: ['secrets'],
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    feature: 'secret-targets',
    rules: bundleTargetRules('Secrets'),
  },
  {
    name: 'trustbundles',
    why: 'Only ClusterTrustBundles of its own, and those that it may take over.',
    group: 'certificates.k8s.io',
    resources: ['clustertrustbundles'],
    operations: ['CREATE', 'UPDATE'],
    rules: [
      {
        expression: labelled,
        message: `Handover may write only ClusterTrustBundles that carry the label ${MANAGED_LABEL}: "true"`,
      },
      mustBeAgreed('ClusterTrustBundles', agreed()),
      UNOWNED,
    ],
  },
  {
    name: 'services',
    why: 'Only the two annotations of a Service that say why it has no certificate.',
    group: '',
    resources: ['services'],
    operations: ['UPDATE'],
    feature: 'service-ca',
    rules: onlyIn('Services', [], celOneOf(SERVICE_CA.error, SERVICE_CA.errorNum)),
  },
  {
    name: 'webhooks',
    why: 'Only the bundle of a webhook: not its address, nor what it sees.',
    group: 'admissionregistration.k8s.io',
    resources: injectableIn('admissionregistration.k8s.io'),
    operations: ['UPDATE'],
    rules: [
      ...onlyIn('webhook configurations', ['webhooks']),
      {
        // In the same order: mutating webhooks are called in it.
        expression: [
          `${webhooks}.map(w, w.name) == ${webhooksBefore}.map(w, w.name)`,
          `${webhooks}.all(w, ${webhooksBefore}.exists(o, o.name == w.name && ${same('w', 'o', celOneOf('clientConfig'))} && ${same('w.clientConfig', 'o.clientConfig', celOneOf('caBundle'))}))`,
        ].join(' && '),
        message: 'Handover may change only clientConfig.caBundle of webhooks',
      },
    ],
  },
  {
    name: 'apiservices',
    why: 'Only the bundle of an APIService.',
    group: 'apiregistration.k8s.io',
    resources: ['apiservices'],
    operations: ['UPDATE'],
    rules: onlyAt(
      'APIServices',
      ['spec'],
      celOneOf('caBundle'),
      'Handover may change only spec.caBundle of APIServices',
    ),
  },
  {
    name: 'crds',
    why: 'Only the bundle of a CustomResourceDefinition’s conversion webhook.',
    group: 'apiextensions.k8s.io',
    resources: ['customresourcedefinitions'],
    operations: ['UPDATE'],
    rules: onlyAt(
      'CustomResourceDefinitions',
      ['spec', 'conversion', 'webhook', 'clientConfig'],
      celOneOf('caBundle'),
      'Handover may change only spec.conversion.webhook.clientConfig.caBundle of CustomResourceDefinitions',
    ),
  },
  ...CERT_MANAGER_POLICIES,
];

export interface PolicyManifest {
  readonly why: string;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly binding: Readonly<Record<string, unknown>>;
}

interface AdmissionOptions {
  /** Namespace the operator runs in. */
  readonly namespace: string;
  readonly serviceAccount: string;
  /** What the names of objects without a namespace begin with. */
  readonly prefix: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether it has rights on objects without a namespace. */
  readonly cluster: boolean;
  readonly features: readonly Feature[];
}

const CLUSTER_ONLY: readonly string[] = ['trustbundles', 'webhooks', 'apiservices', 'crds'];

/** Policies that hold the operator's own account to what it is for. They bind no other account. */
export const admissionPolicies = (options: AdmissionOptions): readonly PolicyManifest[] => {
  const { namespace, serviceAccount, prefix, labels, cluster, features } = options;
  return policiesFor(namespace, features)
    .filter(({ name }) => cluster || !CLUSTER_ONLY.includes(name))
    .filter(({ feature }) => feature === undefined || features.includes(feature))
    .map(({ name, why, group, resources, operations, only = [], rules }) => {
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
              ...only
                .filter(({ feature }) => features.includes(feature))
                .map(({ name: about, expression }) => ({ name: about, expression })),
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
