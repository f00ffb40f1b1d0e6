/** Programs whose annotations, or whose resources, the operator can honour. */
export const COMPAT = ['cainjector', 'service-ca', 'reloader', 'trust-manager'] as const;
export type Compat = (typeof COMPAT)[number];

// Names of those annotations. foreign-annotations.ts says what each means.
export const CAINJECTOR = {
  fromSecret: 'cert-manager.io/inject-ca-from-secret',
  fromCertificate: 'cert-manager.io/inject-ca-from',
  fromApiServer: 'cert-manager.io/inject-apiserver-ca',
  allowed: 'cert-manager.io/allow-direct-injection',
  certificateName: 'cert-manager.io/certificate-name',
} as const;

export const SERVICE_CA = {
  secretName: 'service.beta.openshift.io/serving-cert-secret-name',
  inject: 'service.beta.openshift.io/inject-cabundle',
  originName: 'service.beta.openshift.io/originating-service-name',
  originUid: 'service.beta.openshift.io/originating-service-uid',
  expiry: 'service.beta.openshift.io/expiry',
  error: 'service.beta.openshift.io/serving-cert-generation-error',
  errorNum: 'service.beta.openshift.io/serving-cert-generation-error-num',
} as const;

/** On the targets of a Bundle. */
export const TRUST_MANAGER = {
  group: 'trust.cert-manager.io',
  bundle: 'trust.cert-manager.io/bundle',
  hash: 'trust.cert-manager.io/hash',
  /** Of server-side apply: what trust-manager wrote before goes on under the same name. */
  manager: 'trust-manager',
  /** Of labels and annotations that a Bundle may not ask for. */
  prefixes: ['trust.cert-manager.io', 'trust-manager.io'],
} as const;

export const RELOADER = {
  auto: 'reloader.stakater.com/auto',
  search: 'reloader.stakater.com/search',
  match: 'reloader.stakater.com/match',
  ignore: 'reloader.stakater.com/ignore',
  secrets: {
    auto: 'secret.reloader.stakater.com/auto',
    named: 'secret.reloader.stakater.com/reload',
    excluded: 'secrets.exclude.reloader.stakater.com/reload',
  },
  configmaps: {
    auto: 'configmap.reloader.stakater.com/auto',
    named: 'configmap.reloader.stakater.com/reload',
    excluded: 'configmaps.exclude.reloader.stakater.com/reload',
  },
} as const;
