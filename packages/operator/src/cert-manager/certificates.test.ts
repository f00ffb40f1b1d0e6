import { day, HandoverError, hour, instant, minute, parseCertificate } from '@handover/material';
import { atRest } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import {
  CA,
  certificate,
  crossOf,
  KEYS,
  leafOf,
  lentIn,
  look,
  NOW,
  one,
  record,
  requestOf,
  responsibilitiesOf,
  secret,
} from '../../test/cert-manager/lent.ts';
import type { CertificateRequest } from './kinds.ts';

test('a Secret of a Certificate is seen with its leaf, its CA and its version', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const seen = await one({ certificates: [certificate('prod')], secrets: [secret('prod', leaf)] });
  expect(seen).toMatchObject({
    id: 'prod/secrets/web',
    version: '7',
    revision: undefined,
    anchors: [{ fingerprint: CA.fingerprint, since: NOW }],
    leaf: { fingerprint: leaf.fingerprint, issuer: CA.fingerprint, writtenAt: NOW, notAfter: leaf.notAfter },
    writtenBy: { program: 'cert-manager', asked: 'can' },
  });
  expect(seen.elsewhere).toBeUndefined();
});

test('a leaf that only names the Authority’s CA as its issuer does not count, in any namespace', async () => {
  const { der } = await leafOf(CA, KEYS.ours);
  const forged = parseCertificate(new Uint8Array([...der.slice(0, -1), (der.at(-1) ?? 0) ^ 1]));
  expect(forged.issuerKey).toBe(CA.subjectKey);
  for (const namespace of ['prod', 'team'])
    expect(
      await look({ certificates: [certificate(namespace)], secrets: [secret(namespace, forged)] }),
    ).toEqual([]);
});

test('a Secret with the CA itself is presented by no program, and a Secret with a CA below it is', async () => {
  expect(await look({ certificates: [certificate('prod')], secrets: [secret('prod', CA)] })).toEqual([]);
  const under = await crossOf();
  const seen = await one({ certificates: [certificate('prod')], secrets: [secret('prod', under)] });
  expect(seen.leaf).toMatchObject({ fingerprint: under.fingerprint, issuer: CA.fingerprint });
});

test('a leaf that was signed counts before its Secret holds it', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const seen = await one({ certificates: [certificate('prod')], requests: [requestOf(leaf, [])] });
  expect(seen.leaf?.fingerprint).toBe(leaf.fingerprint);
});

test('a Certificate that is being issued is pending, then slow with the reason; after a failure it is asked again later', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const at = new Date(NOW).toISOString();
  const standing = async (status: object, now: number, requests: readonly CertificateRequest[] = []) =>
    (
      await one(
        { certificates: [certificate('prod', { status })], secrets: [secret('prod', leaf)], requests },
        instant(now),
      )
    ).writtenBy;
  const issuing = { conditions: [{ type: 'Issuing', status: 'True', lastTransitionTime: at }] };
  expect(await standing(issuing, NOW + 5_000)).toMatchObject({ asked: 'pending' });
  expect((await standing(issuing, NOW + 5_000))?.remark).toBeUndefined();
  expect((await standing(issuing, NOW + hour))?.remark).toMatch(/has not answered since .*its controller/);
  const waiting = [requestOf(undefined, [])];
  expect((await standing(issuing, NOW + hour, waiting))?.remark).toMatch(
    /^CertificateRequest web-1 is not approved/,
  );
  const failed = {
    conditions: [{ type: 'Issuing', status: 'False', message: 'no' }],
    lastFailureTime: at,
  };
  expect(await standing(failed, NOW + minute)).toMatchObject({
    asked: 'pending',
    failing: 'Certificate web failed: no',
  });
  expect(await standing(failed, NOW + hour)).toMatchObject({ asked: 'can' });
});

test('while Certificates cannot be read, the CA counts as in use until the last leaf for cert-manager has ended', async () => {
  const until = instant(NOW + 20 * day);
  expect(await look(undefined)).toEqual([]);
  expect(await look(undefined, record({ lentUntil: until }))).toMatchObject([
    { leaf: { issuer: CA.fingerprint, notAfter: until }, writtenBy: { asked: 'never' } },
  ]);
});

test('the reason why a Certificate could not be asked stays known until the Certificate has been asked', async () => {
  const answers: ((error?: Error) => void)[] = [];
  const kube = {
    get: async () => certificate('prod'),
    patch: () =>
      new Promise((resolve, reject) =>
        answers.push((error) => (error === undefined ? resolve({}) : reject(error))),
      ),
  };
  const view = {
    certificates: [certificate('prod')],
    requests: [],
    secrets: [secret('prod', await leafOf(CA, KEYS.ours))],
  };
  const lent = lentIn(
    () => view,
    () => {},
    kube as never,
  );
  const failing = async (): Promise<string | undefined> =>
    (await lent.reader(false).of(responsibilitiesOf({}), record(), NOW))[0]?.writtenBy?.failing;
  const ask = async (): Promise<{ readonly asked: Promise<void> }> => {
    const asked = lent.ask('prod/secrets/web', '7', 'CA generation 2 signs now');
    await atRest();
    return { asked };
  };
  expect(await failing()).toBeUndefined();
  const first = await ask();
  answers.pop()?.(new HandoverError('KUBE_FORBIDDEN', 'no such right'));
  await first.asked;
  expect(await failing()).toBe('Certificate web cannot be asked for a new leaf: no such right');
  const again = await ask();
  expect(await failing()).toContain('no such right');
  answers.pop()?.();
  await again.asked;
  expect(await failing()).toBeUndefined();
});
