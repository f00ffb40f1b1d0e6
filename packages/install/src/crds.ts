import { API_VERSION, KINDS, type Kind, resourceSchemas, statusSchemas } from '@handover/core';
import { inputSchema, type Structural, structural } from './structural.ts';

interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly description: string;
  readonly jsonPath: string;
  /** Above 0: only with `kubectl get -o wide`. */
  readonly priority?: number;
}

interface KindEntry {
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  readonly description: string;
  readonly columns: readonly Column[];
}

const column = (name: string, jsonPath: string, description: string, more: Partial<Column> = {}): Column => ({
  name,
  type: 'string',
  description,
  jsonPath,
  ...more,
});
const wide = { priority: 1 } as const;
const READY = column('Ready', '.status.conditions[?(@.type=="Ready")].status', 'Whether the resource works.');
const MESSAGE = column(
  'Message',
  '.status.conditions[?(@.type=="Ready")].message',
  'Why it is ready, or not.',
  wide,
);
const AGE = column('Age', '.metadata.creationTimestamp', 'Time since it was created.', { type: 'date' });
const current = '.status.generations[?(@.role=="current")]';

/**
 * What `kubectl get` shows. Expiry is a string column: a date column counts back from now, and shows a time to come as
 * <invalid>. Short names: none that Kubernetes, OpenShift (ca is its ClusterAutoscaler) or cert-manager has.
 */
export const KIND_TABLE = {
  Authority: {
    plural: 'authorities',
    singular: 'authority',
    shortNames: ['auth'],
    scope: 'Namespaced',
    description:
      'A CA that rotates itself: a new generation is trusted everywhere before it signs, and the old one is dropped when its certificates are out of use.',
    columns: [
      column('Phase', '.status.phase', 'Where the rotation stands.'),
      column('Generation', `${current}.generation`, 'Number of the CA that signs.', { type: 'integer' }),
      column('Expires', `${current}.notAfter`, 'When the CA that signs expires.'),
      column('Waiting-For', '.status.blockedBy[0].consumer', 'First consumer that the next step waits for.'),
      READY,
      AGE,
      column('Waiting', '.status.workloads.waiting', 'Number of consumers that the next step waits for.', {
        type: 'integer',
        ...wide,
      }),
      column('Bundle', '.status.bundleHash', 'Hash of its bundle.', wide),
      MESSAGE,
    ],
  },
  Leaf: {
    plural: 'leaves',
    singular: 'leaf',
    shortNames: ['lf'],
    scope: 'Namespaced',
    description: 'A certificate of an Authority, kept fresh in a Secret: tls.crt, tls.key and ca.crt.',
    columns: [
      column('Authority', '.spec.authority', 'Authority that issues it.'),
      column('Secret', '.status.secretName', 'Where it is.'),
      column('Generation', '.status.generation', 'Generation of the CA that signed it.', { type: 'integer' }),
      column('Expires', '.status.notAfter', 'When it expires.'),
      READY,
      AGE,
      column('Renews', '.status.renewAt', 'When it will be renewed.', wide),
      MESSAGE,
    ],
  },
  TrustBundle: {
    plural: 'trustbundles',
    singular: 'trustbundle',
    shortNames: ['tb'],
    scope: 'Cluster',
    description:
      'Certificates from some places, as one canonical bundle in others: ConfigMaps, Secrets, ClusterTrustBundles and caBundle fields.',
    columns: [
      column('Certificates', '.status.certificates', 'How many certificates it has.', { type: 'integer' }),
      column('Targets', '.status.targets.ready', 'How many objects hold it.', { type: 'integer' }),
      column('Failing', '.status.targets.failing', 'How many objects could not be written.', {
        type: 'integer',
      }),
      column('First-Failing', '.status.failing[0].target', 'The first object that could not be written.'),
      READY,
      AGE,
      column('Hash', '.status.hash', 'Hash of the bundle.', wide),
      MESSAGE,
    ],
  },
  TLSProfile: {
    plural: 'tlsprofiles',
    singular: 'tlsprofile',
    shortNames: ['tlsp'],
    scope: 'Namespaced',
    description: 'TLS versions, ciphers and groups for workloads, as a file in a ConfigMap.',
    columns: [
      column('Profile', '.status.type', 'The profile in force.'),
      column('Min-TLS', '.status.minTLSVersion', 'Lowest TLS version it accepts.'),
      column('Problem', '.status.problems[0]', 'What it asks for and cannot have; the first of them.'),
      READY,
      AGE,
      column('Hash', '.status.hash', 'Hash of the profile as written.', wide),
      MESSAGE,
    ],
  },
} as const satisfies Record<Kind, KindEntry>;

export const GROUP = API_VERSION.slice(0, API_VERSION.indexOf('/'));
const VERSION = API_VERSION.slice(GROUP.length + 1);

export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly names: {
      readonly kind: Kind;
      readonly listKind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames: readonly string[];
      readonly categories: readonly string[];
    };
    readonly scope: 'Namespaced' | 'Cluster';
    readonly versions: readonly {
      readonly name: string;
      readonly served: true;
      readonly storage: true;
      readonly subresources: { readonly status: Record<string, never> };
      readonly additionalPrinterColumns: readonly Column[];
      readonly schema: { readonly openAPIV3Schema: Structural };
    }[];
  };
}

const asMap = (value: unknown) => value as Readonly<Record<string, unknown>>;

const makeSchema = (kind: Kind): Structural => {
  const { description } = KIND_TABLE[kind];
  const whole = inputSchema(resourceSchemas[kind]);
  const required = (whole.required as readonly string[]).filter((name) => name === 'spec');
  const rules = whole['x-kubernetes-validations'];
  return {
    description,
    type: 'object',
    ...(rules === undefined ? {} : { 'x-kubernetes-validations': rules }),
    ...(required.length === 0 ? {} : { required }),
    properties: {
      apiVersion: { description: 'Version of the schema.', type: 'string' },
      kind: { description: 'Kind of the resource.', type: 'string' },
      // The API server's own business: it refuses a schema that says more about it.
      metadata: { type: 'object' },
      spec: structural(asMap(whole.properties).spec, `${kind}.spec`),
      status: structural(
        { ...inputSchema(statusSchemas[kind]), description: 'What Handover last saw; written by it alone.' },
        `${kind}.status`,
      ),
    },
  };
};

const made = new Map<Kind, Structural>();
/** Made once: a chart is made of hundreds of installations. */
const schemaOf = (kind: Kind): Structural => {
  const schema = made.get(kind) ?? makeSchema(kind);
  made.set(kind, schema);
  return schema;
};

/** The custom resources of `handover.dev`, made from the same schemas that parse them. */
export const crds = (labels: Readonly<Record<string, string>> = {}): readonly CustomResourceDefinition[] =>
  KINDS.map((kind) => {
    const { plural, singular, shortNames, scope, columns } = KIND_TABLE[kind];
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${GROUP}`, labels },
      spec: {
        group: GROUP,
        names: { kind, listKind: `${kind}List`, plural, singular, shortNames, categories: ['handover'] },
        scope,
        versions: [
          {
            name: VERSION,
            served: true,
            storage: true,
            subresources: { status: {} },
            additionalPrinterColumns: columns,
            schema: { openAPIV3Schema: schemaOf(kind) },
          },
        ],
      },
    };
  });
