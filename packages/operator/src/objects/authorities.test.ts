import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { type AuthorityState, issueCa, localSigner, recordExternalSigning } from '@handover/core';
import { type AuthorityRecord, SealKey } from '@handover/engine';
import { day, hour, instant, parseCertificate } from '@handover/material';
import { apiServer } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { KubeAuthorities } from './authorities.ts';

test('a step that was decided before a leaf was lent keeps what the state remembers of that leaf', async () => {
  const namespace = 'handover-system';
  const { kube, clock, stop } = await apiServer({ namespaces: [namespace] });
  const authorities = new KubeAuthorities({
    kube,
    namespace,
    signal: stop.signal,
    uidOf: () => undefined,
    createdAtOf: () => undefined,
  });
  const now = clock.now();
  const ca = parseCertificate(
    await issueCa({
      name: 'mesh',
      generation: 1,
      signer: localSigner(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey),
      serial: new Uint8Array(randomBytes(12)),
      notBefore: instant(now - hour),
      notAfter: instant(now + 100 * day),
    }),
  );
  const { fingerprint, notBefore, notAfter } = ca;
  const state: AuthorityState = {
    revision: 1,
    generations: [
      {
        number: 1,
        role: 'current',
        anchors: [{ fingerprint, notBefore, notAfter }],
        hasKey: false,
        since: now,
      },
    ],
    crosses: [],
    ids: [],
    distrusts: 0,
    lastGeneration: 1,
  };
  const record: AuthorityRecord = {
    state,
    certificates: new Map([[fingerprint, ca]]),
    keys: new Map(),
    sealKey: SealKey.derivedFrom('test'),
    history: [],
  };
  await authorities.swap('prod/mesh', undefined, record);
  const lent =
    recordExternalSigning(state, { notAfter: instant(now + 10 * day), isUnseen: true }) ??
    expect.fail('not raised');
  await authorities.swap('prod/mesh', 1, { ...record, state: lent });
  await authorities.swap('prod/mesh', 1, { ...record, state: { ...state, revision: 2, ids: ['one'] } });
  const after = (await authorities.load('prod/mesh'))?.state;
  expect(after).toMatchObject({ revision: 2, ids: ['one'] });
  expect(after?.generations[0]).toEqual(lent.generations[0]);
  // And a signature that was begun before the step comes too late.
  await expect(authorities.swap('prod/mesh', 1, { ...record, state: lent })).rejects.toMatchObject({
    code: 'CONFLICT',
  });
});
