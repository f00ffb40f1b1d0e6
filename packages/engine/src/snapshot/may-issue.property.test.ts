import { X509Certificate } from 'node:crypto';
import { type Authority, type Leaf, localSigner, parseResource, resourceSchemas } from '@handover/core';
import { after, HandoverError, hour, instant, second } from '@handover/material';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { dealKey } from '../../test/world.ts';
import { issuerWith } from '../act/issuer.ts';
import { refusalOf } from './may-issue.ts';

const apiVersion = 'handover.dev/v1alpha1';
const authority = parseResource({
  apiVersion,
  kind: 'Authority',
  metadata: { name: 'mesh', namespace: 'prod' },
  spec: { issueTo: { namespaceSelector: {} } },
}) as Authority;

const of = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const some = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 2 });
const OWN = ['a.evil.svc', 'pod-0.db.evil.svc', '*.evil.svc', 'A.Evil.svc.cluster.local'] as const;
const FOREIGN = [
  'payments.prod.svc',
  'payments',
  'evil.svc',
  'a.evil.svc.',
  'a.evil.svc.cluster.local.example',
  'a.notevil.svc',
  '*.svc',
  '*',
  'a.evil.svc\0',
  'a.evil.svc\n.prod.svc',
  ' a.evil.svc',
  'a.еvil.svc',
  'xn--vil-8cd.svc',
  'evil.svc.prod.svc',
  `${'a'.repeat(64)}.evil.svc`,
  `${'a.'.repeat(124)}evil.svc`,
  '10.0.0.1',
  '::ffff:10.0.0.1',
  'root@evil.svc',
  'spiffe://mesh/ns/evil/sa/a',
  'spiffe://mesh/ns/evil/../prod',
  'system:masters',
  'evil',
  '',
] as const;
const made = fc.string({
  unit: of('a', '.', '*', 'evil', 'svc', 'prod', '-', ':', '/', '\0', 'é'),
  maxLength: 8,
});
/** Own names most often, so that many a Leaf is issued. */
const dnsName: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: of(...OWN) },
  { weight: 1, arbitrary: of(...FOREIGN) },
  { weight: 1, arbitrary: made },
);
const strange: fc.Arbitrary<string> = fc.oneof(of(...FOREIGN), of(...OWN), made);
const rare = <T>(item: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: item });

/** A generator for every field that the schema has. */
const FIELDS = {
  authority: fc.constant('prod/mesh'),
  secretName: rare(of('x')),
  key: rare(of('ECDSA-P256', 'RSA-2048', 'RSA-4096', 'Ed25519')),
  subject: rare(
    fc.record(
      { commonName: fc.oneof(of(...OWN), strange), organizations: rare(some(strange)) },
      { requiredKeys: [] },
    ),
  ),
  dnsNames: fc.array(dnsName, { minLength: 1, maxLength: 3 }),
  ipAddresses: rare(some(of('10.0.0.1', '::1', '::ffff:10.0.0.1', 'x'))),
  uris: rare(some(fc.oneof(strange, of('spiffe://mesh/ns/evil/sa/a', 'urn:x')))),
  usages: rare(some(of('server', 'client', 'email'))),
  lifetime: rare(of('10s', '1h', '90d', '100y')),
  renew: rare(fc.record({ at: of('1%', '50%', '99%') })),
  reload: rare(fc.constant({ command: ['true'] })),
  files: rare(fc.constant({ mode: '0600' })),
  outputs: rare(fc.constant([{ name: 'haproxy.pem', format: 'combined' }])),
  reuseKey: rare(fc.boolean()),
} as const satisfies Record<keyof Leaf['spec'], fc.Arbitrary<unknown>>;

const propertiesOf = (node: unknown, ...path: readonly string[]): readonly string[] => {
  const at = path.reduce(
    (seen, name) => (seen as { properties: Record<string, unknown> }).properties[name],
    node,
  );
  return Object.keys((at as { properties: object }).properties).sort();
};

test('the property of names covers every field of a Leaf', () => {
  const schema = z.toJSONSchema(resourceSchemas.Leaf, {
    io: 'input',
    target: 'openapi-3.0',
    reused: 'inline',
  });
  expect(propertiesOf(schema, 'spec')).toEqual(Object.keys(FIELDS).sort());
  expect(propertiesOf(schema, 'spec', 'subject')).toEqual(['commonName', 'organizations']);
});

const present = (value: object): object =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
const asked = fc
  .tuple(fc.record(FIELDS), rare(fc.dictionary(of('emails', 'otherNames', 'isCA', 'x'), fc.constant(['y']))))
  .map(([{ subject, ...spec }, more]) => ({
    ...present(spec),
    ...(subject === undefined ? {} : { subject: present(subject) }),
    ...more,
  }));

const parsed = (spec: object): Leaf | undefined => {
  try {
    const metadata = { name: 'l', namespace: 'evil' };
    return parseResource({ apiVersion, kind: 'Leaf', metadata, spec }) as Leaf;
  } catch (error) {
    if (error instanceof HandoverError) return undefined;
    throw error;
  }
};

const now = instant(Date.UTC(2030, 0, 1));
const issuer = issuerWith(dealKey, (bytes) => new Uint8Array(bytes).fill(7));

test('whatever a Leaf of another namespace asks for, its certificate has names of its own namespace only', async () => {
  const dates = { notBefore: now, notAfter: after(now, 1_000 * hour) };
  const signer = localSigner((await dealKey('ECDSA-P256')).privateKey);
  const by = { certificate: await issuer.ca({ name: 'mesh', generation: 1, signer, ...dates }), signer };
  let issued = 0;
  await fc.assert(
    fc.asyncProperty(asked, async (spec) => {
      const leaf = parsed(spec);
      if (leaf === undefined || refusalOf(authority, leaf, new Map()) !== undefined) return;
      issued++;
      expect(Object.keys(FIELDS)).toEqual(expect.arrayContaining(Object.keys(spec)));
      const { lifetime } = leaf.spec;
      const made = await issuer.leaf({ leaf, by, notBefore: now, notAfter: after(now, lifetime) });
      const { altNames, subjectName, notBefore, notAfter, isCa, extendedKeyUsage } = made.certificate;
      const names = altNames.map((name) =>
        name.kind === 'dns' ? name.value : `a name of kind ${name.kind}`,
      );
      for (const name of names) expect(name).toMatch(/^[^ \0\n]+\.evil\.svc(\.cluster\.local)?$/i);
      const node = new X509Certificate(made.certificate.der);
      expect(node.subjectAltName).toBe(names.map((name) => `DNS:${name}`).join(', '));
      const lower = names.map((name) => name.toLowerCase());
      for (const name of subjectName.commonNames) expect(lower).toContain(name.toLowerCase());
      expect(node.subject ?? '').toBe(subjectName.commonNames.map((name) => `CN=${name}`).join('\n'));
      expect(isCa).toBe(false);
      expect(['serverAuth', 'clientAuth']).toEqual(
        expect.arrayContaining([...(extendedKeyUsage ?? ['any'])]),
      );
      expect(notAfter - notBefore).toBeGreaterThanOrEqual(hour - second);
      expect(leaf.spec.key).not.toBe('RSA-4096');
    }),
    { numRuns: 300 },
  );
  expect(issued).toBeGreaterThan(30);
});
