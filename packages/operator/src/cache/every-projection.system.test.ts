// Gigabytes of hostile objects, and collections of garbage.
import { readdirSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ANNOTATIONS, CAINJECTOR, ISSUER, MANAGED_LABEL, SERVICE_CA, TRUST_MANAGER } from '@handover/core';
import type { KubeObject } from '@handover/kube';
import { isMap } from '@handover/material';
import { expect, test } from 'vitest';
import { type Projection, projections, sizeOf } from './projection.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;
/** Long keys leave with the shapes of the objects that had them, which leave one collection later. */
const collectGarbage = (): void => {
  for (let i = 0; i < 3; i++) gc();
};

const SOURCES = new URL('..', import.meta.url);
const BYTES = 1_500_000;
/** What an object may cost beside the contents that are asked of it. */
const MOST = 64 * 1_024;

const sources = (folder: URL): readonly URL[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const url = new URL(`${entry.name}${entry.isDirectory() ? '/' : ''}`, folder);
    if (entry.isDirectory()) return sources(url);
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts') ? [url] : [];
  });

// Each module that makes a projection is loaded, so that it is in the list of all.
for (const url of sources(SOURCES))
  if (/new Projection\b/.test(readFileSync(url, 'utf8'))) await import(url.href);

const own = new Map([...projections()].filter(([name]) => !name.startsWith('test')));

type Sample = Readonly<Record<string, unknown>>;

interface Case {
  readonly sample: Sample;
  readonly part?: string;
  /** Paths whose bytes are what the operator is there for: kept up to the projection's own bound, and charged. */
  readonly contents?: RegExp;
}

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const template = {
  metadata: { labels: { app: 'web' }, annotations: { 'handover.dev/trust-hash': 'x' } },
  spec: {
    containers: [
      {
        image: 'stakater/reloader',
        ports: [{ name: 'https', containerPort: 8443 }],
        volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a' }],
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'web', key: 'tls.crt' } } }],
        envFrom: [{ configMapRef: { name: 'web' } }],
      },
    ],
    volumes: [
      {
        name: 'v',
        secret: { secretName: 'web', items: [{ key: 'tls.crt', path: 'a' }] },
        projected: {
          sources: [
            { secret: { name: 'web' } },
            { podCertificate: { signerName: 'handover.dev/prod.mesh' } },
            {
              clusterTrustBundle: {
                signerName: 'handover.dev/mesh',
                labelSelector: {
                  matchLabels: { a: 'b' },
                  matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }],
                },
              },
            },
          ],
        },
      },
    ],
  },
};
const workload: Case = {
  sample: {
    spec: { replicas: 1, template, strategy: { rollingUpdate: { maxUnavailable: '25%' } } },
    status: {
      readyReplicas: 1,
      conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'a', message: 'b' }],
    },
  },
};
const data: Case = {
  sample: { data: { 'ca.crt': base64(PEM), other: base64('x') }, immutable: true },
  contents: /^(data|binaryData|metadata\.annotations\.handover\.dev\/record)\b/,
};
const webhooks: Case = {
  sample: { webhooks: [{ name: 'a.b', clientConfig: { caBundle: base64(PEM) } }] },
  contents: /^(webhooks|metadata\.annotations\.handover\.dev\/record)\b/,
};
const ready = { sample: { status: { readyReplicas: 1 } } };
const conditions = [{ type: 'Ready', status: 'True', reason: 'a', message: 'b', lastTransitionTime: 'c' }];
const ours = (spec: object): Case => ({
  sample: { apiVersion: 'handover.dev/v1alpha1', spec, status: { hash: 'x', conditions } },
  contents: /^(spec|status)\b/,
});
const target = { configMap: { name: 'ca', key: 'ca.crt', namespaceSelector: { matchLabels: { a: 'b' } } } };

/** An object that each projection keeps, with every field that it reads. */
const CASES: Readonly<Record<string, Case>> = {
  secrets: data,
  configmaps: { ...data, sample: { data: { 'ca.crt': PEM, o: 'x' }, binaryData: { b: base64('x') } } },
  clustertrustbundles: {
    sample: { spec: { signerName: 'a', trustBundle: PEM } },
    contents: /^(spec\.trustBundle|metadata\.annotations\.handover\.dev\/record)/,
  },
  apiservices: {
    sample: { spec: { service: { name: 'a' }, caBundle: base64(PEM) } },
    contents: /^(spec\.caBundle|metadata\.annotations\.handover\.dev\/record)/,
  },
  validatingwebhookconfigurations: webhooks,
  mutatingwebhookconfigurations: webhooks,
  customresourcedefinitions: {
    sample: {
      spec: {
        conversion: { strategy: 'Webhook', webhook: { clientConfig: { caBundle: base64(PEM) } } },
        versions: [{ schema: { properties: { a: { type: 'string' } } } }],
      },
    },
    contents: /caBundle$|^metadata\.annotations\.handover\.dev\/record/,
  },
  'Secret with a state': {
    sample: { data: { 'authority.json': base64('{}') } },
    contents: /^data\.authority/,
  },
  'Secret with a password': { sample: { data: { password: base64('secret') } }, part: 'password' },
  APIServer: {
    sample: {
      spec: {
        tlsSecurityProfile: {
          type: 'Custom',
          custom: { ciphers: ['a'], minTLSVersion: 'VersionTLS12', groups: ['X25519'] },
        },
      },
    },
  },
  Pod: {
    sample: {
      spec: { ...template.spec, restartPolicy: 'Always', hostNetwork: false },
      status: {
        phase: 'Running',
        podIP: '10.0.0.1',
        podIPs: [{ ip: '10.0.0.1' }],
        hostIP: '10.0.0.2',
        conditions: [{ type: 'Ready', status: 'True' }],
        initContainerStatuses: [{ state: { running: { startedAt: 'x' } } }],
      },
    },
  },
  Deployment: workload,
  StatefulSet: workload,
  DaemonSet: workload,
  ReplicaSet: { sample: {} },
  PodCertificateRequest: {
    sample: {
      spec: {
        signerName: 'handover.dev/prod.mesh',
        podName: 'a',
        podUID: 'b',
        serviceAccountName: 'c',
        nodeName: 'd',
        maxExpirationSeconds: 3_600,
        stubPKCS10Request: base64('x'),
        unverifiedUserAnnotations: { a: 'b' },
      },
      status: {
        certificateChain: PEM,
        conditions: [{ type: 'Issued', lastTransitionTime: '2030-01-01T00:00:00Z' }],
      },
    },
  },
  Service: { sample: { spec: { type: 'ClusterIP', selector: { app: 'web' } } } },
  'Service that asks for a certificate': { sample: { spec: { clusterIP: 'None' } } },
  'ConfigMap that asks for a bundle': { sample: {} },
  'Secret of a Certificate': { sample: {} },
  'Deployment of cainjector': ready,
  'Deployment of trust-manager': ready,
  'source of a TrustBundle': { sample: {} },
  'source of a Bundle': { sample: {} },
  'Namespace of a Bundle': { sample: {} },
  Namespace: { sample: {} },
  'ConfigMap of a Bundle': { sample: {} },
  'Secret of a Bundle': { sample: {} },
  Bundle: {
    sample: {
      spec: { sources: [{ inLine: PEM }], target: { configMap: { key: 'ca.crt' } } },
      status: { conditions, defaultCAVersion: 'a' },
    },
    contents: /^spec\b/,
  },
  CertificateRequest: {
    sample: {
      spec: { request: base64('x'), issuerRef: { ...ISSUER, name: 'mesh' }, usages: ['a'] },
      status: { conditions, certificate: base64(PEM), ca: base64(PEM) },
    },
  },
  Certificate: {
    sample: {
      spec: { secretName: 'web', issuerRef: { ...ISSUER, name: 'mesh' } },
      status: { conditions, lastFailureTime: 'x' },
    },
  },
  'Secret of cert-manager': {
    sample: { data: { 'tls.crt': base64(PEM), 'ca.crt': base64(PEM), 'tls.key': base64('x') } },
  },
  Authority: ours({ rotation: { reloadWithin: '5s' }, issueTo: { namespaceSelector: { matchLabels: {} } } }),
  Leaf: ours({ authority: 'mesh', secretName: 'web', dnsNames: ['a.prod.svc'] }),
  TrustBundle: ours({ sources: [{ authority: 'prod/mesh' }], targets: [target] }),
  TLSProfile: ours({
    type: 'Intermediate',
    configMapName: 'a',
    workloadSelector: { matchLabels: { a: 'b' } },
  }),
};

const annotations = Object.fromEntries(
  [
    ...ANNOTATIONS.map(({ name }) => name),
    ...Object.values(SERVICE_CA),
    ...Object.values(CAINJECTOR),
    TRUST_MANAGER.hash,
    'foreign.example/a',
  ].map((name) => [name, 'true']),
);

/** What every object has. What the API server itself bounds, names and dates, is left as it is. */
const whole = ({ sample }: Case): Sample => ({
  kind: 'Any',
  apiVersion: 'v1',
  metadata: {
    name: 'x',
    namespace: 'evil',
    uid: 'u',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2030-01-01T00:00:00Z',
    labels: { [MANAGED_LABEL]: 'true', [TRUST_MANAGER.bundle]: 'x', app: 'web' },
    annotations,
    ownerReferences: [
      { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', name: 'o', uid: 'u', controller: true },
    ],
    managedFields: [
      {
        manager: 'handover',
        operation: 'Apply',
        time: '2030-01-01T00:00:00Z',
        fieldsV1: { 'f:data': { 'f:a': {} } },
      },
      {
        manager: TRUST_MANAGER.manager,
        operation: 'Apply',
        time: '2030-01-02T00:00:00Z',
        fieldsV1: { 'f:data': { 'f:a': {} } },
      },
    ],
    finalizers: ['a/b'],
    ...(isMap(sample.metadata) ? sample.metadata : {}),
  },
  ...sample,
});

type Path = readonly (string | number)[];
const SERVERS_OWN =
  /^(kind|apiVersion|metadata\.(name|namespace|uid|resourceVersion|generation|creationTimestamp))$/;
const pathsIn = (value: unknown, at: Path = []): readonly Path[] => {
  const inner =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, one]) =>
          pathsIn(one, [...at, Array.isArray(value) ? Number(name) : name]),
        )
      : [];
  return SERVERS_OWN.test(at.join('.')) || at.length === 0 ? inner : [at, ...inner];
};
const put = (value: unknown, [first, ...rest]: Path, make: () => unknown): unknown => {
  if (first === undefined) return make();
  if (Array.isArray(value)) return value.map((one, index) => (index === first ? put(one, rest, make) : one));
  const map = value as Sample;
  return { ...map, [first]: put(map[first], rest, make) };
};

/** Flat, and another one each time: what keeps a slice of it keeps all of it. */
const long = (before = ''): string =>
  `${before}${Buffer.alloc(BYTES, 'MIIB').toString('latin1')}`.normalize();
const deep = (): unknown => JSON.parse(`${'{"f:caBundle":'.repeat(5_000)}1${'}'.repeat(5_000)}`);
const numbered = (value: unknown, index: number): unknown => {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map((one) => numbered(one, index));
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      typeof one === 'string' && /name|uid|key|ip|signer|values|message/i.test(name) && name !== 'apiVersion'
        ? `${one}-${index}`
        : numbered(one, index),
    ]),
  );
};
const times = (value: unknown): number =>
  Math.ceil(BYTES / Math.max(150, JSON.stringify(value ?? '').length));

const KEYS = Array.from({ length: 10_000 }, (_, i) => `key-${i}`.padEnd(150, '-'));
const TEXTS = Object.fromEntries(KEYS.map((key) => [key, 'x']));
const CERTIFICATES = PEM.repeat(BYTES / PEM.length);
const CERTIFICATES64 = base64(PEM.repeat(BYTES / PEM.length / 1.4));

type Shapes = readonly (readonly [string, () => unknown])[];

/** The bytes, in every shape that the API server lets this value have. */
const hostile = (value: unknown): Shapes => {
  if (Array.isArray(value)) {
    const [first] = value;
    const text = typeof first === 'string';
    return [
      ['many items', () => Array.from({ length: times(first) }, () => first)],
      [
        'many different items',
        () => Array.from({ length: times(first) }, (_, i) => (text ? `${first}-${i}` : numbered(first, i))),
      ],
      ...(text ? [['a long item', () => [...value, long()]] as const] : []),
    ];
  }
  if (isMap(value)) {
    const [first = 'x'] = Object.values(value);
    return [
      [
        'many keys',
        () => ({
          ...value,
          ...(typeof first === 'string' ? TEXTS : Object.fromEntries(KEYS.map((key) => [key, first]))),
        }),
      ],
      ['long keys', () => ({ ...value, [long()]: first })],
      ['a long value', () => ({ ...value, added: long() })],
      ['something nested', deep],
    ];
  }
  if (typeof value !== 'string') return [];
  return [
    ['a long string', () => long()],
    ['a string that begins well', () => long(value)],
    ['many certificates', () => CERTIFICATES],
    ['many certificates, in base64', () => CERTIFICATES64],
  ];
};
const at = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((inner, name) => (inner as Sample)[name], value);

test('every projection of the operator has an object here with every field that it reads', () => {
  expect([...own.keys()].sort()).toEqual(Object.keys(CASES).sort());
});

test.each(Object.entries(CASES))('of %s little is kept, wherever its 1.5 MB are', (name, one) => {
  const projection = own.get(name) as Projection<KubeObject, unknown> | undefined;
  if (projection === undefined) throw new Error(`no projection ${name}`);
  const { part, contents } = one;
  const sample = whole(one);
  const keep = (object: unknown): unknown => {
    try {
      return projection.keep(object as KubeObject, part);
    } catch {
      // Counts as unknown; nothing is kept of it.
      return undefined;
    }
  };
  expect(keep(sample)).toBeDefined();
  const kept: unknown[] = [];
  let size = 0;
  collectGarbage();
  const before = process.memoryUsage();
  for (const path of pathsIn(sample))
    for (const [what, make] of hostile(at(sample, path))) {
      const found = keep(put(sample, path, make));
      const text = path.join('.');
      const taken = sizeOf(found);
      const most = contents?.test(text) === true ? Number.POSITIVE_INFINITY : Math.min(MOST, projection.most);
      if (taken > most) expect.fail(`${text}: ${what}: ${taken} bytes`);
      if (taken > most / 2) continue;
      kept.push(found);
      size += taken;
    }
  collectGarbage();
  const after = process.memoryUsage();
  const grown = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  // A part of a string that is kept keeps the whole of it.
  expect(grown).toBeLessThan(4 * size + 1_000_000);
  expect(kept.length).toBeGreaterThan(0);
});
