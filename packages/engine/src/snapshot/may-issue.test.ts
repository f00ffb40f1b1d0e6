import { expect, test } from 'vitest';
import { answer, CLIENT, issuing, OPEN } from '../../test/issuing.ts';
import { refusalOf } from './may-issue.ts';

test('a Leaf of another namespace is refused unless namespaceSelector selects it', () => {
  expect(answer('', 'far', 'dnsNames: [x.far.svc]')).toBe(
    "authority home/mesh refuses it: spec.issueTo.namespaceSelector of the Authority does not allow Leaves of namespace far; ask the Authority's owner to select that namespace",
  );
  const near = 'namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: near}}';
  expect(answer(near, 'far', 'dnsNames: [x.far.svc]')).toContain('namespace far');
  expect(answer(near, 'near', 'dnsNames: [x.near.svc]')).toBe('issued');
});

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
])('A Leaf of another namespace may have by default %s', (_, leaf) => {
  expect(answer(OPEN, 'far', leaf)).toBe('issued');
});

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
])('A Leaf of another namespace may not have by default %s', (_, leaf, says) => {
  const said = answer(OPEN, 'far', leaf);
  expect(said).toContain('authority home/mesh refuses it: ');
  expect(said).toContain(says);
  expect(said).toContain("ask the Authority's owner to allow it in spec.issueTo.");
});

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
  ['with a mail address', 'dnsNames: [x.far.svc], emails: [a@b]', 'spec.emails: unknown field'],
  [
    'with another part of a subject',
    'dnsNames: [x.far.svc], subject: {organizationalUnits: [x]}',
    'unknown field',
  ],
])('A Leaf of any namespace is refused %s', (_, leaf, says) => {
  for (const namespace of ['far', 'home']) {
    expect(answer(OPEN, namespace, leaf)).toMatch(/^no Leaf: /);
    expect(answer(OPEN, namespace, leaf)).toContain(says);
  }
});

test('in its own namespace an Authority without lists issues any name', () => {
  const leaf =
    'dnsNames: [anything.example], ipAddresses: [10.0.0.1], uris: ["urn:x"], key: RSA-4096, lifetime: 10s, renew: {at: 1%}, subject: {commonName: admin, organizations: ["system:masters"]}';
  expect(answer('', 'home', leaf)).toBe('issued');
});

test('a field that no rule knows is refused, even in a Leaf that no schema has read', () => {
  const { authorities, leaves, namespaces } = issuing(OPEN, 'far', 'dnsNames: [x.far.svc]');
  const [leaf] = leaves;
  const authority = authorities.get('home/mesh');
  if (leaf === undefined || authority === undefined) throw new Error('no world');
  const spec = (more: object) => ({ ...leaf, spec: { ...leaf.spec, ...more } });
  expect(refusalOf(authority, leaf, namespaces)).toBeUndefined();
  expect(refusalOf(authority, spec({ emails: ['a@b'] }), namespaces)).toBe(
    'spec.emails: no rule allows this field; remove it',
  );
  const subject = { ...leaf.spec.subject, serialNumber: '1' };
  expect(refusalOf(authority, spec({ subject }), namespaces)).toContain('spec.subject.serialNumber');
});
