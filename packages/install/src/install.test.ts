import { HandoverError } from '@handover/material';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type InstallOptions, installation, type Manifest, removable } from './install.ts';
import { installationYaml, removableYaml } from './yaml.ts';

const options: InstallOptions = { namespace: 'handover-system', image: 'handover:test' };
const kinds = (objects: readonly Manifest[]) => new Set(objects.map(({ kind }) => kind));
const of = (objects: readonly Manifest[], kind: string) => {
  const found = objects.find((object) => object.kind === kind);
  if (found === undefined) throw new Error(`no ${kind}`);
  return found;
};

test('the YAML of an installation holds exactly the objects, each under a comment, the same bytes each time', () => {
  const text = installationYaml(options);
  const documents = parseAllDocuments(text);
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  expect(documents.map((document) => document.toJS())).toEqual(installation(options));
  for (const part of text.split('---\n')) expect(part).toMatch(/^# /);
  expect(installationYaml(options)).toBe(text);
});

test('the YAML of an installation has each rule of a role under its reason', () => {
  const text = installationYaml(options);
  expect(text).toContain('  # from a pod to its Deployment\n  - apiGroups:\n      - apps\n');
});

test('the YAML of an installation has no anchors, which kubectl would not take', () => {
  expect(installationYaml(options)).not.toMatch(/: [&*]a\d/);
});

test('a namespaced installation has no role in the cluster, and says what does not work', () => {
  const narrow: InstallOptions = { ...options, namespaced: ['shop', 'pay', 'shop'] };
  expect(kinds(installation(options))).toContain('ClusterRoleBinding');
  expect(kinds(installation(narrow))).not.toContain('ClusterRole');
  expect(kinds(installation(narrow))).not.toContain('ClusterRoleBinding');
  const text = installationYaml(narrow);
  expect(text).toMatch(/^# The operator looks at pay, shop only/m);
  expect(text).toMatch(/^# - TrustBundles: /m);
  expect(text).toMatch(/^# - injection into APIServices/m);
  expect(of(installation(narrow), 'Deployment')).toHaveProperty(
    ['spec', 'template', 'spec', 'containers', 0, 'args'],
    ['operator', '--health-address', '0.0.0.0:8080', '--namespaced', 'pay,shop'],
  );
});

test('the YAML of an installation has policies before the rights they hold in check', () => {
  const order = installation(options).map(({ kind }) => kind);
  expect(order.lastIndexOf('ValidatingAdmissionPolicyBinding')).toBeLessThan(
    order.indexOf('ClusterRoleBinding'),
  );
});

test('the roles for people name no Secret, and are part of view and edit', () => {
  const roles = installation(options).filter(({ metadata }) =>
    /-(viewer|rotator)$/.test((metadata as { readonly name: string }).name),
  );
  expect(roles.map(({ metadata }) => (metadata as { readonly labels: object }).labels)).toMatchObject([
    { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' },
    { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' },
  ]);
  const rules = roles.flatMap((role) => role.rules as readonly { readonly apiGroups: readonly string[] }[]);
  expect(new Set(rules.flatMap(({ apiGroups }) => apiGroups))).toEqual(new Set(['handover.dev']));
  expect(JSON.stringify(rules)).not.toMatch(/"update"|"delete"|"create"|\/status/);
});

/** Whether a tool deletes an object that its source no longer has, or whose application is deleted; by the rules that its documentation gives. */
const DELETES: Readonly<Record<string, (annotations: Readonly<Record<string, string>>) => boolean>> = {
  'Argo CD': (annotations) => {
    // Options are separated by commas, and white space around them does not count.
    const options = (annotations['argocd.argoproj.io/sync-options'] ?? '')
      .split(',')
      .map((one) => one.trim());
    return !options.includes('Prune=false') || !options.includes('Delete=false');
  },
  Flux: (annotations) => annotations['kustomize.toolkit.fluxcd.io/prune'] !== 'disabled',
  Helm: (annotations) => annotations['helm.sh/resource-policy']?.trim().toLowerCase() !== 'keep',
};

test.each(Object.entries(DELETES))(
  '%s keeps the namespace with the keys of every CA, and the custom resources, when the installation goes',
  (_tool, deletes) => {
    const deleted = installation(options).filter(({ metadata }) =>
      deletes((metadata as { readonly annotations?: Readonly<Record<string, string>> }).annotations ?? {}),
    );
    expect(kinds(deleted)).not.toContain('Namespace');
    expect(kinds(deleted)).not.toContain('CustomResourceDefinition');
    // All else goes with it.
    expect(deleted).toHaveLength(removable(options).length);
  },
);

test('two installations share nothing but the custom resources', () => {
  const names = (namespace: string) =>
    new Set(
      installation({ ...options, namespace })
        .filter(({ kind }) => kind !== 'CustomResourceDefinition')
        .map(({ kind, metadata }) => `${kind} ${JSON.stringify(metadata)}`),
    );
  const others = names('elsewhere');
  expect([...names('handover-system')].filter((name) => others.has(name))).toEqual([]);
});

test('an uninstallation takes away what was installed, the Deployment first, but no key and no custom resource', () => {
  const all = installation(options);
  const gone = removable(options);
  const stays = all.filter(
    (object) => !gone.some((other) => JSON.stringify(other) === JSON.stringify(object)),
  );
  expect([...kinds(stays)].sort()).toEqual(['CustomResourceDefinition', 'Namespace']);
  expect(gone).toHaveLength(all.length - stays.length);
  const order = gone.map(({ kind }) => kind);
  expect(order.indexOf('Deployment')).toBeLessThan(order.indexOf('ClusterRoleBinding'));
  expect(order.lastIndexOf('ClusterRoleBinding')).toBeLessThan(order.indexOf('ValidatingAdmissionPolicy'));
  expect(parseAllDocuments(removableYaml(options)).map((document) => document.toJS())).toEqual(gone);
});

test('the NetworkPolicy lets probes and scrapers in, by port, and nothing else; it does not restrict what goes out', () => {
  const ingress = (more: Partial<InstallOptions>) =>
    of(installation({ ...options, ...more }), 'NetworkPolicy');
  expect(ingress({})).toHaveProperty('spec', {
    podSelector: { matchLabels: { 'app.kubernetes.io/name': 'handover' } },
    policyTypes: ['Ingress'],
    ingress: [{ ports: [{ protocol: 'TCP', port: 8080 }] }],
  });
  expect(ingress({ metricsAuth: 'token' })).toHaveProperty('spec.ingress', [
    { ports: [{ protocol: 'TCP', port: 8080 }] },
    { ports: [{ protocol: 'TCP', port: 8443 }] },
  ]);
});

test('S1.10 metrics ask for a token only if told to, whatever the platform; then the operator may review tokens', () => {
  for (const openshift of [false, true]) {
    const made = (metricsAuth: 'none' | 'token') => installation({ ...options, openshift, metricsAuth });
    const text = (metricsAuth: 'none' | 'token') => JSON.stringify(made(metricsAuth));
    for (const word of [
      'tokenreviews',
      'subjectaccessreviews',
      'metrics-reader',
      'metrics-tls',
      '8443',
      '/etc/tls-profile',
    ]) {
      expect(text('none')).not.toContain(word);
      expect(text('token')).toContain(word);
    }
    expect(of(made('token'), 'Service')).toHaveProperty('spec.ports', [
      { name: 'metrics', port: 8443, targetPort: 'metrics' },
    ]);
  }
});

test('an annotation for service-ca is an instruction to the operator only where it replaces service-ca', () => {
  const policies = (more: Partial<InstallOptions>) =>
    JSON.stringify(
      installation({ ...options, ...more }).filter(({ kind }) => kind === 'ValidatingAdmissionPolicy'),
    );
  expect(policies({})).not.toContain('service.beta.openshift.io');
  expect(policies({ compat: ['reloader'] })).not.toContain('service.beta.openshift.io');
  expect(policies({ compat: ['service-ca'] })).toContain('service.beta.openshift.io/inject-cabundle');
  expect(policies({ compat: ['service-ca'] })).toContain('handover-services');
});

test('the operator’s pods run without privileges, on a root they cannot write, without capabilities', () => {
  const pod = ['spec', 'template', 'spec'];
  const made = of(installation(options), 'Deployment');
  expect(made).toHaveProperty('spec.replicas', 2);
  expect(made).toHaveProperty([...pod, 'securityContext'], {
    runAsNonRoot: true,
    runAsUser: 65532,
    runAsGroup: 65532,
    seccompProfile: { type: 'RuntimeDefault' },
  });
  expect(made).toHaveProperty([...pod, 'containers', 0, 'securityContext'], {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
});

test.each<[string, Partial<InstallOptions>, RegExp]>([
  ['a namespace with a capital', { namespace: 'Hand' }, /"Hand" is not a namespace; use/],
  ['a namespace that would break a CEL rule', { namespace: "a'||true" }, /is not a namespace/],
  ['no namespace to look at', { namespaced: [] }, /name at least one/],
  ['a bad namespace to look at', { namespaced: ['a', 'b/c'] }, /"b\/c" is not a namespace/],
  ['an image with a space', { image: 'a b' }, /"a b" is not the name of an image/],
  ['a signer without a path', { signers: ['example.com'] }, /"example.com" is not a signer/],
  [
    'signers without cluster rights',
    { signers: ['a.b/c'], namespaced: ['a'] },
    /--signers needs cluster-wide rights/,
  ],
  ['cainjector without cluster rights', { compat: ['cainjector'], namespaced: ['a'] }, /remove cainjector/],
  ['service-ca without cluster rights', { compat: ['service-ca'], namespaced: ['a'] }, /remove service-ca/],
  [
    'a token for metrics without cluster rights',
    { metricsAuth: 'token', namespaced: ['a'] },
    /remove --metrics-auth or --namespaced/,
  ],
  ['no replica', { replicas: 0 }, /0 is not a number of replicas; use 1 to 5/],
  ['a piece of a replica', { replicas: 1.5 }, /1.5 is not a number of replicas/],
  ['a word for a number of replicas', { replicas: Number('two') }, /NaN is not a number of replicas/],
])('an installation with %s is refused', (_, bad, message) => {
  const act = () => installationYaml({ ...options, ...bad });
  expect(act).toThrow(HandoverError);
  expect(act).toThrow(message);
});

test('the YAML of an installation has the same keys for kubectl, which reads YAML 1.1: "on" is not true there', () => {
  const yaml = installationYaml({ image: 'handover:1', namespace: 'handover-system' });
  const keys = (version: '1.1' | 'core'): string =>
    JSON.stringify(
      parseAllDocuments(yaml, { version: version === '1.1' ? '1.1' : '1.2' }).map(
        (one) => one.toJS() as unknown,
      ),
    );
  expect(keys('1.1')).toBe(keys('core'));
});
