import { expect, test } from 'vitest';
import { type ApiRequest, allowed, unused } from './allowed.ts';
import { grantsFor, RIGHTS } from './rules.ts';

const everywhere = grantsFor({ namespace: 'hand' });
const narrow = grantsFor({ namespace: 'hand', namespaced: ['shop', 'pay'] });
const get = (resource: string, namespace?: string, more: Partial<ApiRequest> = {}): ApiRequest => ({
  verb: 'get',
  group: '',
  resource,
  namespace,
  name: 'a',
  ...more,
});

test.each<[string, ApiRequest, boolean, boolean]>([
  ['a Secret of a tenant it looks at', get('secrets', 'shop'), true, true],
  ['a Secret of another tenant', get('secrets', 'other'), true, false],
  ['all Secrets', { verb: 'list', group: '', resource: 'secrets' }, true, false],
  ['a Secret deleted at home', get('secrets', 'hand', { verb: 'delete' }), false, false],
  ['a Secret deleted elsewhere', get('secrets', 'shop', { verb: 'delete' }), false, false],
  ['a Secret replaced elsewhere', get('secrets', 'shop', { verb: 'update' }), false, false],
  ['a nudge', get('pods', 'shop', { verb: 'patch', subresource: 'status' }), true, true],
  ['a pod itself', get('pods', 'shop', { verb: 'patch' }), false, false],
  ['a shell in a pod', get('pods', 'shop', { verb: 'create', subresource: 'exec' }), false, false],
  ['the same name in another group', get('pods', 'shop', { group: 'metrics.k8s.io' }), false, false],
  ['a stamp', get('deployments', 'pay', { group: 'apps', verb: 'patch' }), true, true],
  ['all namespaces', { verb: 'list', group: '', resource: 'namespaces' }, true, false],
  ['its Lease', get('leases', 'hand', { group: 'coordination.k8s.io', name: 'handover' }), true, true],
  ['another Lease', get('leases', 'hand', { group: 'coordination.k8s.io', name: 'x' }), false, false],
  [
    'every Lease',
    { verb: 'get', group: 'coordination.k8s.io', resource: 'leases', namespace: 'hand' },
    false,
    false,
  ],
  [
    'the spec of an Authority',
    get('authorities', 'shop', { group: 'handover.dev', verb: 'patch' }),
    false,
    false,
  ],
  [
    'the status of an Authority',
    get('authorities', 'shop', { group: 'handover.dev', verb: 'patch', subresource: 'status' }),
    true,
    true,
  ],
  [
    'an admission policy',
    get('validatingadmissionpolicies', undefined, { group: 'admissionregistration.k8s.io', verb: 'patch' }),
    false,
    false,
  ],
  ['a role', get('clusterroles', undefined, { group: 'rbac.authorization.k8s.io' }), false, false],
])(
  'the operator’s rights cover what it needs, and nothing else: %s',
  (_, request, inCluster, inNamespaces) => {
    expect(allowed(everywhere, request)).toBe(inCluster);
    expect(allowed(narrow, request)).toBe(inNamespaces);
  },
);

test('the operator without cluster rights may do nothing outside its own namespace and those it looks at', () => {
  expect(new Set(narrow.map(({ namespace }) => namespace))).toEqual(new Set(['hand', 'shop', 'pay']));
});

test('no role has a wildcard, escalation, or a right to act as another account', () => {
  const words = [...everywhere, ...narrow].flatMap(({ group, resources, verbs }) => [
    group,
    ...resources,
    ...verbs,
  ]);
  for (const word of [
    '*',
    'escalate',
    'bind',
    'impersonate',
    'deletecollection',
    'serviceaccounts/token',
    'nodes',
  ])
    expect(words).not.toContain(word);
});

test('the operator has rights on signers, OpenShift and Services only where they are asked for', () => {
  const resources = (grants: readonly { readonly resources: readonly string[] }[]) =>
    grants.flatMap((grant) => grant.resources);
  for (const resource of ['signers', 'apiservers']) expect(resources(everywhere)).not.toContain(resource);
  const service = { verb: 'patch', group: '', resource: 'services', namespace: 'a', name: 'web' };
  // One that an Authority names is read, and no more than that.
  expect(allowed(everywhere, { ...service, verb: 'get' })).toBe(true);
  for (const verb of ['list', 'watch', 'patch'])
    expect(allowed(everywhere, { ...service, verb })).toBe(false);
  const asked = grantsFor({
    namespace: 'hand',
    features: ['openshift', 'service-ca'],
    signers: ['example.com/mesh'],
  });
  for (const resource of ['signers', 'apiservers']) expect(resources(asked)).toContain(resource);
  expect(allowed(asked, service)).toBe(true);
  const cluster = { group: 'config.openshift.io', name: 'cluster' };
  expect(allowed(asked, { verb: 'watch', resource: 'apiservers', ...cluster })).toBe(true);
  expect(allowed(asked, { verb: 'watch', resource: 'apiservers', ...cluster, name: 'other' })).toBe(false);
  expect(allowed(asked, { verb: 'patch', resource: 'apiservers', ...cluster })).toBe(false);
  expect(allowed(asked, { verb: 'get', resource: 'clusterversions', ...cluster, name: 'version' })).toBe(
    true,
  );
  const signer = { verb: 'attest', group: 'certificates.k8s.io', resource: 'signers' };
  expect(allowed(asked, { ...signer, name: 'example.com/mesh' })).toBe(true);
  expect(allowed(asked, { ...signer, name: 'kubernetes.io/kube-apiserver-serving' })).toBe(false);
});

test('a right that is unused is named, and no other', () => {
  const grants = grantsFor({ namespace: 'hand' }).filter(({ resources }) =>
    resources.includes('replicasets'),
  );
  const request = { verb: 'list', group: 'apps', resource: 'replicasets', namespace: 'shop' };
  expect(unused(grants, [])).toEqual([
    'list apps/replicasets everywhere',
    'watch apps/replicasets everywhere',
  ]);
  expect(unused(grants, [request])).toEqual(['watch apps/replicasets everywhere']);
  expect(unused(grants, [request, { ...request, verb: 'watch' }])).toEqual([]);
});

test('every right of the operator says why it is there', () => {
  expect(RIGHTS.filter(({ why }) => why.length < 8)).toEqual([]);
});
