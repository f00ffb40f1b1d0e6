import { grant, type Rule } from '../src/go-program.ts';

export const NAMESPACE = 'cert-manager';
export const [CONTROLLER, WEBHOOK, CAINJECTOR] = [
  'cert-manager',
  'cert-manager-webhook',
  'cert-manager-cainjector',
] as const;
export const WEBHOOK_CA = 'cert-manager-webhook-ca';

const rule = (group: string, resources: string, verbs: string, names?: readonly string[]): Rule => ({
  apiGroups: [group],
  resources: resources.split(' '),
  verbs: verbs.split(' '),
  ...(names === undefined ? {} : { resourceNames: names }),
});
const READ = 'get list watch';
const OWN = 'certificates certificaterequests issuers clusterissuers';
const under = (part: string): string =>
  OWN.split(' ')
    .map((kind) => `${kind}/${part}`)
    .join(' ');

const CONTROLLER_RULES: readonly Rule[] = [
  rule('cert-manager.io', OWN, `${READ} create update patch delete`),
  rule('cert-manager.io', `${under('status')} ${under('finalizers')}`, 'update patch'),
  rule('cert-manager.io', 'signers', 'approve', [
    'issuers.cert-manager.io/*',
    'clusterissuers.cert-manager.io/*',
  ]),
  rule('', 'secrets', `${READ} create update patch delete`),
  rule('', 'events', 'create patch'),
  rule('networking.k8s.io', 'ingresses', READ),
  rule('networking.k8s.io', 'ingresses/finalizers', 'update'),
];
const CAINJECTOR_RULES: readonly Rule[] = [
  rule('cert-manager.io', 'certificates', READ),
  rule('', 'secrets', READ),
  rule('', 'events', 'create patch'),
  rule('coordination.k8s.io', 'leases', 'create get update patch'),
  rule('apiextensions.k8s.io', 'customresourcedefinitions', `${READ} update patch`),
  rule('apiregistration.k8s.io', 'apiservices', `${READ} update patch`),
  rule(
    'admissionregistration.k8s.io',
    'validatingwebhookconfigurations mutatingwebhookconfigurations',
    `${READ} update patch`,
  ),
];

const account = (name: string) => ({ namespace: NAMESPACE, name });

export const roles = (): readonly object[] => [
  ...grant(CONTROLLER, account(CONTROLLER), CONTROLLER_RULES),
  ...grant(CAINJECTOR, account(CAINJECTOR), CAINJECTOR_RULES),
  ...grant(WEBHOOK, account(WEBHOOK), [rule('authorization.k8s.io', 'subjectaccessreviews', 'create')]),
  ...grant(WEBHOOK, account(WEBHOOK), [rule('', 'secrets', `${READ} create update`)], NAMESPACE),
];

/** Lets cert-manager's own approver approve requests to our authorities, as the contract for external issuers says. */
export const APPROVE_AUTHORITIES: readonly object[] = grant(
  'cert-manager-approve-authorities',
  account(CONTROLLER),
  [rule('cert-manager.io', 'signers', 'approve', ['authorities.handover.dev/*'])],
);
