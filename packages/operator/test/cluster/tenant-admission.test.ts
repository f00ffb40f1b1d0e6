import { readFileSync } from 'node:fs';
import { type InstallOptions, installation } from '@handover/install';
import { namespaceObject } from '@handover/test-api-server';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { certManagerCrds } from '../cert-manager/played.ts';
import { type Answer, eventually, type Json, type Requests, requestsTo } from './requests.ts';

const OPERATOR = 'system:serviceaccount:handover-system:handover';
const options: InstallOptions = {
  namespace: 'handover-system',
  image: 'handover:test',
  compat: ['service-ca'],
};

let cluster: Cluster;
let send: Requests;
let close = () => {};

/** Placeholder for a bundle in the tables below: the API server needs a real one, which exists only once the cluster runs. */
const CA = 'YSByZWFsIENB';
let realCa = '';
const PEM = 'a real CA as PEM';
const withCa = <T>(value: T): T =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(CA, realCa)
      .replaceAll(JSON.stringify(PEM), JSON.stringify(Buffer.from(realCa, 'base64').toString())),
  ) as T;
const labels = { app: 'x' };
const workload = (kind: string, more: Json = {}): Json => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name: 'web', namespace: 'shop', annotations: { 'example.com/owner': 'shop' } },
  spec: {
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [{ name: 'web', image: 'web:1', env: [{ name: 'A', value: 'b' }] }] },
    },
    ...more,
  },
});
const hook = (kind: string): Json => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name: 'hook' },
  webhooks: ['a.example.com', 'b.example.com'].map((name) => ({
    name,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Ignore',
    // No object in this cluster has this label: the webhooks get no request.
    objectSelector: { matchLabels: { 'example.com/hooked': 'yes' } },
    clientConfig: { service: { namespace: 'shop', name: 'hook' } },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
  })),
});
const owned = (kind: string, name: string, metadata: Json, namespace = 'shop'): Json => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace, ...metadata },
  data: { a: CA },
});
const OBJECTS: readonly Json[] = [
  workload('Deployment', { replicas: 0 }),
  workload('StatefulSet', { replicas: 0, serviceName: 'web' }),
  workload('DaemonSet'),
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'shop', labels },
    spec: { automountServiceAccountToken: false, containers: [{ name: 'web', image: 'web:1' }] },
  },
  ...['Secret', 'ConfigMap'].flatMap((kind) => [
    owned(kind, 'theirs', {}),
    owned(kind, 'kept', { labels: { 'handover.dev/managed': 'true' } }),
    owned(kind, 'offered', { labels: { 'handover.dev/adopt': 'true' } }),
    // The label was removed, and Handover's record was not.
    owned(kind, 'unlabelled', { annotations: { 'handover.dev/record': '{}' } }),
    owned(kind, 'asking', { annotations: { 'service.beta.openshift.io/inject-cabundle': 'True' } }),
  ]),
  owned('ConfigMap', 'resolver', {}, 'kube-system'),
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'web',
      namespace: 'shop',
      labels,
      annotations: { 'service.beta.openshift.io/serving-cert-secret-name': 'web-tls' },
    },
    spec: { selector: labels, ports: [{ port: 443 }] },
  },
  ...(['theirs', 'kept', 'offered'] as const).map((name) => ({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'ClusterTrustBundle',
    metadata: {
      name,
      ...(name === 'theirs'
        ? {}
        : { labels: { [`handover.dev/${name === 'kept' ? 'managed' : 'adopt'}`]: 'true' } }),
    },
    spec: { trustBundle: PEM },
  })),
  {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/service-account-token',
    metadata: {
      name: 'token',
      namespace: 'shop',
      labels: { 'handover.dev/adopt': 'true' },
      annotations: { 'kubernetes.io/service-account.name': 'default' },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/dockerconfigjson',
    metadata: { name: 'pull', namespace: 'shop', labels: { 'handover.dev/adopt': 'true' } },
    data: { '.dockerconfigjson': Buffer.from('{"auths":{}}').toString('base64') },
  },
  hook('ValidatingWebhookConfiguration'),
  hook('MutatingWebhookConfiguration'),
  {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1.example.com' },
    spec: {
      group: 'example.com',
      version: 'v1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      service: { namespace: 'shop', name: 'api' },
    },
  },
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.org' },
    spec: {
      group: 'example.org',
      scope: 'Namespaced',
      names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
      conversion: {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1'],
          clientConfig: { service: { namespace: 'shop', name: 'convert' } },
        },
      },
      versions: ['v1', 'v2'].map((name) => ({
        name,
        served: true,
        storage: name === 'v1',
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
          },
        },
      })),
    },
  },
];

const ofIssuer = (kind: string, name: string, group: string): Json => ({
  apiVersion: 'cert-manager.io/v1',
  kind,
  metadata: { name, namespace: 'shop' },
  spec: { issuerRef: { group, kind: 'Issuer', name: 'mesh' } },
});
const FOR_ISSUERS: readonly Json[] = ['Certificate', 'CertificateRequest'].flatMap((kind) => [
  ofIssuer(kind, 'theirs', 'cert-manager.io'),
  ofIssuer(kind, 'ours', 'handover.dev'),
]);

beforeAll(async () => {
  cluster = await startCluster({ controllerManager: true });
  ({ send, close } = requestsTo(cluster));
  realCa = readFileSync(cluster.caFile).toString('base64');
  await cluster.apply(namespaceObject('shop'));
  await eventually(
    () => send('GET', '/api/v1/namespaces/shop/serviceaccounts/default'),
    ({ code }) => code === 200,
  );
  await cluster.apply(...withCa(OBJECTS), ...certManagerCrds());
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  await cluster.apply(...FOR_ISSUERS);
  await cluster.apply(...installation(options));
});
afterAll(async () => {
  close();
  await cluster?.stop();
});

const PATHS = {
  deployment: '/apis/apps/v1/namespaces/shop/deployments/web',
  statefulset: '/apis/apps/v1/namespaces/shop/statefulsets/web',
  daemonset: '/apis/apps/v1/namespaces/shop/daemonsets/web',
  pod: '/api/v1/namespaces/shop/pods/web/status',
  secret: '/api/v1/namespaces/shop/secrets/theirs',
  keptSecret: '/api/v1/namespaces/shop/secrets/kept',
  offeredSecret: '/api/v1/namespaces/shop/secrets/offered',
  unlabelledSecret: '/api/v1/namespaces/shop/secrets/unlabelled',
  askingSecret: '/api/v1/namespaces/shop/secrets/asking',
  pull: '/api/v1/namespaces/shop/secrets/pull',
  token: '/api/v1/namespaces/shop/secrets/token',
  configmap: '/api/v1/namespaces/shop/configmaps/theirs',
  keptConfigmap: '/api/v1/namespaces/shop/configmaps/kept',
  offeredConfigmap: '/api/v1/namespaces/shop/configmaps/offered',
  unlabelledConfigmap: '/api/v1/namespaces/shop/configmaps/unlabelled',
  askingConfigmap: '/api/v1/namespaces/shop/configmaps/asking',
  resolver: '/api/v1/namespaces/kube-system/configmaps/resolver',
  service: '/api/v1/namespaces/shop/services/web',
  trustbundle: '/apis/certificates.k8s.io/v1/clustertrustbundles/theirs',
  keptTrustbundle: '/apis/certificates.k8s.io/v1/clustertrustbundles/kept',
  offeredTrustbundle: '/apis/certificates.k8s.io/v1/clustertrustbundles/offered',
  validating: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hook',
  mutating: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hook',
  apiservice: '/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com',
  crd: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.org',
  theirRequest: '/apis/cert-manager.io/v1/namespaces/shop/certificaterequests/theirs/status',
  ourRequest: '/apis/cert-manager.io/v1/namespaces/shop/certificaterequests/ours/status',
  theirCertificate: '/apis/cert-manager.io/v1/namespaces/shop/certificates/theirs/status',
  ourCertificate: '/apis/cert-manager.io/v1/namespaces/shop/certificates/ours/status',
} as const;
type Target = keyof typeof PATHS;

const patch = (target: Target, body: unknown, as: string | undefined, type: 'merge' | 'json' | 'apply') =>
  send('PATCH', PATHS[target], {
    body: withCa(body),
    type,
    as,
    query: { dryRun: 'All', fieldManager: 'handover', ...(type === 'apply' ? { force: 'true' } : {}) },
  });
const denied = ({ message }: Answer): boolean => message.includes('ValidatingAdmissionPolicy');
const annotated = (annotations: Json): Json => ({ metadata: { annotations } });
const stamped = (annotations: Json): Json => ({ spec: { template: annotated(annotations) } });
const ops = (...operations: readonly (readonly [string, string, unknown])[]) =>
  operations.map(([op, path, value]) => ({ op, path, value }));

const managed = { labels: { 'handover.dev/managed': 'true', 'app.kubernetes.io/managed-by': 'handover' } };
const record = { annotations: { 'handover.dev/record': '{}' } };

const SIGNED = { status: { certificate: 'eA==', conditions: [{ type: 'Ready', status: 'True' }] } };
const ASKED_ANEW = { status: { conditions: [{ type: 'Issuing', status: 'True' }] } };

// One for each policy: until every policy answers, an accepted request shows nothing.
const FORBIDDEN: readonly (readonly [string, Target, Json | readonly Json[], RegExp])[] = [
  [
    'the certificate of a CertificateRequest to another issuer',
    'theirRequest',
    SIGNED,
    /handover-certificaterequests.*only CertificateRequests whose issuerRef has group/,
  ],
  ...['Approved', 'Denied'].map((type): [string, Target, Json, RegExp] => [
    `the condition ${type} of a CertificateRequest`,
    'ourRequest',
    { status: { conditions: [{ type, status: 'True' }] } },
    /neither approve nor deny CertificateRequests/,
  ]),
  [
    'a condition of a Certificate of another issuer',
    'theirCertificate',
    ASKED_ANEW,
    /handover-certificates.*only Certificates whose issuerRef has group/,
  ],
  [
    'another field in the status of a Certificate',
    'ourCertificate',
    { status: { revision: 7 } },
    /only the conditions of Certificates/,
  ],
  [
    'another condition of a Certificate',
    'ourCertificate',
    { status: { conditions: [{ type: 'Ready', status: 'True' }, ...ASKED_ANEW.status.conditions] } },
    /only the condition Issuing of Certificates/,
  ],
  [
    'a label of a pod',
    'pod',
    { metadata: { labels: { app: 'y' } } },
    /handover-pods.*only annotations in the metadata of pods/,
  ],
  [
    'another annotation of a pod',
    'pod',
    annotated({ 'example.com/a': 'b' }),
    /may not change this annotation of pods/,
  ],
  [
    'another annotation of ours on a pod',
    'pod',
    annotated({ 'handover.dev/probe': '1' }),
    /may not change this annotation of pods/,
  ],
  ['the status of a pod', 'pod', { status: { phase: 'Failed' } }, /may change only annotations of pods/],
  [
    'a condition of a pod',
    'pod',
    { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
    /may change only annotations of pods/,
  ],
  [
    'a finalizer on a pod',
    'pod',
    { metadata: { finalizers: ['example.com/x'] } },
    /only annotations in the metadata of pods/,
  ],
  ...(['deployment', 'statefulset', 'daemonset'] as const).flatMap(
    (target): readonly (readonly [string, Target, Json | readonly Json[], RegExp])[] => [
      [
        `what a ${target} runs`,
        target,
        ops(['replace', '/spec/template/spec/containers/0/image', 'evil:1']),
        /handover-workloads.*only handover.dev\/trust-hash.*in the spec of workloads/,
      ],
      [
        `the service account of a ${target}`,
        target,
        { spec: { template: { spec: { serviceAccountName: 'admin' } } } },
        /in the spec of workloads/,
      ],
      [
        `a label of the pods of a ${target}`,
        target,
        ops(['add', '/spec/template/metadata/labels/x', 'y']),
        /in the spec of workloads/,
      ],
      [
        `another annotation of the pods of a ${target}`,
        target,
        stamped({ 'example.com/a': 'b' }),
        /in the spec of workloads/,
      ],
      [
        `an owner for a ${target}`,
        target,
        { metadata: { finalizers: ['example.com/x'] } },
        /only annotations in the metadata of workloads/,
      ],
      [
        `an annotation of others on a ${target}`,
        target,
        annotated({ 'example.com/owner': 'me' }),
        /may not change this annotation of workloads/,
      ],
      [
        `an annotation of others taken from a ${target}`,
        target,
        annotated({ 'example.com/owner': null }),
        /may not change this annotation of workloads/,
      ],
    ],
  ),
  ['how many replicas', 'deployment', { spec: { replicas: 5 } }, /in the spec of workloads/],
  ['a field that was not there', 'deployment', { spec: { paused: true } }, /in the spec of workloads/],
  [
    'a Secret without our label',
    'offeredSecret',
    { data: { a: 'eA==' } },
    /handover-data.*only Secrets and ConfigMaps that carry the label handover.dev\/managed: "true"/,
  ],
  [
    'a ConfigMap without our label',
    'offeredConfigmap',
    { data: { a: 'x' } },
    /handover-data.*only Secrets and ConfigMaps that carry the label handover.dev\/managed/,
  ],
  [
    'the removal of a label from a managed object',
    'keptConfigmap',
    { metadata: { labels: { 'handover.dev/managed': null } } },
    /handover-data.*only Secrets and ConfigMaps that carry the label handover.dev\/managed/,
  ],
  ...(['secret', 'configmap', 'resolver', 'askingSecret'] as const).map(
    (target): readonly [string, Target, Json, RegExp] => [
      `an object that was not offered, labelled in the same write: ${target}`,
      target,
      { metadata: managed, data: { a: CA } },
      /handover-data.*keeps already, or that carry the label handover.dev\/adopt: "true"/,
    ],
  ),
  [
    'an object that was not offered, with a consent that the operator wrote itself',
    'resolver',
    {
      metadata: {
        labels: { ...managed.labels, 'handover.dev/adopt': 'true' },
        annotations: {
          'handover.dev/record': '{}',
          'service.beta.openshift.io/inject-cabundle': 'true',
        },
      },
      data: { a: 'x' },
    },
    /handover-data.*keeps already, or that carry the label handover.dev\/adopt: "true"/,
  ],
  [
    'a finalizer on a ConfigMap',
    'keptConfigmap',
    { metadata: { finalizers: ['example.com/x'] } },
    /handover-data.*may not change owners or finalizers/,
  ],
  [
    'a ClusterTrustBundle without our label',
    'offeredTrustbundle',
    annotated({ 'handover.dev/record': '{}' }),
    /handover-trustbundles.*only ClusterTrustBundles that carry the label handover.dev\/managed/,
  ],
  [
    'a ClusterTrustBundle that was not offered',
    'trustbundle',
    { metadata: managed },
    /handover-trustbundles.*keeps already, or that carry the label handover.dev\/adopt: "true"/,
  ],
  [
    'a finalizer on a ClusterTrustBundle',
    'keptTrustbundle',
    { metadata: { finalizers: ['example.com/x'] } },
    /handover-trustbundles.*may not change owners or finalizers/,
  ],
  [
    'the selector of a Service',
    'service',
    { spec: { selector: { app: 'evil' } } },
    /handover-services.*may change only annotations of Services/,
  ],
  [
    'an address of a Service',
    'service',
    { spec: { externalIPs: ['192.0.2.1'] } },
    /handover-services.*may change only annotations of Services/,
  ],
  [
    'a label of a Service',
    'service',
    { metadata: { labels: { app: 'y' } } },
    /handover-services.*only annotations in the metadata of Services/,
  ],
  [
    'the annotation by which a Service asks for a certificate',
    'service',
    annotated({ 'service.beta.openshift.io/serving-cert-secret-name': 'theirs' }),
    /handover-services.*may not change this annotation of Services/,
  ],
  [
    'another annotation of ours on a Service',
    'service',
    annotated({ 'handover.dev/probe': '1' }),
    /handover-services.*may not change this annotation of Services/,
  ],
  [
    'a Secret of another type',
    'pull',
    { metadata: { labels: { 'handover.dev/managed': 'true' } } },
    /handover-secrets.*only Secrets of type kubernetes.io\/tls and Opaque/,
  ],
  [
    'a token of a service account, although it is offered',
    'token',
    { metadata: { labels: { 'handover.dev/managed': 'true' } } },
    /handover-secrets.*only Secrets of type kubernetes.io\/tls and Opaque/,
  ],
  ...(['validating', 'mutating'] as const).flatMap(
    (target): readonly (readonly [string, Target, Json | readonly Json[], RegExp])[] => [
      [
        `the policy of a ${target} webhook`,
        target,
        ops(['replace', '/webhooks/0/failurePolicy', 'Fail']),
        /handover-webhooks.*only clientConfig.caBundle of webhooks/,
      ],
      [
        `the address of a ${target} webhook`,
        target,
        ops(['replace', '/webhooks/1/clientConfig/service/name', 'evil']),
        /only clientConfig.caBundle of webhooks/,
      ],
      [
        `a ${target} webhook taken away`,
        target,
        [{ op: 'remove', path: '/webhooks/0' }],
        /only clientConfig.caBundle of webhooks/,
      ],
      [
        `the order of ${target} webhooks`,
        target,
        [{ op: 'move', from: '/webhooks/0', path: '/webhooks/1' }],
        /only clientConfig.caBundle of webhooks/,
      ],
      [
        `a label of a ${target} configuration`,
        target,
        { metadata: { labels: { a: 'b' } } },
        /only annotations in the metadata of webhook configurations/,
      ],
    ],
  ),
  [
    'the address of an APIService',
    'apiservice',
    { spec: { service: { name: 'evil' } } },
    /handover-apiservices.*only spec.caBundle of APIServices/,
  ],
  [
    'an APIService without a check',
    'apiservice',
    { spec: { insecureSkipTLSVerify: true } },
    /only spec.caBundle of APIServices/,
  ],
  [
    'the address of a conversion webhook',
    'crd',
    { spec: { conversion: { webhook: { clientConfig: { service: { name: 'evil' } } } } } },
    /handover-crds.*only spec.conversion.webhook.clientConfig.caBundle/,
  ],
  [
    'no conversion at all',
    'crd',
    { spec: { conversion: { strategy: 'None', webhook: null } } },
    /only spec.conversion.webhook.clientConfig.caBundle/,
  ],
  [
    'the schema of a CRD',
    'crd',
    ops(['add', '/spec/versions/0/schema/openAPIV3Schema/properties/x', { type: 'string' }]),
    /only spec.conversion.webhook.clientConfig.caBundle/,
  ],
  [
    'a version of a CRD',
    'crd',
    ops(['replace', '/spec/versions/1/served', false]),
    /only spec.conversion.webhook.clientConfig.caBundle/,
  ],
  ...(
    [
      ['validating', 'webhook configurations'],
      ['apiservice', 'APIServices'],
      ['crd', 'CustomResourceDefinitions'],
    ] as const
  ).flatMap(([target, what]): readonly (readonly [string, Target, Json | readonly Json[], RegExp])[] => [
    [
      `a label of ${what}`,
      target,
      { metadata: { labels: { a: 'b' } } },
      new RegExp(`in the metadata of ${what}`),
    ],
    [
      `an annotation of others on ${what}`,
      target,
      annotated({ 'cert-manager.io/inject-ca-from': 'a/b' }),
      new RegExp(`may not change this annotation of ${what}`),
    ],
  ]),
];

const typeOf = (body: unknown) => (Array.isArray(body) ? 'json' : 'merge');

describe('the operator is refused, with a message', () => {
  test.each(FORBIDDEN)('%s', async (_, target, body, message) => {
    // A policy takes effect a moment after it was applied.
    const answer = await eventually(() => patch(target, body, OPERATOR, typeOf(body)), denied);
    expect(answer.message).toMatch(message);
    expect(answer.code).toBe(403);
  });

  test.each([
    [
      'a token of a service account',
      'kubernetes.io/service-account-token',
      { 'kubernetes.io/service-account.name': 'default' },
    ],
    ['a bootstrap token', 'bootstrap.kubernetes.io/token', {}],
    ['state of an authority, elsewhere', 'handover.dev/authority', {}],
  ])('%s', async (_, type, annotations) => {
    const { code, message } = await send('POST', '/api/v1/namespaces/shop/secrets', {
      as: OPERATOR,
      query: { dryRun: 'All' },
      body: {
        apiVersion: 'v1',
        kind: 'Secret',
        type,
        metadata: { name: 'token', labels: { 'handover.dev/managed': 'true' }, annotations },
      },
    });
    expect(message).toMatch(/handover-secrets.*may write only Secrets of type/);
    expect(code).toBe(403);
  });

  test.each([
    ['secret', /: kubectl -n shop label secrets theirs handover.dev\/adopt=true$/],
    ['resolver', /: kubectl -n kube-system label configmaps resolver handover.dev\/adopt=true$/],
    ['trustbundle', /: kubectl label clustertrustbundles theirs handover.dev\/adopt=true$/],
  ] as const)('%s, with the command by which its owner would give it over', async (target, command) => {
    expect((await patch(target, { metadata: managed }, OPERATOR, 'merge')).message).toMatch(command);
  });

  test('another type for a managed Secret: the API server itself refuses it to every user', async () => {
    for (const as of [OPERATOR, undefined]) {
      const { code, message } = await patch('keptSecret', { type: 'kubernetes.io/tls' }, as, 'merge');
      expect({ code, message }).toMatchObject({
        code: 422,
        message: expect.stringContaining('field is immutable'),
      });
    }
  });

  test('a new ClusterTrustBundle without our label', async () => {
    const made = (metadata: Json) =>
      send('POST', '/apis/certificates.k8s.io/v1/clustertrustbundles', {
        as: OPERATOR,
        query: { dryRun: 'All' },
        body: withCa({
          apiVersion: 'certificates.k8s.io/v1',
          kind: 'ClusterTrustBundle',
          metadata: { name: 'new', ...metadata },
          spec: { trustBundle: PEM },
        }),
      });
    expect(await made({})).toMatchObject({
      code: 403,
      message: expect.stringContaining('handover-trustbundles'),
    });
    expect(await made(managed)).toMatchObject({ code: 201 });
  });

  test('an owned Secret', async () => {
    const { code, message } = await send('POST', '/api/v1/namespaces/shop/secrets', {
      as: OPERATOR,
      query: { dryRun: 'All' },
      body: {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name: 'owned',
          labels: { 'handover.dev/managed': 'true' },
          ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'theirs', uid: 'x' }],
        },
      },
    });
    expect({ code, message }).toMatchObject({
      code: 403,
      message: expect.stringContaining('owners or finalizers'),
    });
  });
});

describe('the policies apply to no other user', () => {
  // The API server itself refuses some of these to every user.
  test.each(FORBIDDEN)('%s', async (_, target, body) => {
    expect(denied(await patch(target, body, undefined, typeOf(body)))).toBe(false);
  });
});

describe('the operator is allowed to', () => {
  test.each<[string, Target, Json | readonly Json[]]>([
    ['nudge a pod', 'pod', annotated({ 'handover.dev/nudge': 'f00d' })],
    ['sign a CertificateRequest that names an Authority', 'ourRequest', SIGNED],
    ['ask for a new certificate of an Authority', 'ourCertificate', ASKED_ANEW],
    ...(['deployment', 'statefulset', 'daemonset'] as const).flatMap((target): [string, Target, Json][] => [
      [
        `stamp a ${target}`,
        target,
        stamped({ 'handover.dev/trust-hash': '3.0', 'handover.dev/tls-profile-hash': 'x' }),
      ],
      [
        `restart a ${target}`,
        target,
        stamped({ 'kubectl.kubernetes.io/restartedAt': '2030-01-01T00:00:00Z' }),
      ],
      [`leave a note on a ${target}`, target, annotated({ 'handover.dev/stamped': 'x' })],
    ]),
    ...(
      [
        ['write a Secret that it keeps', 'keptSecret'],
        ['take over a Secret that is offered', 'offeredSecret'],
        ['label a Secret of its own again', 'unlabelledSecret'],
        ['write a ConfigMap that it keeps', 'keptConfigmap'],
        ['take over a ConfigMap that is offered', 'offeredConfigmap'],
        ['label a ConfigMap of its own again', 'unlabelledConfigmap'],
        ['write a ConfigMap that asks for it as it would ask service-ca', 'askingConfigmap'],
      ] as const
    ).map(([what, target]): [string, Target, Json] => [
      what,
      target,
      { metadata: { ...managed, ...record }, data: { 'ca.crt': CA } },
    ]),
    ['write a ClusterTrustBundle that it keeps', 'keptTrustbundle', { metadata: { ...managed, ...record } }],
    [
      'take over a ClusterTrustBundle that is offered',
      'offeredTrustbundle',
      { metadata: { ...managed, ...record } },
    ],
    [
      'write on a Service why it has no certificate',
      'service',
      annotated({
        'service.beta.openshift.io/serving-cert-generation-error': 'why',
        'service.beta.openshift.io/serving-cert-generation-error-num': '1',
      }),
    ],
    ['give an APIService its bundle', 'apiservice', { metadata: record, spec: { caBundle: CA } }],
    [
      'give a conversion webhook its bundle',
      'crd',
      { metadata: record, spec: { conversion: { webhook: { clientConfig: { caBundle: CA } } } } },
    ],
    ...(['validating', 'mutating'] as const).map((target): [string, Target, readonly Json[]] => [
      `give a ${target} webhook its bundle`,
      target,
      ops(
        ['add', '/webhooks/1/clientConfig/caBundle', CA],
        ['add', '/metadata/annotations', record.annotations],
      ),
    ]),
  ])('%s', async (_, target, body) => {
    expect(await patch(target, body, OPERATOR, typeOf(body))).toMatchObject({ message: '', code: 200 });
  });

  test.each(['validating', 'mutating'] as const)(
    'give a %s webhook its bundle by server-side apply',
    async (target) => {
      const kind =
        target === 'validating' ? 'ValidatingWebhookConfiguration' : 'MutatingWebhookConfiguration';
      const body = {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind,
        metadata: { name: 'hook', ...record },
        webhooks: [{ name: 'a.example.com', clientConfig: { caBundle: CA } }],
      };
      expect(await patch(target, body, OPERATOR, 'apply')).toMatchObject({ message: '', code: 200 });
    },
  );

  test('stamp twice, and remove a stamp again', async () => {
    const really = (body: Json) => send('PATCH', PATHS.daemonset, { body, type: 'merge', as: OPERATOR });
    for (const hash of ['1', '2', null]) {
      expect(await really(stamped({ 'handover.dev/trust-hash': hash }))).toMatchObject({
        message: '',
        code: 200,
      });
    }
  });

  test.each([
    ['a leaf', 'shop', 'kubernetes.io/tls', managed],
    ['a bundle', 'shop', 'Opaque', managed],
    ['its own state', 'handover-system', 'handover.dev/authority', {}],
  ])('create %s', async (_, namespace, type, metadata) => {
    const answer = await send('POST', `/api/v1/namespaces/${namespace}/secrets`, {
      as: OPERATOR,
      query: { dryRun: 'All' },
      body: {
        apiVersion: 'v1',
        kind: 'Secret',
        type,
        metadata: { name: 'new', ...metadata },
        data: { 'tls.crt': '', 'tls.key': '' },
      },
    });
    expect(answer).toMatchObject({ message: '', code: 201 });
  });
});

test('a configuration with a hundred webhooks stays within the CEL cost budget', async () => {
  const webhooks = Array.from({ length: 100 }, (_, index) => ({
    ...((hook('ValidatingWebhookConfiguration').webhooks as readonly Json[])[0] ?? {}),
    name: `w${index}.example.com`,
  }));
  await cluster.apply({ ...hook('ValidatingWebhookConfiguration'), metadata: { name: 'large' }, webhooks });
  const body = webhooks.map((_, index) => ({
    op: 'add',
    path: `/webhooks/${index}/clientConfig/caBundle`,
    value: realCa,
  }));
  const answer = await send('PATCH', PATHS.validating.replace(/hook$/, 'large'), {
    body,
    type: 'json',
    as: OPERATOR,
  });
  expect(answer).toMatchObject({ message: '', code: 200 });
});

test('a CRD of half a mebibyte stays within the CEL cost budget', async () => {
  const crd = OBJECTS.find(({ kind }) => kind === 'CustomResourceDefinition') ?? {};
  const properties = Object.fromEntries(
    Array.from({ length: 1000 }, (_, index) => [
      `p${index}`,
      { type: 'string', description: 'x'.repeat(200) },
    ]),
  );
  const spec = crd.spec as { names: Json; versions: readonly Json[] };
  await cluster.apply({
    ...crd,
    metadata: { name: 'larges.example.org' },
    spec: {
      ...spec,
      names: { kind: 'Large', plural: 'larges', singular: 'large', listKind: 'LargeList' },
      versions: spec.versions.map((version) => ({
        ...version,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } },
      })),
    },
  });
  const path = PATHS.crd.replace('things', 'larges');
  const body = { spec: { conversion: { webhook: { clientConfig: { caBundle: realCa } } } } };
  expect(await send('PATCH', path, { body, type: 'merge', as: OPERATOR })).toMatchObject({
    message: '',
    code: 200,
  });
});

test('the API server has no warning about the policies', async () => {
  const { body } = await eventually(
    () => send('GET', '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'),
    ({ body }) =>
      (body.items as readonly Json[]).every(
        ({ status }) => (status as Json).observedGeneration !== undefined,
      ),
  );
  const warned = (body.items as readonly { metadata: Json; status: { typeChecking?: Json } }[])
    .filter(({ status }) => status.typeChecking?.expressionWarnings !== undefined)
    .map(({ metadata, status }) => [metadata.name, status.typeChecking]);
  expect(warned).toEqual([]);
});

// Last, because it removes rules from the policies. Today only annotations and one field of these objects can change at all: the
// rule about the rest is for fields that a later Kubernetes adds.
const AHEAD_OF_ITS_TIME = /may change only annotations and (spec|webhooks) of/;
const rules = installation(options)
  .filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
  // It is about people: tenant-people.test.ts.
  .filter(({ metadata }) => (metadata as { readonly name: string }).name !== 'handover-requests')
  .flatMap((policy) => {
    const { validations } = policy.spec as { validations: readonly { message: string }[] };
    return validations.map(({ message }, index) => [message, { policy, index }] as const);
  })
  .filter(([message]) => !AHEAD_OF_ITS_TIME.test(message));

test.each(rules)('without this rule a forbidden write would pass: %s', async (message, { policy, index }) => {
  const spec = policy.spec as { validations: readonly Json[] };
  const validations = spec.validations.filter((_, other) => other !== index);
  const rest = validations.length === 0 ? [{ expression: 'true' }] : validations;
  await cluster.apply({ ...policy, spec: { ...spec, validations: rest } });
  const name = (policy.metadata as { name: string }).name;
  const tries = FORBIDDEN.filter(([, , , says]) => says.test(`${name} ${message}`) || says.test(message));
  expect(tries.length).toBeGreaterThan(0);
  for (const [, target, body] of tries) {
    await eventually(
      () => patch(target, body, OPERATOR, typeOf(body)),
      ({ message: said }) => !said.includes(message),
    );
  }
  const [, target, body] = tries[0] ?? FORBIDDEN[0] ?? ['', 'pod' as const, {}];
  expect(denied(await patch(target, body, OPERATOR, typeOf(body)))).toBe(false);
});
