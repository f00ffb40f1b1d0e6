import { COMPAT } from '@handover/core';
import { HandoverError } from '@handover/material';
import { stringify } from 'yaml';
import {
  checkedOptions,
  DEFAULT_NAMESPACE,
  type InstallOptions,
  METRICS_AUTH,
  PATTERNS,
  REPLICAS,
} from '../install.ts';
import { templates } from './template.ts';
import { variants } from './variants.ts';

const GENERATED = 'Made by `npm run chart` from packages/install/src; edit that.';

/** Kinds by file; what is nowhere else is the operator itself. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'crds.yaml': ['CustomResourceDefinition'],
  'admission-policies.yaml': ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
  'roles.yaml': ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
};
/** A release's namespace is there before the release, and must outlive it: the keys of every CA are in it. */
const LEFT_OUT = ['Namespace'];

const WATCHED = '{{- $watched := .Values.namespaced | uniq | sortAlpha }}\n';

/** The value of a flag's name: metricsAuth for metrics-auth. */
const helmValue = (flag: string): string =>
  flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());

const refusalOf = (options: Partial<InstallOptions>): string => {
  try {
    checkedOptions({ namespace: 'a', image: 'a', ...options });
  } catch (error) {
    if (error instanceof HandoverError)
      return error.message.replace(/--([a-z-]+)/g, (_, flag) => helmValue(flag));
    throw error;
  }
  throw new Error('these options go together');
};

/** What `handover install` refuses about two options together, in the same words but for the dashes of flags. */
const REFUSALS: readonly (readonly [string, string])[] = [
  ['eq .Values.metricsAuth "token"', refusalOf({ namespaced: ['a'], metricsAuth: 'token' })],
  ['.Values.signers', refusalOf({ namespaced: ['a'], signers: ['a.b/c'] })],
  ...COMPAT.filter((name) => name !== 'reloader').map(
    (name) => [`has "${name}" .Values.compat`, refusalOf({ namespaced: ['a'], compat: [name] })] as const,
  ),
];

const helpers = (): string =>
  [
    `{{- /* ${GENERATED} */ -}}`,
    '{{- /* Two installations must not share what has no namespace. */ -}}',
    '{{- define "handover.prefix" -}}',
    `{{- if eq .Release.Namespace "${DEFAULT_NAMESPACE}" }}handover{{ else }}handover-{{ .Release.Namespace }}{{ end -}}`,
    '{{- end -}}',
    '',
  ].join('\n');

const refusals = (): string =>
  [
    `{{- /* ${GENERATED} */ -}}`,
    '{{- if .Values.namespaced }}',
    ...REFUSALS.map(([asked, message]) => `{{- if ${asked} }}{{ fail ${JSON.stringify(message)} }}{{ end }}`),
    '{{- end }}',
    `{{- if and .Values.secretTargets (not (has "trust-manager" .Values.compat)) }}{{ fail ${JSON.stringify(refusalOf({ secretTargets: true }))} }}{{ end }}`,
    `{{- if and .Values.cainjectorNamespace (not (has "cainjector" .Values.compat)) }}{{ fail ${JSON.stringify(refusalOf({ cainjectorNamespace: 'a' }))} }}{{ end }}`,
    '',
  ].join('\n');

const withReplicas = (text: string): string =>
  text.replace(/^ {2}replicas: \d+$/m, '  replicas: {{ $.Values.replicas }}');

const fileOf = (kind: string): string =>
  Object.entries(FILES).find(([, kinds]) => kinds.includes(kind))?.[0] ?? 'operator.yaml';

const VALUES = `# ${GENERATED}
# Image of the operator; empty: handover:<appVersion of the chart>.
image: ""
# Number of replicas; one leads.
replicas: ${REPLICAS.default}
# Manage only these namespaces, without cluster-wide rights; empty: the whole cluster.
namespaced: []
# Programs whose annotations or resources are honoured: ${COMPAT.join(', ')}.
compat: []
# Namespace that TrustBundles, and trust-manager's Bundles, take Secrets and ConfigMaps from; empty: the operator's own, for Bundles cert-manager.
trustNamespace: ""
# Namespace of a cainjector that still runs, whose objects are left alone; empty: cert-manager. Needs cainjector among compat.
cainjectorNamespace: ""
# ConfigMap in the release's namespace with the CAs of defaultCas (TrustBundles) and useDefaultCAs (Bundles), under the key ca.crt.
defaultCas: ""
# Let Bundles write Secrets; needs trust-manager among compat.
secretTargets: false
# Signers whose ClusterTrustBundles the operator may write.
signers: []
# Let TLSProfiles follow OpenShift's APIServer/cluster.
openshift: false
# Let Authorities with spec.podCertificates sign PodCertificateRequests (Kubernetes 1.35 and later).
podCertificates: false
# Access to metrics. none: anyone who can reach the port; token: accounts with the RBAC right, over TLS.
metricsAuth: none
# Install and upgrade the custom resource definitions. False for a second installation in one cluster, which shares them.
crds: true
`;

const list = (items: object): object => ({ type: 'array', items });
const pattern = (source: RegExp): object => ({ type: 'string', pattern: source.source });

const schema = (): object => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: GENERATED,
  type: 'object',
  additionalProperties: false,
  properties: {
    image: { anyOf: [{ const: '' }, pattern(PATTERNS.image)] },
    replicas: { type: 'integer', minimum: REPLICAS.least, maximum: REPLICAS.most },
    namespaced: list(pattern(PATTERNS.namespace)),
    compat: list({ enum: COMPAT }),
    trustNamespace: { anyOf: [{ const: '' }, pattern(PATTERNS.namespace)] },
    cainjectorNamespace: { anyOf: [{ const: '' }, pattern(PATTERNS.namespace)] },
    defaultCas: { anyOf: [{ const: '' }, pattern(PATTERNS.object)] },
    secretTargets: { type: 'boolean' },
    signers: list(pattern(PATTERNS.signer)),
    openshift: { type: 'boolean' },
    podCertificates: { type: 'boolean' },
    metricsAuth: { enum: METRICS_AUTH },
    crds: { type: 'boolean' },
    // What helm itself puts there.
    global: { type: 'object' },
  },
});

const NOTES = `Handover {{ .Chart.AppVersion }} runs in namespace {{ .Release.Namespace }}.

  kubectl -n {{ .Release.Namespace }} rollout status deployment/handover
  kubectl -n {{ .Release.Namespace }} port-forward deployment/handover 8082

Then the dashboard is at http://127.0.0.1:8082. Uninstalling keeps this namespace, the custom resources and every Secret.
`;

/** Everything in the chart's folder, by path: the same objects as \`handover install\` prints, with its options as values. */
export const chartFiles = (version: string): ReadonlyMap<string, string> => {
  const files = new Map<string, string>([
    [
      'Chart.yaml',
      `# ${GENERATED}\n${stringify({
        apiVersion: 'v2',
        name: 'handover',
        description: 'Certificate and trust rotation without a failed handshake',
        type: 'application',
        version,
        appVersion: version,
        kubeVersion: '>=1.30.0-0',
      })}`,
    ],
    ['values.yaml', VALUES],
    ['values.schema.json', `${JSON.stringify(schema(), undefined, 2)}\n`],
    ['templates/_handover.tpl', helpers()],
    ['templates/refusals.yaml', refusals()],
    ['templates/NOTES.txt', NOTES],
  ]);
  for (const template of templates(variants())) {
    if (LEFT_OUT.includes(template.kind)) continue;
    const path = `templates/${fileOf(template.kind)}`;
    const begun = files.get(path) ?? `# ${GENERATED}\n${WATCHED}`;
    files.set(path, `${begun}${withReplicas(template.text)}`);
  }
  const definitions = files.get('templates/crds.yaml') ?? '';
  return files.set(
    'templates/crds.yaml',
    `# ${GENERATED}\n{{- if .Values.crds }}\n${definitions.slice(definitions.indexOf('---\n'))}{{- end }}\n`,
  );
};
