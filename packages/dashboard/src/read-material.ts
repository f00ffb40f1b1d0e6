import {
  answer,
  bundleKeyOf,
  certificatesKey,
  type Material,
  materialIn,
  type Observation,
  readableCertificates,
  type Verdicts,
} from '@handover/engine';

/** Whoever keeps leases and deadlines in the same thread is held up no longer than this at a time. */
const TURN_MS = 10;

/** Gives way to others after each turn. */
const turns = (): (() => Promise<void>) => {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < TURN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    began = performance.now();
  };
};

/**
 * What the objects of a look hold, with a verdict on each chain before each distinct bundle. A thousand new leaves take a while
 * to read and to check, and that while belongs to others too. What was read and checked once is known the next time.
 */
export async function readMaterial(observation: Observation, verdicts: Verdicts): Promise<Material> {
  const turn = turns();
  for (const [id, { data }] of observation.stored) {
    readableCertificates(data['tls.crt']);
    readableCertificates(data[bundleKeyOf(id)]);
    await turn();
  }
  const material = materialIn(observation);
  const distinct = new Map([...material.bundles.values()].map((bundle) => [certificatesKey(bundle), bundle]));
  for (const [object, chain] of material.chains) {
    for (const bundle of distinct.values()) {
      answer(verdicts, chain, bundle, material.purposes.get(object) ?? ['server'], observation.now);
      await turn();
    }
  }
  return material;
}
