import { ISSUER, type ObjectSeen } from '@handover/core';
import type { AuthorityRecord } from '@handover/engine';
import { day, instant } from '@handover/material';
import { expect, test } from 'vitest';
import {
  CA,
  certificate,
  KEYS,
  leafOf,
  lentIn,
  look,
  NOW,
  record,
  requestOf,
  responsibilitiesOf,
  secret,
  TO_TEAM,
} from '../../test/cert-manager/lent.ts';
import type { CertificateRequest, CertManagerCertificate } from './kinds.ts';

test('a Certificate of a namespace that is not served is not read, unless a CertificateRequest shows that it got a leaf', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const view = { certificates: [certificate('evil')], secrets: [secret('evil', leaf)] };
  expect(await look(view)).toEqual([]);
  const shown = (issuer: string): CertificateRequest => {
    const { metadata, ...request } = requestOf(leaf, []);
    return {
      ...request,
      metadata: { ...metadata, namespace: 'evil' },
      spec: { issuerRef: { ...ISSUER, name: issuer } },
    };
  };
  expect(await look({ ...view, requests: [shown('evil/own')] })).toEqual([]);
  expect(await look({ ...view, requests: [shown('prod/mesh')] })).toMatchObject([
    { id: 'evil/secrets/web', elsewhere: true, leaf: { fingerprint: leaf.fingerprint } },
  ]);
});

const many = (namespace: string, count: number): readonly CertManagerCertificate[] =>
  Array.from({ length: count }, (_, index) => ({
    ...certificate(namespace),
    metadata: { namespace, name: `c${index}`, uid: `u${index}`, resourceVersion: '7' },
    spec: { secretName: `c${index}`, issuerRef: { ...ISSUER, name: 'prod/mesh' } },
  }));

test('Secrets that the watch does not show are read once, a few in each pass; until then leaves for cert-manager count as in use', async () => {
  const until = instant(NOW + 20 * day);
  const read: string[] = [];
  const view = { certificates: [certificate('prod'), ...many('prod', 100)], requests: [], secrets: [] };
  const lent = lentIn(
    () => view,
    (id) => read.push(id),
  );
  const looks = async (state: AuthorityRecord): Promise<readonly ObjectSeen[]> =>
    lent.reader(false).of(responsibilitiesOf(TO_TEAM), state, NOW);
  const [unknown, more] = await looks(record({ lentUntil: until }));
  expect(read).toHaveLength(50);
  expect(read).toContain('prod/web');
  expect(more).toBeUndefined();
  expect(unknown).toMatchObject({ leaf: { issuer: CA.fingerprint, notAfter: until } });
  expect(unknown?.writtenBy?.failing).toMatch(/^51 Secrets of Certificates could not be read yet/);
  expect(await looks(record())).toEqual([]);
  expect(await looks(record({ lentUntil: until }))).toEqual([]);
  expect(await looks(record({ lentUntil: until }))).toEqual([]);
  expect(new Set(read).size).toBe(101);
  expect(read).toHaveLength(101);
});

test('while the own namespace has more Certificates and Secrets than its share, leaves for cert-manager count as in use; another namespace holds nothing up', async () => {
  const until = instant(NOW + 20 * day);
  const seenWith = (unknown: string): Promise<readonly ObjectSeen[]> => {
    const view = { certificates: [], requests: [], secrets: [], unknown: new Set([unknown]) };
    const lent = lentIn(
      () => view,
      () => {},
    );
    return lent.reader(false).of(responsibilitiesOf(TO_TEAM), record({ lentUntil: until }), NOW);
  };
  const [unknown] = await seenWith('prod');
  expect(unknown).toMatchObject({ leaf: { issuer: CA.fingerprint, notAfter: until } });
  expect(unknown?.writtenBy?.failing).toMatch(/more than its share/);
  expect(await seenWith('team')).toEqual([]);
});

test('Secrets of other namespaces that are not read yet hold nothing up, and those of the own namespace are read before them', async () => {
  const read: string[] = [];
  const view = { certificates: [...many('team', 500), certificate('prod')], requests: [], secrets: [] };
  const lent = lentIn(
    () => view,
    (id) => read.push(id),
  );
  const state = record({ lentUntil: instant(NOW + 20 * day) });
  expect(await lent.reader(false).of(responsibilitiesOf(TO_TEAM), state, NOW)).toEqual([]);
  expect(read).toHaveLength(50);
  expect(read[0]).toBe('prod/web');
});

test('no look waits for Secrets of other namespaces: a few of each are read beside it, and no Secret twice in 10 seconds', async () => {
  const read: string[] = [];
  let tell: (namespace: string) => void = () => {};
  const told = new Promise<string>((resolve) => {
    tell = resolve;
  });
  const answers: (() => void)[] = [];
  let version = 1;
  // A tenant touches all of its Certificates all the time.
  const touched = (): readonly CertManagerCertificate[] =>
    many('team', 120).map((one) => ({
      ...one,
      metadata: { ...one.metadata, resourceVersion: String(version++) },
    }));
  const lent = lentIn(
    () => ({ certificates: touched(), requests: [], secrets: [] }),
    (id) => {
      read.push(id);
      return new Promise<void>((resolve) => answers.push(resolve));
    },
    {},
    tell,
  );
  const look = (): Promise<readonly ObjectSeen[]> =>
    lent.reader(true).of(responsibilitiesOf(TO_TEAM), record({ lentUntil: instant(NOW + day) }), NOW);
  expect(await look()).toEqual([]);
  expect(await look()).toEqual([]);
  expect(read).toHaveLength(5);
  for (const answer of answers) answer();
  expect(await told).toBe('team');
  await look();
  expect(new Set(read).size).toBe(read.length);
});

test('a Certificate with a name that no Secret can have holds nothing up', async () => {
  const read: string[] = [];
  const odd = ['a/b', '..', 'UPPER', 'x'.repeat(300)].map((secretName, index) => ({
    ...certificate('prod'),
    metadata: { namespace: 'prod', name: `odd-${index}`, uid: `odd-${index}`, resourceVersion: '1' },
    spec: { secretName, issuerRef: { ...ISSUER, name: 'mesh' } },
  }));
  const lent = lentIn(
    () => ({ certificates: odd, requests: [], secrets: [] }),
    (id) => {
      read.push(id);
      throw new Error('not a valid name');
    },
  );
  const state = record({ lentUntil: instant(NOW + day) });
  expect(await lent.reader(true).of(responsibilitiesOf(TO_TEAM), state, NOW)).toEqual([]);
  expect(read).toEqual([]);
});

test('Secrets without a label take no more than 1 MiB of a namespace; those beyond it are not read again and again, and count as unknown', async () => {
  const read: string[] = [];
  const view = { certificates: many('prod', 40), requests: [], secrets: [] };
  const secret = {
    namespace: 'prod',
    name: 'x',
    version: '7',
    createdAt: 0,
    crt: new Uint8Array(60_000),
    ca: undefined,
  };
  const lent = lentIn(
    () => view,
    (id) => read.push(id),
    {},
    undefined,
    secret,
  );
  const state = record({ lentUntil: instant(NOW + 20 * day) });
  for (let looks = 0; looks < 2; looks++) {
    const [unknown] = await lent.reader(false).of(responsibilitiesOf(TO_TEAM), state, NOW);
    expect(unknown?.writtenBy?.failing).toMatch(/^23 Secrets of Certificates could not be read yet/);
  }
  expect(read).toHaveLength(40);
});

test('a Secret that cannot be read counts as unknown, and the reason is reported', async () => {
  const view = { certificates: [certificate('prod')], requests: [], secrets: [] };
  const lent = lentIn(
    () => view,
    () => {
      throw new Error('forbidden');
    },
  );
  const [unknown] = await lent
    .reader(false)
    .of(responsibilitiesOf(TO_TEAM), record({ lentUntil: instant(NOW + day) }), NOW);
  expect(unknown?.writtenBy?.failing).toMatch(
    /^1 Secret of Certificates could not be read yet: forbidden; is cert-manager installed/,
  );
});

test('while the API of cert-manager answers with errors, the objects seen last count, and no Certificate is asked for a new leaf', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const until = instant(NOW + 20 * day);
  const last = {
    certificates: [certificate('prod')],
    secrets: [secret('prod', leaf)],
    trouble: 'it is down',
  };
  const seen = await look(last, record({ lentUntil: until }));
  expect(seen.map(({ id }) => id)).toEqual(['prod/secrets/of other programs', 'prod/secrets/web']);
  for (const { writtenBy } of seen) {
    expect(writtenBy?.asked).toBe('never');
    expect(writtenBy?.failing).toMatch(/^it is down/);
  }
});
