import fc from 'fast-check';
import type { Json } from './requests.ts';
import { authority, bundle, leaf, profile } from './resources.ts';

const of = (...values: readonly string[]) => fc.constantFrom(...values);
const name = of('a', 'a.b', '0-0', 'x'.repeat(253), `${'a.'.repeat(126)}a`, 'ä');
const reference = of('a', 'a/b', `${'n'.repeat(63)}/${'x'.repeat(253)}`, 'A/b');
const dns = of('a', '*.a', 'a_b.c', 'A.B', '1', `${'x'.repeat(63)}.y`, 'a..b');
const ip = of('0.0.0.0', '255.1.20.99', '::', '::1', '1:2:3:4:5:6:7:8', '::ffff:1.2.3.4', '1::', '1.2.3');
const uri = of('spiffe://a/b', 'urn:x', "a+b.c-d:!$&'()*,;=[]", 'x');
const path = of('/run/x', 'x', 'ä b', '\u2028', '😀'.repeat(512), '\n');
const url = of('http://a', 'https://[::1]:1/a?b#[c]', 'HTTP://a');
const address = of('a:1', '[::1]:65535', 'a_b.c:443', 'a:0');
const lifetime = of('3h', '1h30m', '5y', '90d', '18mo', '1d500ms', '3');
const wait = of('0s', '3m', '999999999ms', '-1s');
const share = of('1%', '99%', '66%', '100%');
const attribute = of('a', 'Zürich', '𝒳'.repeat(64), 'x'.repeat(65), '\u0085');
const label = of('', 'a', 'a.b_c-d', 'x'.repeat(63), '-');
/** At most one, so that not every object has a bad one. */
const one = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 1 });
const some = <T>(item: fc.Arbitrary<T>) => fc.uniqueArray(item, { minLength: 1, maxLength: 2 });
const maybe = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(fields, { requiredKeys: [] });
const selector = maybe({
  matchLabels: fc.dictionary(of('a', 'b/c'), label, { maxKeys: 1 }),
  matchExpressions: some(
    fc.record(
      {
        key: of('a', 'example.com/a_B', 'x'.repeat(63)),
        operator: of('In', 'Exists'),
        values: some(label),
      },
      { requiredKeys: ['key', 'operator'] },
    ),
  ),
});
const data = fc.record(
  { name, key: of('ca.crt', '.x', 'A_B-c.d', '..'), namespaceSelector: selector },
  { requiredKeys: ['name'] },
);
const consumer = fc
  .record(
    {
      presents: fc.boolean(),
      verifies: fc.boolean(),
      leaf: reference,
      bundle: name,
      probe: fc.record({ address }),
      status: fc.oneof(fc.record({ file: path }), fc.record({ socket: path }), fc.record({ url })),
    },
    { requiredKeys: ['presents'] },
  )
  .map((given) => ({ name: 'x', ...given }));
/** Mostly good, some at their limits, some bad. */
export const madeUp: fc.Arbitrary<Json> = fc.oneof(
  maybe({
    key: of('ECDSA-P256', 'RSA-4096'),
    lifetime,
    rotation: fc.oneof(
      maybe({ at: share, reloadWithin: wait, patience: wait, paused: fc.boolean(), strategy: of('Instant') }),
      maybe({ before: of('1h', '30d'), maxConcurrentRollouts: fc.constantFrom(1, 100, 101) }),
    ),
    issueTo: maybe({
      namespaceSelector: selector,
      dnsNames: one(of('*', '*.a', 'a*b.c', '{namespace}.*.x', 'a.b', '*{namespace}', '.', '*.*', '{a}')),
      uris: one(of('spiffe://*.a/b', 'a:{namespace}', "a:!$&'()+,;=[]@%?#", '*:a', 'a:**', 'a:{')),
      ipAddresses: one(
        of('1.2.3.4/0', '::/128', '::1', '1.2.3.4/33', '1::2::3', '1.2.3.4/', '::ffff:1.2.3.4'),
      ),
      subjects: maybe({
        commonNames: one(of('*', 'ä *', '{namespace}', '😀', '**', '}', '\u0085', 'x'.repeat(128))),
        organizations: one(of('system:*', '')),
      }),
      usages: one(of('server', 'client', 'x')),
      keys: one(of('RSA-2048', 'x')),
      minLifetime: of('10s', '2h'),
      maxLifetime: of('2h', '10y', '1h'),
    }),
    nameConstraints: maybe({
      dnsNames: one(of('a', 'a.b', 'A_b', '1.2.3.4', '.a', '*.a', `${'x'.repeat(64)}.a`)),
      ipAddresses: one(of('1.2.3.4/8', '::/0', 'x')),
    }),
    adopt: maybe({
      fingerprints: one(of('ab'.repeat(32), 'AB:'.repeat(31).concat('AB'), 'ab', '')),
      secret: name,
    }),
    bundle: maybe({ configMapName: name }),
    consumers: fc.array(consumer, { maxLength: 1 }),
  }).map((spec) => authority(spec)),
  maybe({
    authority: reference,
    secretName: name,
    subject: maybe({ commonName: attribute, organizations: some(attribute) }),
    dnsNames: some(dns),
    ipAddresses: some(ip),
    uris: some(uri),
    lifetime,
    renew: maybe({ at: share }),
    usages: some(of('server', 'client')),
    files: maybe({ owner: of('postgres', '0', '-'), mode: of('0600', '640', '0644') }),
    reload: fc.oneof(fc.record({ command: some(path) }), fc.record({ http: fc.record({ url }) })),
  }).map((spec) => leaf(spec as Json)),
  fc
    .record({
      sources: some(
        fc.oneof(
          fc.record({ authority: reference }),
          fc.record({ secret: data }),
          fc.record({ inline: of('-----BEGIN CERTIFICATE-----', 'x') }),
        ),
      ),
      targets: some(
        fc.oneof(
          fc.record({ configMap: data }),
          fc.record({ secret: data }),
          fc.record({
            clusterTrustBundle: fc.oneof(
              fc.record({ name }),
              fc.record({ name: of('a.b:c:d', 'a.b:c:', 'a.b:c:d:e'), signerName: of('a.b/c') }),
            ),
          }),
          fc.record({
            inject: fc.record(
              { kind: of('APIService', 'MutatingWebhookConfiguration'), name, webhooks: some(name) },
              { requiredKeys: ['kind', 'name'] },
            ),
          }),
        ),
      ),
    })
    .map((spec) => bundle(spec)),
  fc
    .record({
      configMapName: name,
      workloadSelector: selector,
      custom: maybe({ ciphers: some(of('A-b_C', '')) }),
    })
    .map((spec) => profile({ type: 'Custom', ...spec })),
);
