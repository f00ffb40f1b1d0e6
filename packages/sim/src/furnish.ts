import type { Anchor, BundlePolicy, LeafPolicy, LeafSeen } from '@handover/core';
import { day, duration, hour, type Instant, instant } from '@handover/material';
import type { Setup } from './setup.ts';
import { BEGINNING, type World } from './world.ts';

export const leafPolicy = (setup: Setup, object: string, createdAt?: Instant): LeafPolicy => {
  return {
    object,
    spec: 'as asked',
    lifetime: duration(setup.leafLifetime),
    renewAt: 0.66,
    ...(createdAt === undefined ? {} : { createdAt }),
  };
};

/** The world as it is when the story begins: all in order, on generation 1, or on a CA that nobody has the key of. */
export const furnish = (world: World): void => {
  const { home, setup, random, certificates } = world;
  const adopted = setup.faults.has('adoption');
  const { lifetime } = setup.policy;
  // Due by its schedule in the middle of the window, or far from it.
  const age = setup.faults.has('schedule')
    ? 0.8 * lifetime - random.between(0, 0.5 * setup.window)
    : random.whole(1, 20) * 4 * day;
  // Or it ends while the story lasts, whoever is in the way.
  const left = setup.faults.has('expiry') ? setup.window + random.between(hour, 3 * hour) : undefined;
  const born = instant(BEGINNING - Math.round(left === undefined ? age : lifetime - left));
  const cas: [Anchor, ...Anchor[]] = [certificates.mintCa(adopted ? 0 : 1, born, lifetime)];
  if (adopted && random.chance(0.3)) cas.push(certificates.mintCa(0, born, lifetime));
  const [ca] = cas;
  const anchors = cas.map((anchor) => anchor.fingerprint);
  if (adopted) home.adoptable = cas;
  else {
    home.authority = {
      revision: 1,
      generations: [{ number: 1, role: 'current', anchors: [ca], hasKey: true, since: born }],
      crosses: [],
      ids: [],
      distrusts: 0,
      lastGeneration: 1,
    };
    home.keys = new Set(anchors);
  }
  home.leaves = setup.secrets.map((object) => leafPolicy(setup, object));
  home.bundles = setup.bundles.map((object): BundlePolicy => ({ object, extra: [] }));
  const revision = adopted ? undefined : 1;
  const life = setup.leafLifetime;
  const leafAge = setup.faults.has('renewal')
    ? 0.66 * life - random.between(0, 0.7 * setup.window)
    : random.whole(1, 8) * 0.05 * life;
  // A write of long ago is dated by the clock of then.
  home.offset = -Math.round(leafAge);
  for (const object of setup.secrets) {
    const signer = random.pick(cas).fingerprint;
    home.place(object, revision, anchors, firstLeaf(world, signer));
  }
  for (const object of setup.bundles) home.place(object, revision, anchors, undefined);
  home.offset = 0;
  for (const traits of setup.consumers) {
    world.enter(traits).settle(home.now);
  }
};

const firstLeaf = (world: World, issuer: string): LeafSeen => {
  const { now } = world.home;
  const fingerprint = world.certificates.leaf(
    issuer,
    instant(now - hour),
    instant(now + world.setup.leafLifetime),
  );
  const { notBefore, notAfter } = world.certificates.of(fingerprint);
  return {
    fingerprint,
    issuer,
    chain: [],
    notBefore,
    notAfter,
    spec: 'as asked',
    writtenAt: now,
    issuerSince: now,
    replacedOne: false,
    othersExpire: undefined,
  };
};
