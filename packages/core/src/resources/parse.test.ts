import { day, hour, minute } from '@handover/material';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { apiVersion, authority, bundle, leaf, profile, refusal } from '../../test/resources.ts';
import { KINDS, parseResource, parseResources } from './index.ts';

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
        reuseKey: false,
        subject: { organizations: [] },
        dnsNames: ['envoy'],
        ipAddresses: [],
        uris: [],
        usages: ['server', 'client'],
        lifetime: 90 * day,
        renew: { at: 0.66 },
        outputs: [],
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
        targets: [{ configMap: { name: 'trust', key: 'ca.crt', namespaceSelector: {}, outputs: [] } }],
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

test('fields that an API server adds to an object are ignored', () => {
  const metadata = { name: 'mesh', uid: 'x', resourceVersion: '1', managedFields: [{}], generation: 2 };
  expect(parseResource({ ...authority({}, metadata), status: { phase: 'Stable' } })).toEqual(
    parseResource(authority()),
  );
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

test('an Authority with strategy Instant may have a short life: it does not wait for reloads', () => {
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

test('any input gives a resource or an error of one line', () => {
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
