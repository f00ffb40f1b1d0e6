/** Kinds with a caBundle that the API server itself reads, and their names in URLs and roles. */
export const INJECTABLE = {
  APIService: { group: 'apiregistration.k8s.io', plural: 'apiservices' },
  ValidatingWebhookConfiguration: {
    group: 'admissionregistration.k8s.io',
    plural: 'validatingwebhookconfigurations',
  },
  MutatingWebhookConfiguration: {
    group: 'admissionregistration.k8s.io',
    plural: 'mutatingwebhookconfigurations',
  },
  CustomResourceDefinition: { group: 'apiextensions.k8s.io', plural: 'customresourcedefinitions' },
} as const;

export type InjectableKind = keyof typeof INJECTABLE;
export type InjectablePlural = (typeof INJECTABLE)[InjectableKind]['plural'];

export const INJECTABLE_KINDS = Object.keys(INJECTABLE) as InjectableKind[];
export const INJECTABLE_PLURALS: readonly InjectablePlural[] = Object.values(INJECTABLE).map(
  ({ plural }) => plural,
);

export const injectableOf = (plural: string): InjectableKind | undefined =>
  INJECTABLE_KINDS.find((kind) => INJECTABLE[kind].plural === plural);

/** Injectable plurals of one API group. */
export const injectableIn = (wanted: string): readonly InjectablePlural[] =>
  Object.values(INJECTABLE).flatMap(({ group, plural }) => (group === wanted ? [plural] : []));
