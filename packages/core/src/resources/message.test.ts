import { expect, test } from 'vitest';
import { apiVersion, authority, bundle, leaf, profile, refusal } from '../../test/resources.ts';

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
    'a.yaml: Authority mesh: spec.bundle.colour: unknown field; allowed: configMapName, reload',
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
    'a keystore without a password',
    leaf({ outputs: [{ name: 'web.p12', format: 'pkcs12' }] }),
    'a.yaml: Leaf envoy: spec.outputs[0].passwordFrom: is missing; a pkcs12 file with a private key needs a password',
  ],
  [
    'a format that cannot hold the content',
    leaf({ outputs: [{ name: 'ca.der', format: 'der', content: 'trust' }] }),
    'a.yaml: Leaf envoy: spec.outputs[0].content: "trust" does not go with format der; use certificate or key',
  ],
  [
    'an output in the place of the key',
    leaf({ outputs: [{ name: 'tls.key', format: 'combined' }] }),
    'a.yaml: Leaf envoy: spec.outputs[0].name: "tls.key" is the name of a file that Handover writes in any case; choose another',
  ],
  [
    'an output twice',
    leaf({
      outputs: [
        { name: 'a', format: 'combined' },
        { name: 'a', format: 'der' },
      ],
    }),
    'a.yaml: Leaf envoy: spec.outputs[1].name: "a" is there twice; choose another name',
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
    'a.yaml: Leaf envoy: spec.reload: has none of command, signal, http, systemd, restart; give exactly one',
  ],
  [
    'a restart that is limited to some changes',
    leaf({ reload: { restart: { command: ['a'] }, on: ['leaf'] } }),
    'a.yaml: Leaf envoy: spec.reload.on: does not apply to a restart, which comes once per rotation and after each renewal; leave it out',
  ],
  [
    'a unit that systemctl would read as an option',
    leaf({ reload: { systemd: { unit: '--force' } } }),
    'a.yaml: Leaf envoy: spec.reload.systemd.unit: "--force" is not the name of a systemd unit; write it like nginx.service',
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
    'a key that all users can read',
    leaf({ files: { mode: '0644' } }),
    'a.yaml: Leaf envoy: spec.files.mode: "0644" is not a mode; write it in quotes, like "0600" or "0640"; others must not read a key',
  ],
  [
    'a URL with a password',
    leaf({ reload: { http: { url: 'http://admin:s3cret@127.0.0.1/reload' } } }),
    'a.yaml: Leaf envoy: spec.reload.http.url: "http://…@127.0.0.1/reload" is not a URL; write it like http://127.0.0.1:9000/status, without user and password',
  ],
  [
    'a URL whose port is none',
    leaf({ reload: { http: { url: 'http://127.0.0.1:port/reload' } } }),
    'a.yaml: Leaf envoy: spec.reload.http.url: "http://127.0.0.1:port/reload" is not a URL; write it like http://127.0.0.1:9000/status, without user and password',
  ],
  [
    'a URL with a long password',
    leaf({ reload: { http: { url: `http://admin:s3!cr${'e'.repeat(80)}t@127.0.0.1/reload` } } }),
    'a.yaml: Leaf envoy: spec.reload.http.url: "http://…@127.0.0.1/reload" is not a URL; write it like http://127.0.0.1:9000/status, without user and password',
  ],
  [
    'no usages',
    leaf({ usages: [] }),
    'a.yaml: Leaf envoy: spec.usages: has the wrong length; at least 1 entry allowed',
  ],
  [
    'a source of two kinds',
    bundle({ sources: [{ authority: 'a', configMap: { name: 'b' } }] }),
    'a.yaml: TrustBundle all: spec.sources[0]: has authority and configMap of authority, secret, configMap, inline, defaultCas; give exactly one',
  ],
  [
    'a source by name and by labels',
    bundle({ sources: [{ configMap: { name: 'b', selector: {} } }] }),
    'a.yaml: TrustBundle all: spec.sources[0].configMap: has name and selector of name, selector; give exactly one',
  ],
  [
    'a source without a name',
    bundle({ sources: [{ secret: {} }] }),
    'a.yaml: TrustBundle all: spec.sources[0].secret: has none of name, selector; give exactly one',
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
])('a message says where, what was there and what is allowed: %s', (_, value, message) => {
  expect(refusal(value)).toBe(message);
});

test('a message names several problems, and counts the rest', () => {
  const spec = { key: 'x', lifetime: 'x', rotation: { at: 'x', reloadWithin: 'x', paused: 'x' } };
  const message = refusal(authority(spec));
  expect(message.split('; also ')).toHaveLength(3);
  expect(message).toMatch(/; and 2 more$/);
  expect(refusal(authority({ a1: 1, colour: 2 })).split('; also ')).toHaveLength(2);
});
