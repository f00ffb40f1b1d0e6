import tls, { type SecureContext } from 'node:tls';
import { parseCertificates } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { files, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { CERT, KEY, PFX } from '../../test/pfx.ts';
import type { Volume } from '../../test/volume.ts';
import type { Identity, Trust } from '../index.ts';
import { shownOf } from '../status/status.ts';
import { FollowedMaterial } from './material.ts';
import { patchTls } from './patch.ts';

const [one, two, own] = [new MockCa('one'), new MockCa('two'), new MockCa('own')];
const HOUR = 3_600_000;
const clock = new TestClock();
const scope = new Scope();
const makeElsewhere = tls.createSecureContext;
const connectElsewhere = tls.connect;
const fingerprint = (pem: string) => parseCertificates(pem).certificates[0]?.fingerprint;
let volume: Volume;
let trust: Trust;
let identity: Identity;
let material: FollowedMaterial;

beforeAll(async () => {
  volume = scope.volume(files({ cert: CERT, key: KEY }, one, two));
  trust = await scope.trust(volume);
  identity = await scope.identity(volume, { ca: false });
});
beforeEach(async () => {
  Object.assign(tls, { createSecureContext: makeElsewhere, connect: connectElsewhere });
  volume.write(files({ cert: CERT, key: KEY }, one, two));
  await Promise.all([trust.reload(), identity.reload()]);
  material = new FollowedMaterial({ trust, identity, caOnly: false }, clock);
  patchTls(material);
});

/** What the status shows beside the followed files. */
const besides = () =>
  (material.beside(shownOf([])).statuses() ?? []).map(({ anchors, leaf }) => leaf?.fingerprint ?? anchors);
const kept: SecureContext[] = [];

test('a context with part of the CAs of the file is shown with these alone, whatever the file says later', async () => {
  kept.push(tls.createSecureContext({ ca: one.pem + own.pem }));
  kept.push(
    tls.createSecureContext({ ca: [one.pem, two.pem, own.pem] }),
    tls.createSecureContext({ ca: own.pem }),
  );
  volume.write(files(own.leaf(), two));
  await trust.reload();
  expect(besides()).toEqual([[fingerprint(one.pem), fingerprint(own.pem)]]);
});

test('a context to which part of the CAs of the file was added is shown with these', () => {
  const context = tls.createSecureContext({ ca: own.pem });
  context.context.addCACert(two.pem);
  kept.push(context);
  expect(besides()).toEqual([[fingerprint(two.pem)]]);
});

test('a certificate in a pfx is shown as it is, and a certificate that does not come from the file beside one that does', async () => {
  kept.push(tls.createSecureContext({ pfx: PFX }));
  volume.write(files(own.leaf(), two));
  await identity.reload();
  expect(besides()).toEqual([fingerprint(CERT)]);
  const rsa = one.leaf({ rsa: 2048 });
  kept.push(tls.createSecureContext({ cert: [CERT, rsa.cert], key: [KEY, rsa.key] }));
  expect(besides()).toEqual([fingerprint(CERT), fingerprint(rsa.cert)]);
});

test('what a program used for single connections is shown until it uses something newer and an hour has passed', async () => {
  const connects = (ca: string) =>
    tls.createSecureContext({ ca, singleUse: true } as tls.SecureContextOptions);
  const gone = (context: SecureContext) => {
    forgotten.add(context);
  };
  const forgotten = new Set<object>();
  const { deref } = WeakRef.prototype;
  WeakRef.prototype.deref = function (this: WeakRef<object>) {
    const target = deref.call(this);
    return target === undefined || forgotten.has(target) ? undefined : target;
  };
  scope.after(() => {
    WeakRef.prototype.deref = deref;
  });
  gone(connects(one.pem));
  await clock.advance(2 * HOUR);
  expect(besides()).toEqual([[fingerprint(one.pem)]]);
  gone(connects(two.pem));
  expect(besides()).toEqual([[fingerprint(two.pem)]]);
  gone(connects(one.pem));
  await clock.advance(HOUR - 1);
  expect(besides()).toEqual([[fingerprint(two.pem)], [fingerprint(one.pem)]]);
  gone(connects(two.pem));
  await clock.advance(1);
  expect(besides()).toEqual([[fingerprint(two.pem)]]);
});

test('a pfx is shown too in a program whose CAs are not followed', () => {
  Object.assign(tls, { createSecureContext: makeElsewhere, connect: connectElsewhere });
  material = new FollowedMaterial({ identity, caOnly: false }, clock);
  patchTls(material);
  kept.push(tls.createSecureContext({ pfx: PFX, ca: own.pem }));
  expect(besides()).toEqual([fingerprint(CERT)]);
});

test('what a context keeps is shown for as long as it lives', async () => {
  kept.push(tls.createSecureContext({ ca: one.pem }));
  await clock.advance(2 * HOUR);
  kept.push(tls.createSecureContext({ ca: two.pem }));
  expect(besides()).toEqual([[fingerprint(one.pem)], [fingerprint(two.pem)]]);
});
