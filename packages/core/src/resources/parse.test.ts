import { day, HandoverError, hour, minute } from '@handover/material';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { KINDS, parseResource, parseResources, resourceSchemas } from './index.ts';

const apiVersion = 'handover.dev/v1alpha1';
const authority = (spec: unknown = {}, metadata: unknown = { name: 'mesh' }) => ({
  apiVersion,
  kind: 'Authority',
  metadata,
  spec,
});
const leaf = (spec: object = {}) => ({
  apiVersion,
  kind: 'Leaf',
  metadata: { name: 'envoy' },
  spec: { authority: 'mesh', dnsNames: ['envoy'], ...spec },
});
const bundle = (spec: object = {}) => ({
  apiVersion,
  kind: 'TrustBundle',
  metadata: { name: 'all' },
  spec: { sources: [{ authority: 'mesh' }], targets: [{ configMap: { name: 'trust' } }], ...spec },
});
const profile = (spec: object = {}) => ({ apiVersion, kind: 'TLSProfile', metadata: { name: 'tls' }, spec });

const refusal = (value: unknown, where = 'a.yaml'): string => {
  try {
    parseResource(value, where);
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    expect(error.code).toBe('RESOURCE_INVALID');
    expect(error.path).toBe(where);
    expect(error.message).not.toContain('\n');
    return error.message;
  }
  return 'accepted';
};

describe('defaults', () => {
  test('an Authority needs nothing but a name', () => {
    expect(parseResource({ apiVersion, kind: 'Authority', metadata: { name: 'mesh' } })).toEqual({
      apiVersion,
      kind: 'Authority',
      metadata: { name: 'mesh', namespace: 'default', labels: {}, annotations: {} },
      spec: {
        key: 'ECDSA-P256',
        lifetime: 1825 * day,
        issueTo: {},
        rotation: {
          at: 0.8,
          strategy: 'Phased',
          reloadWithin: 3 * minute,
          onBlocked: 'Wait',
          patience: 24 * hour,
          paused: false,
          maxConcurrentRollouts: 3,
        },
        bundle: { configMapName: 'mesh-trust' },
        consumers: [],
      },
    });
  });

  test('a Leaf needs an authority and a name to show', () => {
    expect(parseResource(leaf())).toEqual({
      apiVersion,
      kind: 'Leaf',
      metadata: { name: 'envoy', namespace: 'default', labels: {}, annotations: {} },
      spec: {
        authority: 'mesh',
        secretName: 'envoy',
        key: 'ECDSA-P256',
        subject: { organizations: [] },
        dnsNames: ['envoy'],
        ipAddresses: [],
        uris: [],
        usages: ['server', 'client'],
        lifetime: 90 * day,
        renew: { at: 0.66 },
      },
    });
  });

  test('a TrustBundle has no namespace, keys are ca.crt, targets are everywhere', () => {
    expect(parseResource(bundle({ sources: [{ secret: { name: 'root' } }] }))).toEqual({
      apiVersion,
      kind: 'TrustBundle',
      metadata: { name: 'all', labels: {}, annotations: {} },
      spec: {
        sources: [{ secret: { name: 'root', key: 'ca.crt' } }],
        targets: [{ configMap: { name: 'trust', key: 'ca.crt', namespaceSelector: {} } }],
      },
    });
  });

  test('a TLSProfile is Intermediate', () => {
    expect(parseResource(profile())).toMatchObject({ spec: { type: 'Intermediate', configMapName: 'tls' } });
    const custom = parseResource(profile({ type: 'Custom', custom: { ciphers: ['A'] } }));
    expect(custom).toMatchObject({
      spec: { custom: { ciphers: ['A'], minTLSVersion: 'VersionTLS12', groups: [] } },
    });
  });

  test('a schedule by time instead of share has no share', () => {
    const parsed = parseResource(authority({ rotation: { before: '30d' } }));
    expect(parsed).toMatchObject({ spec: { rotation: { before: 30 * day } } });
    expect(parsed).not.toHaveProperty('spec.rotation.at');
  });
});

test('the resources of the design document parse', () => {
  const consumers = [
    {
      name: 'db',
      presents: true,
      verifies: true,
      leaf: 'db',
      probe: { address: '127.0.0.1:5432' },
      status: { socket: '/run/db.sock' },
      reload: 'hot',
    },
    { name: 'lb', verifies: true, bundle: 'all', probe: { address: '[::1]:443', mtls: true } },
  ];
  const issueTo = { namespaceSelector: {}, dnsNames: ['*.mesh.svc'] };
  const resources = [
    authority({ lifetime: '18mo', issueTo, bundle: { configMapName: 'x' }, consumers }),
    leaf({
      authority: 'envoy-system/mesh',
      subject: { commonName: 'envoy', organizations: ['Example'] },
      ipAddresses: ['::1'],
      uris: ['spiffe://mesh/envoy'],
      reload: { command: ['nginx', '-s', 'reload'] },
      files: { owner: 'postgres', group: 'postgres', mode: '0640' },
    }),
    bundle({
      targets: [
        { secret: { name: 'a', namespaceSelector: { matchLabels: { team: 'a' } } } },
        { clusterTrustBundle: { name: 'example.com:mesh:all', signerName: 'example.com/mesh' } },
        { inject: { kind: 'APIService', name: 'v1alpha1.data.packaging.carvel.dev' } },
        { inject: { kind: 'ValidatingWebhookConfiguration', name: 'hook', webhooks: ['a.example.com'] } },
      ],
    }),
    profile({ type: 'OpenShift', workloadSelector: {} }),
  ];
  expect(resources.map((value) => parseResource(value).kind)).toEqual([
    'Authority',
    'Leaf',
    'TrustBundle',
    'TLSProfile',
  ]);
});

test('what an API server adds to an object is read past', () => {
  const metadata = { name: 'mesh', uid: 'x', resourceVersion: '1', managedFields: [{}], generation: 2 };
  expect(parseResource({ ...authority({}, metadata), status: { phase: 'Stable' } })).toEqual(
    parseResource(authority()),
  );
});

describe('messages say where, what was there and what is allowed', () => {
  test.each<[string, unknown, string]>([
    [
      'a duration',
      authority({ rotation: { reloadWithin: '3 min' } }),
      'a.yaml: Authority mesh: spec.rotation.reloadWithin: "3 min" is not a duration; write it like 30s, 10m, 36h, 90d, 18mo or 5y',
    ],
    [
      'a bare number',
      authority({ rotation: { reloadWithin: 180 } }),
      'a.yaml: Authority mesh: spec.rotation.reloadWithin: 180 is not a duration; write it like 30s, 10m, 36h, 90d, 18mo or 5y',
    ],
    [
      'a lifetime out of bounds',
      authority({ lifetime: '20s' }),
      'a.yaml: Authority mesh: spec.lifetime: "20s" is out of bounds; use 1m to 100y',
    ],
    [
      'an endless lifetime',
      leaf({ lifetime: '999999999y' }),
      'a.yaml: Leaf envoy: spec.lifetime: "999999999y" is out of bounds; use 10s to 10y',
    ],
    [
      'an empty duration',
      authority({ lifetime: '' }),
      'a.yaml: Authority mesh: spec.lifetime: "" is not a duration; write it like 30s, 10m, 36h, 90d, 18mo or 5y',
    ],
    [
      'a percentage',
      authority({ rotation: { at: '100%' } }),
      'a.yaml: Authority mesh: spec.rotation.at: "100%" is not a percentage; write a whole percentage from 1% to 99%',
    ],
    [
      'a misspelt field',
      authority({ rotaton: {} }),
      'a.yaml: Authority mesh: spec.rotaton: unknown field; did you mean rotation?',
    ],
    [
      'an unknown field',
      authority({ bundle: { colour: 1 } }),
      'a.yaml: Authority mesh: spec.bundle.colour: unknown field; allowed: configMapName',
    ],
    [
      'a misspelt word',
      authority({ rotation: { strategy: 'phased' } }),
      'a.yaml: Authority mesh: spec.rotation.strategy: "phased" is not allowed; did you mean Phased? Allowed: Phased, Instant',
    ],
    [
      'Ed25519',
      authority({ key: 'Ed25519' }),
      'a.yaml: Authority mesh: spec.key: "Ed25519" is not offered because too many TLS peers refuse it; use ECDSA-P256',
    ],
    [
      'another key',
      leaf({ key: 'RSA-1024' }),
      'a.yaml: Leaf envoy: spec.key: "RSA-1024" is not a key algorithm; use ECDSA-P256, ECDSA-P384, RSA-2048, RSA-3072, RSA-4096',
    ],
    [
      'a pattern with two stars',
      authority({ issueTo: { dnsNames: ['*.*.svc'] } }),
      'a.yaml: Authority mesh: spec.issueTo.dnsNames[0]: "*.*.svc" is not a pattern of DNS names; write it like *.mesh.svc, with at most one * within one label; {namespace} is the namespace of the Leaf',
    ],
    [
      'an address for a domain',
      authority({ nameConstraints: { dnsNames: ['10.0.0.1'] } }),
      'a.yaml: Authority mesh: spec.nameConstraints.dnsNames[0]: "10.0.0.1" is an IP address; list it in ipAddresses',
    ],
    [
      'constraints of nothing',
      authority({ nameConstraints: {} }),
      'a.yaml: Authority mesh: spec.nameConstraints: has no list; give dnsNames, ipAddresses or both',
    ],
    [
      'a server without a host name',
      leaf({ dnsNames: [], subject: { commonName: 'envoy' } }),
      'a.yaml: Leaf envoy: spec: usages has server, and clients match a server by dnsNames or ipAddresses; give one of them, or usages: [client]',
    ],
    [
      'both schedules',
      authority({ rotation: { at: '80%', before: '30d' } }),
      'a.yaml: Authority mesh: spec.rotation: has both at and before; give one of them',
    ],
    [
      'a schedule longer than life',
      authority({ lifetime: '30d', rotation: { before: '30d' } }),
      'a.yaml: Authority mesh: spec.rotation.before: "30d" is not less than the lifetime of 30d; lower it',
    ],
    [
      'a reloadWithin that cannot fit',
      authority({ lifetime: '10m' }),
      'a.yaml: Authority mesh: spec.rotation.reloadWithin: "3m" does not fit: a rotation begins 2m before the CA ends; lower reloadWithin, begin earlier, or raise lifetime',
    ],
    [
      'no rollouts at all',
      authority({ rotation: { maxConcurrentRollouts: 0 } }),
      'a.yaml: Authority mesh: spec.rotation.maxConcurrentRollouts: 0 is out of bounds; at least 1 allowed',
    ],
    [
      'half a rollout',
      authority({ rotation: { maxConcurrentRollouts: 1.5 } }),
      'a.yaml: Authority mesh: spec.rotation.maxConcurrentRollouts: 1.5 is not a whole number; give a whole number',
    ],
    [
      'a string for a boolean',
      authority({ rotation: { paused: 'no' } }),
      'a.yaml: Authority mesh: spec.rotation.paused: "no" is not true or false; give true or false',
    ],
    [
      'an idle consumer',
      authority({ consumers: [{ name: 'db' }] }),
      'a.yaml: Authority mesh: spec.consumers[0]: neither presents nor verifies; set presents: true, verifies: true or both',
    ],
    [
      'a consumer twice',
      authority({
        consumers: [
          { name: 'db', presents: true },
          { name: 'db', verifies: true },
        ],
      }),
      'a.yaml: Authority mesh: spec.consumers[1].name: "db" is already the name of consumers[0]; choose another',
    ],
    [
      'a leaf without presents',
      authority({ consumers: [{ name: 'db', verifies: true, leaf: 'db' }] }),
      'a.yaml: Authority mesh: spec.consumers[0].leaf: needs presents: true beside it',
    ],
    [
      'two status sources',
      authority({ consumers: [{ name: 'db', presents: true, status: { file: 'a', url: 'http://b/' } }] }),
      'a.yaml: Authority mesh: spec.consumers[0].status: has file and url of file, socket, url; give exactly one',
    ],
    [
      'a probe without port',
      authority({ consumers: [{ name: 'db', presents: true, probe: { address: 'db' } }] }),
      'a.yaml: Authority mesh: spec.consumers[0].probe.address: "db" is not an address; write host:port, such as 127.0.0.1:5432 or [::1]:443',
    ],
    [
      'a Leaf without authority',
      { ...leaf(), spec: { dnsNames: ['a'] } },
      'a.yaml: Leaf envoy: spec.authority: is missing; write name or namespace/name in lower-case letters, digits, - and .',
    ],
    [
      'a Leaf without spec',
      { ...leaf(), spec: undefined },
      'a.yaml: Leaf envoy: spec: is missing; give a map of fields',
    ],
    [
      'a Leaf without a name',
      leaf({ dnsNames: [] }),
      'a.yaml: Leaf envoy: spec: has no name; give dnsNames, ipAddresses, uris or subject.commonName',
    ],
    [
      'an inner wildcard',
      leaf({ dnsNames: ['a', 'b.*.c'] }),
      'a.yaml: Leaf envoy: spec.dnsNames[1]: "b.*.c" may hold * only as its whole first label, before at least one other',
    ],
    [
      'a bad IP',
      leaf({ ipAddresses: ['1.2.3'] }),
      'a.yaml: Leaf envoy: spec.ipAddresses[0]: "1.2.3" is not an IPv4 or IPv6 address; write it like 10.0.0.1 or 2001:db8::1',
    ],
    [
      'no reload way',
      leaf({ reload: {} }),
      'a.yaml: Leaf envoy: spec.reload: has none of command, signal, http; give exactly one',
    ],
    [
      'a short signal name',
      leaf({ reload: { signal: { pidFile: '/run/a.pid', signal: 'HUP' } } }),
      'a.yaml: Leaf envoy: spec.reload.signal.signal: "HUP" is not allowed; did you mean SIGHUP? Allowed: SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGTERM, SIGWINCH',
    ],
    [
      'a mode as a number',
      leaf({ files: { mode: 600 } }),
      'a.yaml: Leaf envoy: spec.files.mode: 600 is not a mode; write it in quotes, like "0600" or "0640"; others must not read a key',
    ],
    [
      'a key for everybody',
      leaf({ files: { mode: '0644' } }),
      'a.yaml: Leaf envoy: spec.files.mode: "0644" is not a mode; write it in quotes, like "0600" or "0640"; others must not read a key',
    ],
    [
      'no usages',
      leaf({ usages: [] }),
      'a.yaml: Leaf envoy: spec.usages: has the wrong length; at least 1 entry allowed',
    ],
    [
      'a source of two kinds',
      bundle({ sources: [{ authority: 'a', configMap: { name: 'b' } }] }),
      'a.yaml: TrustBundle all: spec.sources[0]: has authority and configMap of authority, secret, configMap, inline; give exactly one',
    ],
    [
      'webhooks of an APIService',
      bundle({ targets: [{ inject: { kind: 'APIService', name: 'a', webhooks: ['b'] } }] }),
      'a.yaml: TrustBundle all: spec.targets[0].inject.webhooks: does not apply to APIService; leave it out',
    ],
    [
      'a bundle named apart from its signer',
      bundle({ targets: [{ clusterTrustBundle: { name: 'all', signerName: 'example.com/mesh' } }] }),
      'a.yaml: TrustBundle all: spec.targets[0].clusterTrustBundle.name: "all" must begin with example.com:mesh:',
    ],
    [
      'a TrustBundle in a namespace',
      { ...bundle(), metadata: { name: 'all', namespace: 'a' } },
      'a.yaml: TrustBundle all: metadata.namespace: a TrustBundle belongs to the whole cluster; leave the namespace out',
    ],
    [
      'a key outside its directory',
      bundle({ targets: [{ configMap: { name: 'a', key: '../ca.crt' } }] }),
      'a.yaml: TrustBundle all: spec.targets[0].configMap.key: "../ca.crt" is not a key; use letters, digits, -, _ and ., such as ca.crt',
    ],
    [
      'Custom without a body',
      profile({ type: 'Custom' }),
      'a.yaml: TLSProfile tls: spec.custom: is missing; type Custom needs ciphers and minTLSVersion',
    ],
    [
      'a body without Custom',
      profile({ custom: { ciphers: ['a'] } }),
      'a.yaml: TLSProfile tls: spec.custom: is only allowed with type: Custom, not Intermediate; remove one of them',
    ],
    [
      'a bogus profile',
      profile({ type: 'Bogus' }),
      'a.yaml: TLSProfile tls: spec.type: "Bogus" is not allowed; use Old, Intermediate, Modern, Custom, OpenShift',
    ],
    ['no map', 'hello', 'a.yaml: "hello" is not a resource; give apiVersion, kind, metadata and spec'],
    ['an empty document', null, 'a.yaml: null is not a resource; give apiVersion, kind, metadata and spec'],
    [
      'another API',
      { apiVersion: 'v1', kind: 'Secret' },
      'a.yaml: apiVersion: "v1" is not supported; use handover.dev/v1alpha1',
    ],
    [
      'a misspelt kind',
      { apiVersion, kind: 'Authorty' },
      'a.yaml: kind: "Authorty" is not a kind of Handover; did you mean Authority? Allowed: Authority, Leaf, TrustBundle, TLSProfile',
    ],
    [
      'no metadata',
      { apiVersion, kind: 'Authority' },
      'a.yaml: Authority: metadata: is missing; give a map of fields',
    ],
  ])('%s', (_, value, message) => {
    expect(refusal(value)).toBe(message);
  });

  test('several problems come in one go, the rest counted', () => {
    const spec = { key: 'x', lifetime: 'x', rotation: { at: 'x', reloadWithin: 'x', paused: 'x' } };
    const message = refusal(authority(spec));
    expect(message.split('; also ')).toHaveLength(3);
    expect(message).toMatch(/; and 2 more$/);
    expect(refusal(authority({ a1: 1, colour: 2 })).split('; also ')).toHaveLength(2);
  });
});

test.each(['..', '.', 'a/b', '../a', 'Mesh', 'a..b', '-a', 'a-', '', 'a b', 'a\0', 'ä', 'a'.repeat(254)])(
  'the name %j, which could leave its directory or be refused by Kubernetes, is refused',
  (name) => {
    expect(refusal(authority({}, { name }))).toContain('metadata.name: ');
    expect(refusal(authority({}, { name: 'a', namespace: name }))).toContain('metadata.namespace: ');
    expect(refusal(leaf({ secretName: name }))).toContain('spec.secretName: ');
    expect(refusal(authority({ bundle: { configMapName: name } }))).toContain('spec.bundle.configMapName: ');
  },
);

test('key material never gets into a message', () => {
  const pem = `-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----\n`;
  for (const value of [
    bundle({ sources: [{ inline: pem }] }),
    authority({ key: pem }),
    authority(pem),
    { ...authority(), kind: pem },
    authority({ [pem]: 1 }),
    authority({}, { name: pem }),
    pem,
  ]) {
    expect(refusal(value)).not.toMatch(/MIGH|accepted/);
  }
  expect(refusal(bundle({ sources: [{ inline: pem }] }))).toContain(
    'spec.sources[0].inline: holds a private key;',
  );
});

test('Instant does not wait to settle, so a short life is fine', () => {
  expect(refusal(authority({ lifetime: '10m', rotation: { strategy: 'Instant' } }))).toBe('accepted');
});

test('the same resource twice is refused with both places; another namespace or kind is another resource', () => {
  const at = (where: string, value: unknown) => ({ where, value });
  const other = authority({}, { name: 'mesh', namespace: 'b' });
  expect(parseResources([at('a', authority()), at('b', other), at('c', profile())])).toHaveLength(3);
  expect(() => parseResources([at('a.yaml', authority()), at('b.yaml', authority())])).toThrow(
    'b.yaml: Authority default/mesh is already declared in a.yaml; rename one of them or remove it',
  );
  expect(() => parseResources([at('a.yaml', bundle()), at('b.yaml', bundle())])).toThrow(
    /TrustBundle all is already/,
  );
});

test('a Leaf may name an authority that is not declared', () => {
  expect(parseResources([{ where: 'a', value: leaf({ authority: 'elsewhere/mesh' }) }])).toHaveLength(1);
});

test('whatever comes in, the answer is a resource or one line', () => {
  const any = fc.anything({ withNullPrototype: true, withObjectString: true });
  const sparse = fc.record(
    { apiVersion: fc.constant(apiVersion), kind: fc.constantFrom(...KINDS), metadata: any, spec: any },
    { requiredKeys: ['apiVersion', 'kind'] },
  );
  const spec = fc.dictionary(
    fc.constantFrom(
      'authority',
      'rotation',
      'consumers',
      'sources',
      'targets',
      'custom',
      'reload',
      'lifetime',
      '__proto__',
    ),
    any,
  );
  const close = spec.chain((value) =>
    fc.constantFrom(authority(value), leaf(value), bundle(value), profile(value)),
  );
  fc.assert(
    fc.property(fc.oneof(any, sparse, close), (value) => {
      refusal(value);
    }),
    { numRuns: 500 },
  );
});

test.each(KINDS)(
  '%s becomes an OpenAPI schema without unions, with maxima and a description for every field',
  (kind) => {
    const schema = z.toJSONSchema(resourceSchemas[kind], {
      target: 'openapi-3.0',
      io: 'input',
      reused: 'inline',
    });
    const bare: string[] = [];
    const walk = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return;
      const it = node as Record<string, unknown>;
      for (const union of ['anyOf', 'oneOf', 'allOf', 'not', '$ref'])
        if (union in it) bare.push(`${path}: ${union}`);
      if (it.type === 'array' && it.maxItems === undefined) bare.push(`${path}: no maxItems`);
      if (it.type === 'string' && it.maxLength === undefined && it.enum === undefined)
        bare.push(`${path}: no maxLength`);
      for (const [name, child] of Object.entries((it.properties as Record<string, unknown>) ?? {})) {
        if ((child as { description?: string }).description === undefined)
          bare.push(`${path}.${name}: no description`);
        walk(child, `${path}.${name}`);
      }
      walk(it.items, `${path}[]`);
    };
    walk((schema.properties as Record<string, unknown>).spec, 'spec');
    expect(bare).toEqual([]);
  },
);

test('a selector has at most 64 labels', () => {
  const labels = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, 'x']));
  const selecting = (count: number) =>
    authority({ issueTo: { namespaceSelector: { matchLabels: labels(count) } } });
  expect(refusal(selecting(64))).toBe('accepted');
  expect(refusal(selecting(65))).toBe(
    'a.yaml: Authority mesh: spec.issueTo.namespaceSelector.matchLabels: has the wrong length; at most 64 entries allowed',
  );
});

describe('what the API server checks by form never refuses what the parser takes', () => {
  const { properties } = z.toJSONSchema(resourceSchemas.Leaf, {
    target: 'openapi-3.0',
    io: 'input',
    reused: 'inline',
  }) as unknown as { properties: { spec: { properties: Record<string, { items: { pattern: string } }> } } };
  const formOf = (field: string) => new RegExp(properties.spec.properties[field]?.items.pattern ?? '^$');
  const from = (letters: string) =>
    fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 24 });
  test.each([
    ['dnsNames', from('aZ0-_.*')],
    ['ipAddresses', fc.oneof(from('0129.:'), from('0aF:'), fc.ipV4(), fc.ipV6())],
    ['uris', fc.oneof(from("az:/?#[]@!$&'()*+,;=%"), fc.webUrl())],
  ])('%s', (field, texts) => {
    const form = formOf(field);
    fc.assert(
      fc.property(texts, (text) => {
        if (refusal(leaf({ [field]: [text] })) === 'accepted') expect(text).toMatch(form);
      }),
      { numRuns: 2000 },
    );
  });
});

test('every rule that joins fields reaches the API server too', () => {
  const ruled: string[] = [];
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const it = node as Record<string, unknown>;
    if ('x-kubernetes-validations' in it) ruled.push(path);
    for (const [name, child] of Object.entries(it.properties ?? {})) walk(child, `${path}.${name}`);
    walk(it.items, `${path}[]`);
  };
  for (const kind of KINDS) {
    const options = { target: 'openapi-3.0', io: 'input', reused: 'inline' } as const;
    walk(z.toJSONSchema(resourceSchemas[kind], options), kind);
  }
  expect(ruled).toEqual([
    'Authority',
    'Authority.spec.adopt',
    'Authority.spec.nameConstraints',
    'Authority.spec.rotation',
    'Authority.spec.consumers[]',
    'Authority.spec.consumers[].status',
    'Leaf.spec',
    'Leaf.spec.reload',
    'TrustBundle.spec.sources[]',
    'TrustBundle.spec.sources[].inline',
    'TrustBundle.spec.targets[]',
    'TrustBundle.spec.targets[].clusterTrustBundle',
    'TrustBundle.spec.targets[].inject',
    'TLSProfile.spec',
  ]);
});
