import { createHash } from 'node:crypto';
import type { ProfileWorkload, TlsProfile } from '@handover/core';
import { bytesOf, HandoverError, instant, textOf } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { catalogue, on, type Parts, World } from '../../test/world.ts';
import {
  type ClusterProfile,
  factFiles,
  convergeProfile as keepOn,
  type ProfileOutcome,
  reconcileProfile as reconcileOn,
  toldOfPlatform,
  writePlatformFacts,
} from '../index.ts';

const ID = 'default/configmaps/p/profile.json';
const yaml = (spec: string, namespace = 'default'): string =>
  `{apiVersion: handover.dev/v1alpha1, kind: TLSProfile, metadata: {name: p, namespace: ${namespace}}, spec: ${spec}}`;
const profile = (spec: string): TlsProfile => {
  const [found] = catalogue(yaml(spec)).tlsProfiles;
  if (found === undefined) throw new Error('no profile');
  return found;
};
const MODERN = profile('{type: Modern}');
const INTERMEDIATE = profile('{type: Intermediate}');

/** Each pass takes a look of its own. */
const reconcileProfile = async (parts: Parts, asked: TlsProfile): Promise<ProfileOutcome> => {
  const home = on(parts, catalogue(''));
  return reconcileOn(home, await home.fresh(), asked);
};
const keepProfile = async (parts: Parts, asked: TlsProfile): Promise<void> => {
  const home = on(parts, catalogue(''));
  await keepOn(home, await home.fresh(), asked);
};

let world: World;
/** One workload on a platform, and every stamp it got. */
let workload: ProfileWorkload & { version: string };
let stamps: string[];
let cluster: ClusterProfile;
let remembered: string | undefined;
const home = (): Parts => ({
  ...world.home,
  profiles: {
    cluster: async () => cluster,
    workloads: () => [workload],
    stamp: async (_, __, hash) => {
      stamps.push(hash);
      workload = { ...workload, stamp: hash };
    },
    remembered: () => remembered,
  },
});
beforeEach(() => {
  world = new World();
  stamps = [];
  remembered = undefined;
  cluster = { found: {} };
  workload = {
    id: 'Deployment default/web',
    version: '1',
    reads: true,
    reload: 'unknown',
    stamp: undefined,
    createdAt: instant(0),
    pods: [instant(0)],
    rolling: false,
  };
});
const hashOf = async (): Promise<string> =>
  createHash('sha256')
    .update((await world.object(ID)).data['profile.json'] ?? '')
    .digest('hex');

test('A TLSProfile becomes files, is restored after an edit of any of them, and is not written twice', async () => {
  await keepProfile(world.home, MODERN);
  const { data, version } = await world.object(ID);
  expect(Object.keys(data)).toEqual([
    'profile.json',
    'openssl.cnf',
    'node.json',
    'go.json',
    'nginx.conf',
    'envoy.yaml',
  ]);
  expect(JSON.parse(textOf(data['profile.json'] ?? new Uint8Array()))).toMatchObject({
    minTLSVersion: 'VersionTLS13',
  });
  await keepProfile(world.home, MODERN);
  expect((await world.object(ID)).version).toBe(version);
  for (const file of ['profile.json', 'nginx.conf']) {
    const { record } = await world.object(ID);
    world.objects.put(ID, {
      data: { ...data, [file]: bytesOf('x') },
      ...(record === undefined ? {} : { record }),
    });
    await keepProfile(world.home, MODERN);
    expect((await world.object(ID)).data).toEqual(data);
  }
});

test('A TLSProfile that cannot be honoured leaves the files as they are', async () => {
  await keepProfile(world.home, MODERN);
  const before = await world.object(ID);
  await expect(keepProfile(world.home, profile('{type: OpenShift}'))).rejects.toMatchObject({
    code: 'TLS_PROFILE_NOT_HERE',
  });
  const nonsense = profile('{type: Custom, custom: {ciphers: [NONSENSE]}}');
  await expect(keepProfile(world.home, nonsense)).rejects.toMatchObject({ code: 'TLS_PROFILE_NO_CIPHER' });
  expect(await world.object(ID)).toEqual(before);
});

test('A TLSProfile rolls no workload at its first install, and each workload once per change, after the write', async () => {
  await reconcileProfile(home(), INTERMEDIATE);
  await reconcileProfile(home(), INTERMEDIATE);
  world.now = instant(world.now + 3_600_000);
  await reconcileProfile(home(), INTERMEDIATE);
  expect(stamps).toEqual([]);
  const written = await reconcileProfile(home(), MODERN);
  expect(written.plan.actions.map(({ kind }) => kind)).toEqual(['write-profile']);
  world.now = instant(world.now + 3_600_000);
  for (let pass = 0; pass < 5; pass++) await reconcileProfile(home(), MODERN);
  expect(stamps).toEqual([await hashOf()]);
});

test('A TLSProfile that was restored after an edit restarts no workload', async () => {
  await reconcileProfile(home(), INTERMEDIATE);
  await reconcileProfile(home(), MODERN);
  world.now = instant(world.now + 3_600_000);
  await reconcileProfile(home(), MODERN);
  // A workload of later, which started with what is there.
  workload = { ...workload, stamp: undefined, createdAt: world.now, pods: [world.now] };
  const { record, data } = await world.object(ID);
  if (record === undefined) throw new Error('no record');
  world.now = instant(world.now + 3_600_000);
  world.objects.put(ID, { data: { ...data, 'profile.json': bytesOf('{}') }, record });
  for (let pass = 0; pass < 3; pass++) {
    await reconcileProfile(home(), MODERN);
    world.now = instant(world.now + 3_600_000);
  }
  expect((await world.object(ID)).data).toEqual(data);
  expect(stamps).toHaveLength(1);
});

test('A TLSProfile that was restored before every workload was rolled still rolls the others', async () => {
  await reconcileProfile(home(), INTERMEDIATE);
  await reconcileProfile(home(), MODERN);
  const { record, data } = await world.object(ID);
  if (record === undefined) throw new Error('no record');
  world.objects.put(ID, { data: { ...data, 'nginx.conf': bytesOf('x') }, record });
  for (let pass = 0; pass < 3; pass++) {
    await reconcileProfile(home(), MODERN);
    world.now = instant(world.now + 3_600_000);
  }
  expect(stamps).toHaveLength(1);
});

test('A TLSProfile whose object was deleted during a change still rolls workloads with the old profile', async () => {
  const { hash } = await reconcileProfile(home(), INTERMEDIATE);
  remembered = hash;
  world = new World();
  await reconcileProfile(home(), MODERN);
  world.now = instant(world.now + 3_600_000);
  await reconcileProfile(home(), MODERN);
  expect(stamps).toEqual([await hashOf()]);
});

test('A TLSProfile of type OpenShift follows the platform, and says why it cannot', async () => {
  const follows = profile('{type: OpenShift}');
  expect((await reconcileProfile(home(), follows)).resolved).toMatchObject({
    profile: { type: 'Intermediate', minTLSVersion: 'VersionTLS12' },
  });
  const before = await world.object(ID);
  const missing = new HandoverError('TLS_PROFILE_SOURCE_MISSING', 'no such API; name a profile');
  for (const bad of [
    { missing },
    { found: { type: 'Bogus' } },
    { found: { type: 'Custom' } },
    { found: { type: 'Custom', custom: { ciphers: ['X', 'Y'], minTLSVersion: 'VersionTLS12' } } },
    { found: { type: 'Custom', custom: { ciphers: [], minTLSVersion: 'VersionTLS99' } } },
  ]) {
    cluster = bad;
    expect((await reconcileProfile(home(), follows)).resolved).toBeInstanceOf(HandoverError);
    expect(await world.object(ID)).toEqual(before);
  }
  cluster = { found: { type: 'Modern' } };
  await reconcileProfile(home(), follows);
  expect(textOf((await world.object(ID)).data['profile.json'] ?? new Uint8Array())).toContain('VersionTLS13');
});

test('A TLSProfile by name causes no warning, whatever this OpenSSL lacks; an unknown name does', async () => {
  for (const type of ['Old', 'Intermediate', 'Modern'])
    expect((await reconcileProfile(home(), profile(`{type: ${type}}`))).resolved).toMatchObject({
      warnings: [],
    });
  const { resolved } = await reconcileProfile(
    home(),
    profile(
      '{type: Custom, custom: {ciphers: [ECDHE-RSA-AES128-GCM-SHA256, MADE-UP], groups: [X25519, odd]}}',
    ),
  );
  expect(resolved).toMatchObject({
    warnings: [
      { message: 'ciphers not supported here: MADE-UP' },
      { message: 'groups not supported here: odd' },
    ],
  });
});

test('Platform facts are one file each, and exactly "true" is true', () => {
  const facts = { kubernetesVersion: 'v1.36.4', openShiftVersion: undefined } as const;
  expect(factFiles({ ...facts, platform: 'kubernetes' })).toEqual({
    HANDOVER_PLATFORM: 'kubernetes',
    IS_OPENSHIFT: 'false',
    KUBERNETES_VERSION: 'v1.36.4',
  });
  expect(factFiles({ ...facts, platform: 'openshift', openShiftVersion: '4.20.1' })).toMatchObject({
    IS_OPENSHIFT: 'true',
    OPENSHIFT_VERSION: '4.20.1',
  });
});

test('Platform facts go where a TLSProfile is, and where a label asks for them', () => {
  const { tlsProfiles } = catalogue(`${yaml('{}', 'shop')}`);
  const namespaces = new Map([
    ['asks', { 'handover.dev/platform-facts': 'true' }],
    ['no', { 'handover.dev/platform-facts': 'yes' }],
  ]);
  expect(toldOfPlatform({ tlsProfiles, namespaces })).toEqual(['asks', 'shop']);
});

test('Platform facts are written once, and again after a change by another program', async () => {
  const facts = { platform: 'kubernetes', kubernetesVersion: 'v1', openShiftVersion: undefined } as const;
  const home = on(world.home, catalogue(''));
  const keep = async (kubernetesVersion = 'v1') =>
    writePlatformFacts(home, await home.fresh(), 'shop', { ...facts, kubernetesVersion });
  expect(await keep()).toBe(true);
  expect(await keep()).toBe(false);
  expect(await keep('v2')).toBe(true);
});
