// Names that another namespace asks for, and patterns that take long to match.
import { secrets } from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { RESOURCE_KINDS } from '@handover/operator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resource, until } from './stage.ts';
import { EVIL, put, setTenantStage, slowestLivez, type TenantStage } from './tenant-stage.ts';
import { type Victim, victim } from './tenant-victim.ts';

let stage: TenantStage;
let prod: Victim;
beforeAll(async () => {
  stage = await setTenantStage();
  prod = await victim(stage, 'prod');
  await prod.served();
}, 300_000);
afterAll(() => stage?.stop());

interface Said {
  readonly status: string;
  readonly message: string;
}

/** What becomes of a Leaf of evil: refused by the API server, by the operator, or issued. */
const ask = async (name: string, spec: object): Promise<Said & { readonly issued: string }> => {
  try {
    await put(
      stage.evil,
      resource('Leaf', name, { authority: 'prod/mesh', secretName: name, ...spec }, EVIL),
    );
  } catch (error) {
    return { status: 'False', message: (error as Error).message, issued: '' };
  }
  const said = await until(
    async () => {
      const found = await stage.evil.get(RESOURCE_KINDS.Leaf, { namespace: EVIL, name });
      const { conditions = [] } = (found?.status ?? {}) as {
        conditions?: readonly (Said & { type: string })[];
      };
      const ready = conditions.find(({ type }) => type === 'Ready');
      return ready?.message.includes('no leaf has been issued yet') === true ? undefined : ready;
    },
    `an answer to ${name}`,
    30_000,
  );
  const held = await stage.evil.get(secrets, { namespace: EVIL, name });
  const text = Buffer.from(held?.data?.['tls.crt'] ?? '', 'base64').toString();
  const [leaf] = text === '' ? [] : parseCertificates(text).certificates;
  return { status: said.status, message: said.message, issued: leaf?.subject ?? '' };
};

const good = { dnsNames: ['x.evil.svc'] };

describe('a Leaf of another namespace is refused, and its condition names the field:', () => {
  test.each<[string, object, RegExp]>([
    [
      'organizations system:masters',
      { ...good, subject: { organizations: ['system:masters'] } },
      /spec\.subject\.organizations.*system:masters/,
    ],
    [
      'a common name of the other namespace, and no SAN',
      { subject: { commonName: 'payments.prod.svc' } },
      /spec\.subject\.commonName|dnsNames/,
    ],
    [
      'both, as an administrator of the cluster would have them',
      { subject: { commonName: 'payments.prod.svc', organizations: ['system:masters'] } },
      /spec\.subject|dnsNames/,
    ],
    [
      'both, for clients alone',
      { usages: ['client'], subject: { commonName: 'admin', organizations: ['system:masters'] } },
      /spec\.subject/,
    ],
    [
      'a common name that is not one of its SANs',
      { ...good, subject: { commonName: 'payments.prod.svc' } },
      /spec\.subject\.commonName.*payments\.prod\.svc/,
    ],
    [
      'a DNS name of the other namespace',
      { dnsNames: ['payments.prod.svc'] },
      /spec\.dnsNames.*payments\.prod\.svc/,
    ],
    [
      'a DNS name of the other namespace beside one of its own',
      { dnsNames: ['x.evil.svc', 'web.prod.svc.cluster.local'] },
      /spec\.dnsNames.*web\.prod\.svc\.cluster\.local/,
    ],
    [
      'a DNS name that ends like its own',
      { dnsNames: ['web.prod.svc.notevil.svc'] },
      /spec\.dnsNames.*notevil/,
    ],
    ['a wildcard above its namespace', { dnsNames: ['*.svc'] }, /spec\.dnsNames/],
    ['an IP address', { ...good, ipAddresses: ['10.96.0.1'] }, /spec\.ipAddresses/],
    [
      'a SPIFFE id of the other namespace',
      { ...good, uris: ['spiffe://cluster.local/ns/prod/sa/payments'] },
      /spec\.uris/,
    ],
  ])('%s', async (what, spec, says) => {
    const name = what
      .toLowerCase()
      .replace(/[^a-z]+/g, '-')
      .replace(/-$/, '')
      .slice(0, 60);
    const { status, message, issued } = await ask(name, spec);
    expect({ status, issued }).toEqual({ status: 'False', issued: '' });
    expect(message).toMatch(says);
  });
});

test('a Leaf of another namespace gets a name of its own namespace', async () => {
  const said = await ask('legitimate', { dnsNames: ['x.evil.svc'] });
  expect(said.status).toBe('True');
  const named = await ask('named', { dnsNames: ['y.evil.svc'], subject: { commonName: 'y.evil.svc' } });
  expect(named.status).toBe('True');
  expect(named.issued).toContain('y.evil.svc');
});

test('a pattern with many stars is refused by the API server, and the operator goes on answering', async () => {
  const pattern = `${'*a'.repeat(40)}*b`;
  let answer = 'taken by the API server';
  const slowest = await slowestLivez(stage.operator, async () => {
    try {
      await put(stage.evil, resource('Authority', 'slow', { issueTo: { dnsNames: [pattern] } }, EVIL));
      // A name that such a pattern matches only after every way of splitting it was tried.
      await put(
        stage.evil,
        resource(
          'Leaf',
          'slow',
          { authority: 'slow', dnsNames: [`${'a'.repeat(60)}.${'a'.repeat(60)}`] },
          EVIL,
        ),
      );
    } catch (error) {
      answer = (error as Error).message;
    }
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  });
  // Whatever became of it: the attack must not reach the next test.
  await stage.evil.delete(RESOURCE_KINDS.Leaf, { namespace: EVIL, name: 'slow' });
  await stage.evil.delete(RESOURCE_KINDS.Authority, { namespace: EVIL, name: 'slow' });
  expect({ answer, livez: slowest < 5_000 ? 'in time' : `${Math.round(slowest)} ms` }).toEqual({
    answer: expect.stringMatching(/dnsNames/),
    livez: 'in time',
  });
  await prod.served();
  expect(prod.lies).toEqual([]);
});
