import { describe, expect, test } from 'vitest';
import { answer, CLIENT, open } from '../../test/issuing.ts';

test.each([
  ['dnsNames: ["*.mesh.svc"]', 'dnsNames: [a.mesh.svc]', 'issued'],
  ['dnsNames: ["*.mesh.svc"]', 'dnsNames: [A.Mesh.SVC]', 'issued'],
  ['dnsNames: ["*.mesh.svc"]', 'dnsNames: ["*.mesh.svc"]', 'issued'],
  ['dnsNames: ["*.mesh.svc"]', 'dnsNames: [a.b.mesh.svc]', 'spec.dnsNames'],
  [
    'dnsNames: ["*.mesh.svc"]',
    'dnsNames: [mesh.svc]',
    'spec.dnsNames: "mesh.svc" is not allowed (allowed: "*.mesh.svc")',
  ],
  ['dnsNames: ["*.mesh.svc"]', 'dnsNames: [axmeshxsvc]', 'spec.dnsNames'],
  ['dnsNames: ["web-*.mesh.svc"]', 'dnsNames: [web-1.mesh.svc]', 'issued'],
  ['dnsNames: ["web-*.mesh.svc"]', 'dnsNames: ["*.mesh.svc"]', 'spec.dnsNames'],
  ['dnsNames: ["web-*.mesh.svc"]', 'dnsNames: [web-.mesh.svc]', 'no Leaf'],
  ['dnsNames: ["api.*.mesh.svc"]', 'dnsNames: ["*.mesh.svc"]', 'spec.dnsNames'],
  ['dnsNames: ["*.{namespace}.example"]', 'dnsNames: [a.NAMESPACE.example]', 'issued'],
  ['dnsNames: ["*.{namespace}.example"]', 'dnsNames: [a.other.example]', 'spec.dnsNames'],
  [
    'dnsNames: []',
    'dnsNames: [a.NAMESPACE.svc]',
    'spec.dnsNames: "a.NAMESPACE.svc" is not allowed (allowed: none)',
  ],
  ['ipAddresses: [10.0.0.0/8]', 'ipAddresses: [10.1.2.3]', 'issued'],
  ['ipAddresses: [10.0.0.0/8]', 'ipAddresses: ["::ffff:10.1.2.3"]', 'issued'],
  ['ipAddresses: [10.0.0.0/8]', 'ipAddresses: [11.0.0.1]', 'spec.ipAddresses'],
  ['ipAddresses: ["::/0"]', 'ipAddresses: ["2001:db8::1"]', 'issued'],
  ['ipAddresses: ["::/0"]', 'ipAddresses: ["::ffff:10.1.2.3"]', 'spec.ipAddresses'],
  ['ipAddresses: ["2001:db8::/33"]', 'ipAddresses: ["2001:db8:8000::1"]', 'spec.ipAddresses'],
  ['ipAddresses: [10.0.0.1]', 'ipAddresses: [10.0.0.2]', 'spec.ipAddresses'],
  ['ipAddresses: []', 'ipAddresses: [10.0.0.2]', '(allowed: none)'],
  [
    'uris: ["spiffe://mesh/ns/{namespace}/sa/*"]',
    `uris: ["spiffe://mesh/ns/NAMESPACE/sa/a.b"], ${CLIENT}`,
    'issued',
  ],
  [
    'uris: ["spiffe://mesh/ns/{namespace}/sa/*"]',
    `uris: ["spiffe://mesh/ns/prod/sa/a"], ${CLIENT}`,
    'spec.uris',
  ],
  [
    'uris: ["spiffe://mesh/ns/{namespace}/sa/*"]',
    `uris: ["spiffe://mesh/ns/NAMESPACE/sa/a/b"], ${CLIENT}`,
    'spec.uris',
  ],
  [
    'uris: ["spiffe://mesh/ns/{namespace}/sa/*"]',
    `uris: ["spiffe://mesh/ns/NAMESPACE/sa/.."], ${CLIENT}`,
    'spec.uris',
  ],
  [
    'uris: ["spiffe://mesh/ns/{namespace}/sa/*"]',
    `uris: ["spiffe://mesh/ns/NAMESPACE/sa/a%2Fb"], ${CLIENT}`,
    'spec.uris',
  ],
  [
    'uris: ["spiffe://mesh/ns/{namespace}/sa/*"]',
    `uris: ["spiffe://mesh/ns/NAMESPACE/sa/"], ${CLIENT}`,
    'spec.uris',
  ],
  ['uris: ["spiffe://*.mesh/x"]', `uris: ["spiffe://a.mesh/x"], ${CLIENT}`, 'issued'],
  ['uris: ["spiffe://*.mesh/x"]', `uris: ["spiffe://a.b.mesh/x"], ${CLIENT}`, 'spec.uris'],
  ['uris: ["spiffe://*.mesh/x"]', `uris: ["spiffe://evil/.mesh/x"], ${CLIENT}`, 'spec.uris'],
  ['uris: ["spiffe://*.mesh/x"]', `uris: ["spiffe://me@a.mesh/x"], ${CLIENT}`, 'spec.uris'],
  ['subjects: {commonNames: ["*"]}', `subject: {commonName: admin}, ${CLIENT}`, 'issued'],
  ['subjects: {commonNames: ["*"]}', `subject: {commonName: "a b"}, ${CLIENT}`, 'spec.subject.commonName'],
  ['subjects: {commonNames: ["{namespace}:*"]}', `subject: {commonName: "NAMESPACE:x"}, ${CLIENT}`, 'issued'],
  [
    'subjects: {commonNames: ["{namespace}:*"]}',
    `subject: {commonName: "NAMESPACE:x:y"}, ${CLIENT}`,
    'spec.subject.commonName',
  ],
  [
    'subjects: {commonNames: []}',
    'subject: {commonName: a.NAMESPACE.svc}, dnsNames: [a.NAMESPACE.svc]',
    '(allowed: none)',
  ],
  [
    'subjects: {organizations: ["team-{namespace}"]}',
    `subject: {organizations: [team-NAMESPACE]}, ${CLIENT}`,
    'issued',
  ],
  [
    'subjects: {organizations: ["team-{namespace}"]}',
    `subject: {organizations: [team-prod]}, ${CLIENT}`,
    'spec.subject.organizations',
  ],
  [
    'usages: [client]',
    'dnsNames: [a.NAMESPACE.svc]',
    'spec.usages: "server" is not allowed (allowed: "client")',
  ],
  ['usages: []', `dnsNames: [a.NAMESPACE.svc], ${CLIENT}`, '(allowed: none)'],
  ['keys: [RSA-4096]', 'dnsNames: [a.NAMESPACE.svc], key: RSA-4096', 'issued'],
  [
    'keys: [RSA-4096]',
    'dnsNames: [a.NAMESPACE.svc]',
    'spec.key: "ECDSA-P256" is not allowed (allowed: RSA-4096)',
  ],
  ['minLifetime: 10s', 'dnsNames: [a.NAMESPACE.svc], lifetime: 10s', 'issued'],
  [
    'minLifetime: 2h',
    'dnsNames: [a.NAMESPACE.svc], lifetime: 1h',
    'spec.lifetime: "1h" is too short (allowed: 2h or more)',
  ],
  ['maxLifetime: 30m', 'dnsNames: [a.NAMESPACE.svc], lifetime: 30m', 'issued'],
  [
    'maxLifetime: 30d',
    'dnsNames: [a.NAMESPACE.svc]',
    'spec.lifetime: "90d" is too long (allowed: 30d or less)',
  ],
])('A list in issueTo counts for every namespace: %s: %s is %s', (issueTo, leaf, expected) => {
  for (const namespace of ['far', 'home']) {
    const here = (text: string) => text.replaceAll('NAMESPACE', namespace);
    expect(answer(open(issueTo), namespace, here(leaf))).toContain(here(expected));
  }
});

describe('A common name counts as a host name where a server has no DNS name', () => {
  const issueTo = open('ipAddresses: [10.0.0.0/8], subjects: {commonNames: ["*", "*.prod.svc"]}');
  test.each([
    ['far', 'ipAddresses: [10.0.0.1], subject: {commonName: payments}', 'clients read it as a host name'],
    [
      'far',
      'ipAddresses: [10.0.0.1], subject: {commonName: payments.prod.svc}',
      'clients read it as a host name',
    ],
    ['far', `subject: {commonName: payments}, ${CLIENT}`, 'issued'],
    ['far', 'dnsNames: [x.far.svc], subject: {commonName: payments}', 'issued'],
    ['home', 'ipAddresses: [10.0.0.1], subject: {commonName: payments}', 'issued'],
  ])(
    'A common name counts as a host name where a server has no DNS name: in %s: %s',
    (namespace, leaf, expected) => {
      expect(answer(issueTo, namespace, leaf)).toContain(expected);
    },
  );
});

test.each([
  ['with two stars', 'dnsNames: ["*.*.svc"]'],
  ['with two stars in one label', 'dnsNames: ["*a*.svc"]'],
  ['with an unknown placeholder', 'dnsNames: ["*.{name}.svc"]'],
  ['with half a placeholder', 'dnsNames: ["*.{namespace.svc"]'],
  ['with an empty label', 'dnsNames: ["*..svc"]'],
  ['with a dot in front', 'dnsNames: [".svc"]'],
  ['of URIs with two stars', 'uris: ["spiffe://mesh/*/*"]'],
  ['of URIs with a star for the scheme', 'uris: ["*://mesh/a"]'],
  ['of URIs with an unknown placeholder', 'uris: ["spiffe://mesh/{ns}"]'],
  ['of common names with two stars', 'subjects: {commonNames: ["*:*"]}'],
  ['of organizations with an unknown placeholder', 'subjects: {organizations: ["{team}"]}'],
  ['of addresses with a prefix too long', 'ipAddresses: [10.0.0.0/33]'],
  ['of addresses with a star', 'ipAddresses: ["10.0.0.*"]'],
  ['of IPv4 addresses in IPv6 form', 'ipAddresses: ["::ffff:10.0.0.0/104"]'],
])('A pattern in issueTo is refused by the schema %s', (_, issueTo) => {
  expect(answer(issueTo, 'home', 'dnsNames: [a]')).toMatch(/^no Leaf: .*spec\.issueTo\./);
});

test('A minLifetime above maxLifetime is refused by the schema', () => {
  expect(answer('minLifetime: 2h, maxLifetime: 1h', 'home', 'dnsNames: [a]')).toContain(
    'spec.issueTo.minLifetime: "2h" is longer than maxLifetime "1h"; lower it',
  );
});

test('A pattern with many stars costs nothing: it is refused before any name is tried on it', () => {
  const began = performance.now();
  const said = answer(`dnsNames: ["${'*a'.repeat(20)}*b"]`, 'home', `dnsNames: [${'a'.repeat(60)}]`);
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(said).toContain('spec.issueTo.dnsNames[0]');
});
