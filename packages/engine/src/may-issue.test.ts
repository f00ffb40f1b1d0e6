import { HandoverError } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { catalogue } from '../test/world.ts';
import { policyFor } from './index.ts';
import { refusalOf } from './may-issue.ts';

const resource = (kind: string, metadata: string, spec: string) =>
  `apiVersion: handover.dev/v1alpha1\nkind: ${kind}\nmetadata: {${metadata}}\nspec: {${spec}}\n`;
const facts = { consumersFound: false, cacheLag: 0, trustNamespace: 'default' } as never;

const world = (issueTo: string, namespace: string, leaf: string) =>
  catalogue(
    [
      resource('Authority', 'name: mesh, namespace: home', `issueTo: {${issueTo}}`),
      resource('Leaf', `name: l, namespace: ${namespace}`, `authority: home/mesh, ${leaf}`),
    ].join('---\n'),
  );

/** Why `home/mesh` refuses this Leaf: `issued` when it does not, the schema's words when it is no Leaf at all. */
const answer = (issueTo: string, namespace: string, leaf: string): string => {
  try {
    const { refused } = policyFor(world(issueTo, namespace, leaf), 'home/mesh', facts, new Map());
    return refused.map(({ why }) => why).join() || 'issued';
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    return `no Leaf: ${error.message}`;
  }
};
const OPEN = 'namespaceSelector: {}';
const open = (more: string) => `${OPEN}, ${more}`;
const CLIENT = 'usages: [client]';

test('a Leaf of another namespace is refused unless namespaceSelector selects it', () => {
  expect(answer('', 'far', 'dnsNames: [x.far.svc]')).toBe(
    'authority home/mesh refuses it: spec.issueTo.namespaceSelector of the Authority does not allow Leaves of namespace far; ask its owner to select it',
  );
  const near = 'namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: near}}';
  expect(answer(near, 'far', 'dnsNames: [x.far.svc]')).toContain('namespace far');
  expect(answer(near, 'near', 'dnsNames: [x.near.svc]')).toBe('issued');
});

describe('A Leaf of another namespace has by default', () => {
  test.each([
    ['a name of a Service of its own', 'dnsNames: [x.far.svc, x.far.svc.cluster.local]'],
    ['a name of a StatefulSet pod', 'dnsNames: [pod-0.db.far.svc, pod-0.db.far.svc.cluster.local]'],
    ['a wildcard below its own namespace', 'dnsNames: ["*.far.svc", "*.db.far.svc.cluster.local"]'],
    ['upper case in its own name', 'dnsNames: [X.FAR.svc]'],
    ['a common name that is one of its DNS names', 'dnsNames: [x.far.svc], subject: {commonName: x.far.svc}'],
    ['usages server and client', 'dnsNames: [x.far.svc], usages: [server, client]'],
    ['an RSA-3072 key', 'dnsNames: [x.far.svc], key: RSA-3072'],
    ['a life of one hour', 'dnsNames: [x.far.svc], lifetime: 1h'],
    ['a long life renewed early', 'dnsNames: [x.far.svc], lifetime: 90d, renew: {at: 1%}'],
  ])('%s', (_, leaf) => {
    expect(answer(OPEN, 'far', leaf)).toBe('issued');
  });
});

describe('A Leaf of another namespace by default does not have', () => {
  test.each([
    ['a name of the authority', 'dnsNames: [x.home.svc]', 'spec.dnsNames: "x.home.svc"'],
    ['its second name, if that is of another', 'dnsNames: [x.far.svc, y.prod.svc]', '"y.prod.svc"'],
    ['its name before a foreign end', 'dnsNames: [x.far.svc.evil]', '"x.far.svc.evil"'],
    ['another cluster domain', 'dnsNames: [x.far.svc.other.local]', 'spec.dnsNames'],
    ['its bare domain', 'dnsNames: [far.svc]', 'spec.dnsNames: "far.svc"'],
    ['a namespace that ends like its own', 'dnsNames: [x.notfar.svc]', 'spec.dnsNames'],
    ['a namespace that begins like its own', 'dnsNames: [x.farther.svc]', 'spec.dnsNames'],
    ['a wildcard over all namespaces', 'dnsNames: ["*.svc"]', 'spec.dnsNames: "*.svc"'],
    ['a wildcard over the cluster', 'dnsNames: ["*.svc.cluster.local"]', 'spec.dnsNames'],
    ['a wildcard of another namespace', 'dnsNames: ["*.prod.svc"]', 'spec.dnsNames'],
    ['a short name', 'dnsNames: [payments]', 'spec.dnsNames: "payments"'],
    ['an IP address', 'ipAddresses: [127.0.0.1]', 'spec.ipAddresses: "127.0.0.1"'],
    ['an IPv4 address in IPv6 form', 'ipAddresses: ["::ffff:10.0.0.1"]', 'spec.ipAddresses'],
    ['a URI', `uris: ["spiffe://mesh/ns/far/sa/x"], ${CLIENT}`, 'spec.uris: "spiffe://mesh/ns/far/sa/x"'],
    [
      'an organization',
      `subject: {organizations: ["system:masters"]}, ${CLIENT}`,
      'spec.subject.organizations',
    ],
    ['a common name', `subject: {commonName: admin}, ${CLIENT}`, 'spec.subject.commonName: "admin"'],
    [
      'the common name of another beside its own DNS name',
      'dnsNames: [x.far.svc], subject: {commonName: payments.prod.svc}',
      'spec.subject.commonName: "payments.prod.svc"',
    ],
    [
      'an address as common name',
      `dnsNames: [x.far.svc], subject: {commonName: 10.0.0.1}`,
      'spec.subject.commonName',
    ],
    [
      'a mail address as common name',
      `subject: {commonName: root@far.svc}, ${CLIENT}`,
      'spec.subject.commonName',
    ],
    [
      'a common name that only looks like its DNS name',
      'dnsNames: [x.far.svc], subject: {commonName: "x.fаr.svc"}',
      'spec.subject.commonName',
    ],
    [
      'a common name with a space behind',
      'dnsNames: [x.far.svc], subject: {commonName: "x.far.svc "}',
      'commonName',
    ],
    ['an RSA-4096 key', 'dnsNames: [x.far.svc], key: RSA-4096', 'spec.key: "RSA-4096" is not allowed'],
    ['a life of seconds', 'dnsNames: [x.far.svc], lifetime: 10s', 'spec.lifetime: "10s" is too short'],
    [
      'a renewal every half minute',
      'dnsNames: [x.far.svc], lifetime: 1h, renew: {at: 1%}',
      'spec.renew: a renewal after 36s',
    ],
  ])('%s', (_, leaf, says) => {
    const said = answer(OPEN, 'far', leaf);
    expect(said).toContain('authority home/mesh refuses it: ');
    expect(said).toContain(says);
    expect(said).toContain('ask the owner of the Authority to allow it in spec.issueTo.');
  });
});

describe('No Leaf, in whatever namespace, is one', () => {
  test.each([
    [
      'for a server without a host name',
      'subject: {commonName: payments.prod.svc, organizations: ["system:masters"]}',
      'usages has server',
    ],
    ['for a server with a URI alone', 'uris: ["spiffe://mesh/x"]', 'usages has server'],
    ['with a name that ends in a dot', 'dnsNames: [x.far.svc.]', 'ends with a dot'],
    ['with a letter beyond ASCII in a name', 'dnsNames: ["x.fär.svc"]', 'is not a DNS name'],
    ['with a NUL in a name', 'dnsNames: ["prod.svc\\0.far.svc"]', 'is not a DNS name'],
    ['with a space in a name', 'dnsNames: ["x.prod.svc .far.svc"]', 'is not a DNS name'],
    ['with a line break in a name', 'dnsNames: ["x.prod.svc\\n.far.svc"]', 'is not a DNS name'],
    ['with an address among the names', 'dnsNames: [10.0.0.1]', 'is an IP address'],
    ['with a wildcard in the middle', 'dnsNames: ["x.*.far.svc"]', 'only as its whole first label'],
    ['with a name too long for DNS', `dnsNames: ["${'a.'.repeat(130)}far.svc"]`, 'spec.dnsNames[0]'],
    [
      'with a line break in its subject',
      `subject: {commonName: "a\\nb"}, ${CLIENT}`,
      'spec.subject.commonName',
    ],
    ['with a mail address', 'dnsNames: [x.far.svc], emails: [a@b]', 'spec.emails: no such field'],
    [
      'with another part of a subject',
      'dnsNames: [x.far.svc], subject: {organizationalUnits: [x]}',
      'no such field',
    ],
  ])('%s', (_, leaf, says) => {
    for (const namespace of ['far', 'home']) {
      expect(answer(OPEN, namespace, leaf)).toMatch(/^no Leaf: /);
      expect(answer(OPEN, namespace, leaf)).toContain(says);
    }
  });
});

test('in its own namespace an Authority without lists issues any name', () => {
  const leaf =
    'dnsNames: [anything.example], ipAddresses: [10.0.0.1], uris: ["urn:x"], key: RSA-4096, lifetime: 10s, renew: {at: 1%}, subject: {commonName: admin, organizations: ["system:masters"]}';
  expect(answer('', 'home', leaf)).toBe('issued');
});

describe('A list that is given counts for every namespace', () => {
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
    [
      'subjects: {commonNames: ["{namespace}:*"]}',
      `subject: {commonName: "NAMESPACE:x"}, ${CLIENT}`,
      'issued',
    ],
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
  ])('%s: %s is %s', (issueTo, leaf, expected) => {
    for (const namespace of ['far', 'home']) {
      const here = (text: string) => text.replaceAll('NAMESPACE', namespace);
      expect(answer(open(issueTo), namespace, here(leaf))).toContain(here(expected));
    }
  });
});

describe('A common name counts as a host name where a server has no DNS name', () => {
  const issueTo = open('ipAddresses: [10.0.0.0/8], subjects: {commonNames: ["*", "*.prod.svc"]}');
  test.each([
    ['far', 'ipAddresses: [10.0.0.1], subject: {commonName: payments}', 'is read as a host name'],
    ['far', 'ipAddresses: [10.0.0.1], subject: {commonName: payments.prod.svc}', 'is read as a host name'],
    ['far', `subject: {commonName: payments}, ${CLIENT}`, 'issued'],
    ['far', 'dnsNames: [x.far.svc], subject: {commonName: payments}', 'issued'],
    ['home', 'ipAddresses: [10.0.0.1], subject: {commonName: payments}', 'issued'],
  ])('in %s: %s', (namespace, leaf, expected) => {
    expect(answer(issueTo, namespace, leaf)).toContain(expected);
  });
});

describe('A pattern is refused by the schema', () => {
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
  ])('%s', (_, issueTo) => {
    expect(answer(issueTo, 'home', 'dnsNames: [a]')).toMatch(/^no Leaf: .*spec\.issueTo\./);
  });

  test('a shortest lifetime above the longest, too', () => {
    expect(answer('minLifetime: 2h, maxLifetime: 1h', 'home', 'dnsNames: [a]')).toContain(
      'spec.issueTo.minLifetime: "2h" is longer than maxLifetime "1h"; lower it',
    );
  });
});

test('a pattern with many stars costs nothing: it is refused before any name is tried on it', () => {
  const began = performance.now();
  const said = answer(`dnsNames: ["${'*a'.repeat(8)}*b"]`, 'home', `dnsNames: [${'a'.repeat(60)}]`);
  expect(performance.now() - began).toBeLessThan(1_000);
  expect(said).toContain('spec.issueTo.dnsNames[0]');
});

test('a field that no rule knows is refused, even in a Leaf that no schema has read', () => {
  const { authorities, leaves, namespaces } = world(OPEN, 'far', 'dnsNames: [x.far.svc]');
  const [leaf] = leaves;
  const authority = authorities.get('home/mesh');
  if (leaf === undefined || authority === undefined) throw new Error('no world');
  const spec = (more: object) => ({ ...leaf, spec: { ...leaf.spec, ...more } });
  expect(refusalOf(authority, leaf, namespaces)).toBeUndefined();
  expect(refusalOf(authority, spec({ emails: ['a@b'] }), namespaces)).toBe(
    'spec.emails: no rule says who may have it; remove it',
  );
  const subject = { ...leaf.spec.subject, serialNumber: '1' };
  expect(refusalOf(authority, spec({ subject }), namespaces)).toContain('spec.subject.serialNumber');
});
