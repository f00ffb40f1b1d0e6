import type { Anchor } from '@handover/core';
import { digestOf, type ObjectId, type ObjectRecord, SealKey, sealed, specOf } from '@handover/engine';
import { day, hour, instant } from '@handover/material';
import type { SimulatedCa } from './certificates.ts';
import {
  authorityResource,
  bundleResource,
  isForeign,
  isSecret,
  leafResource,
  SHARED,
  SIMULATED_AUTHORITY,
  simulatedLeafId,
} from './resources.ts';
import type { Traits } from './traits.ts';
import { BEGINNING, type World } from './world.ts';

/** The world at the beginning: in order, on CA generation 1, or on an adopted CA without its key. */
export const furnish = (world: World): void => {
  const { store, setup, random, certificates } = world;
  const adopted = setup.faults.has('adoption');
  const { lifetime } = setup.policy;
  // Due by its schedule in the middle of the window, or far before.
  const age = setup.faults.has('schedule')
    ? 0.8 * lifetime - random.between(0, 0.5 * setup.window)
    : random.whole(1, 20) * 4 * day;
  // Or it expires soon after the window.
  const left = setup.faults.has('expiry') ? setup.window + random.between(hour, 3 * hour) : undefined;
  const born = instant(BEGINNING - Math.round(left === undefined ? age : lifetime - left));
  const mint = (): SimulatedCa =>
    certificates.newCa(adopted ? 0 : 1, instant(born - hour), instant(born + lifetime));
  const cas: [SimulatedCa, ...SimulatedCa[]] = [mint()];
  if (adopted && random.chance(0.3)) cas.push(mint());
  const [{ certificate: ca, key }] = cas;
  if (!adopted) {
    const { fingerprint, notBefore, notAfter } = ca;
    const anchors: [Anchor] = [{ fingerprint, notBefore, notAfter }];
    const objects = setup.secrets.filter(isForeign);
    // Every other state was made by a version that did not remember what it signed for other namespaces.
    const issued = objects.length === 0 ? { objects } : { objects, until: notAfter };
    const elsewhere = world.seed % 2 === 0 ? {} : { elsewhere: issued };
    store.authority = {
      state: {
        revision: 1,
        generations: [{ number: 1, role: 'current', anchors, hasKey: true, since: born, ...elsewhere }],
        crosses: [],
        ids: [],
        distrusts: 0,
        lastGeneration: 1,
      },
      certificates: new Map([[fingerprint, ca]]),
      keys: new Map([[1, key]]),
      sealKey: SealKey.derivedFrom('sim'),
    };
  }
  store.declare({
    authorities: new Map([
      [
        SIMULATED_AUTHORITY,
        authorityResource(setup, adopted ? cas.map(({ certificate }) => certificate.fingerprint) : []),
      ],
    ]),
    leaves: setup.secrets.map((secret) => leafResource(setup, secret)),
    trustBundles: setup.bundles.filter((id) => id !== SHARED).map(bundleResource),
  });
  const life = setup.leafLifetime;
  const leafAge = setup.faults.has('renewal')
    ? 0.66 * life - random.between(0, 0.7 * setup.window)
    : random.whole(1, 8) * 0.05 * life;
  // A write of long ago is dated by the clock of then.
  store.offset = -Math.round(leafAge);
  for (const object of setup.secrets) placeFirst(world, object, cas, random.pick(cas));
  for (const object of setup.bundles) placeFirst(world, object, cas, undefined);
  store.offset = 0;
  for (const traits of setup.consumers) world.enter(traits).settle(store.now);
};

/** An object as the engine would have written it long ago; or, to be adopted, without a record. */
const placeFirst = (
  world: World,
  object: ObjectId,
  cas: readonly SimulatedCa[],
  signer: SimulatedCa | undefined,
): void => {
  const { store, setup, certificates } = world;
  const at = store.now;
  const bundle = cas.map(({ certificate }) => certificate.pem).join('');
  const leaf =
    signer === undefined
      ? undefined
      : certificates.leaf(
          simulatedLeafId(object),
          signer,
          instant(at - hour),
          instant(at + setup.leafLifetime),
        );
  const data = certificates.files(leaf?.certificate, bundle);
  if (setup.faults.has('adoption')) {
    store.place(object, { data, record: undefined });
    return;
  }
  const anchors = cas.map(({ certificate: { fingerprint } }) => ({ fingerprint, since: at }));
  const base = { digest: digestOf(data), revisions: { [SIMULATED_AUTHORITY]: 1 }, anchors, changedAt: at };
  const place = (record: ObjectRecord): void => {
    const { sealKey } = store.authority ?? {};
    if (sealKey === undefined) throw new TypeError('nothing was written before there was an authority');
    store.place(object, { data, record, seal: sealed(object, record, SIMULATED_AUTHORITY, sealKey) });
  };
  if (leaf === undefined || signer === undefined) {
    place(base);
    return;
  }
  const { fingerprint, notBefore, notAfter } = leaf.certificate;
  place({
    ...base,
    issuedBy: SIMULATED_AUTHORITY,
    type: 'kubernetes.io/tls',
    leaf: {
      fingerprint,
      issuer: signer.certificate.fingerprint,
      chain: [],
      notBefore,
      notAfter,
      spec: specOf(leafResource(setup, object)),
      writtenAt: at,
      issuerSince: at,
      replacedOne: false,
      othersExpire: undefined,
    },
  });
};

/** Declares the Leaf or the TrustBundle of each object that a consumer needs and that is not there yet. */
export const declareFor = ({ presents, verifies }: Traits, world: World): void => {
  const { store, setup } = world;
  for (const object of [...presents, ...verifies]) {
    if (store.managed.has(object)) continue;
    if (isSecret(object)) {
      store.askedAt.set(simulatedLeafId(object), store.now);
      store.add({ leaf: leafResource(setup, object) });
      world.happened('new-leaves');
    } else store.add({ bundle: bundleResource(object) });
  }
};
